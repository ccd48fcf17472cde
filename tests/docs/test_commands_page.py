"""The page on commands has every command, with examples of all options that the commands read, and a walk that runs."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from pytest_crab.cli import COMMANDS, GROUPS, main

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"
_SECTION = re.compile(r"^## ([\w-]+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def sections() -> dict[str, str]:
    return {name: text for name, text in _SECTION.findall(PAGE.read_text()) if name in COMMANDS}


def text_on(path: tuple[str, ...]) -> str:
    """The section of a command; of one in a group, its part of the section, whose heading may begin its words."""
    text = sections()[path[0]]
    parts = dict(re.findall(r"^### ([^\n]+)\n(.*?)(?=^### |\Z)", text, re.MULTILINE | re.DOTALL))
    (part,) = [part for title, part in parts.items() if heads(title.split(), path[1:])] or [text]
    return part


def heads(title: list[str], words: tuple[str, ...]) -> bool:
    """Whether a heading is about these words; ``NAME`` is any word."""
    return len(title) <= len(words) and all(one in {"NAME", word} for one, word in zip(title, words, strict=False))


def leaves(command: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that is no group, with its words."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from leaves(below, *path, name)
    else:
        yield path, command


LEAVES = dict(leaves(main))


def examples(text: str) -> Iterator[list[str]]:
    """The words of each line that calls pytest-crab, without what only the shell reads."""
    for line in re.findall(r"^(?:    )?pytest-crab ([^\n]*)", text, re.MULTILINE):
        words = shlex.split(line, comments=True)
        yield words[: words.index("||")] if "||" in words else words


def split(words: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """The words that name the command, and its arguments; ``set curate SOURCE`` is ``set curate run SOURCE``."""
    for count in (3, 2, 1):
        if tuple(words[:count]) in LEAVES:
            return tuple(words[:count]), words[count:]
    return ("set", "curate", "run"), words[2:]


def test_every_command_has_a_section_in_the_order_of_the_help() -> None:
    assert list(sections()) == list(COMMANDS)
    (table,) = re.findall(r"^\| to \| command \|\n(.*?)\n\n", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert re.findall(r"\[`([\w-]+)`\]", table) == [name for group in GROUPS.values() for name in group]


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_option_has_a_help_and_an_example(path: tuple[str, ...]) -> None:
    """The page has no row for what the help says."""
    text = text_on(path)
    shown = {word.partition("=")[0] for words in examples(text) if split(words)[0] == path for word in words}
    for option in LEAVES[path].params:
        if isinstance(option, click.Option):
            names = {*option.opts, *option.secondary_opts}
            assert option.help, f"no help says what {names} is"
            assert names & shown, f"no example has {names}"


@pytest.mark.parametrize("words", list(examples("".join(sections().values()))), ids=shlex.join)
def test_every_example_is_read(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that is read and not called; files of the reader's are not there."""
    monkeypatch.chdir(tmp_path)
    path, arguments = split(words)
    try:
        LEAVES[path].make_context(" ".join(path), arguments)
    except click.BadParameter as error:
        assert "does not exist" in error.format_message()  # noqa: PT017 - any other is a fault of the page


@pytest.mark.slow(reason="some forty commands run, each as a process of its own")
@pytest.mark.bubblewrap
def test_the_blocks_run_as_they_stand(tmp_path: Path, first_run: Path, environ: Callable[..., dict[str, str]]) -> None:
    script = "".join(re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL))
    folder = tmp_path / "empty"
    shutil.copytree(first_run / ".crab", folder / ".crab", symlinks=True)  # what is proved is proved
    env = environ(CRAB_PROOF_RUNS="1", HOME=str(tmp_path))
    done = subprocess.run(["bash", "-ex"], input=script, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert {"compare.html", "oracles.csv", "oracles.parquet", "badge.svg", "whole"} <= {
        p.name for p in folder.iterdir()
    }
