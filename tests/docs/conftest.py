"""Pages whose blocks of commands are run as they stand, and held against the outputs that they show."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: A command that takes long says every half minute how far it is, and what it waits for on a busy machine.
_PROGRESS = re.compile(r"^(?:\d+/\d+ instances \| |.* waits for (?:a slot|one of) ).*\n", re.MULTILINE)
_MARK = "==== the end of block"

#: Variables that a reader's shell does not have.
_OURS = ("ANTHROPIC", "CRAB_", "GITHUB_", "GIT_", "PYTEST_")


@pytest.fixture(scope="session")
def environ() -> Callable[..., dict[str, str]]:
    """``environ(**more)`` has the variables of a reader's shell, in which this environment's programs are found.

    Each pytest leaves out what the tests' own need not have, which is half of its start and end.
    """

    def make(**more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        lean = os.environ["PYTEST_ADDOPTS"]
        return {**kept, "PATH": path, "CRAB_RUNTIME": "local", "PYTEST_ADDOPTS": lean, **more}

    return make


@pytest.fixture
def run_page() -> Callable[..., list[str]]:
    """``run_page(page, folder, environ)`` runs all blocks in one shell and asserts that each prints what is shown.

    It returns what each printed. Further arguments are subprocess.run's, such as the user.
    """
    return _run


@pytest.fixture(scope="session")
def first_run(
    made_once: Callable[[str, Callable[[Path], object]], Path], environ: Callable[..., dict[str, str]]
) -> Path:
    """The folder of the README's first run: its store, its set, and ``printed.json`` with a text per block.

    Every oracle is proved by one run of each state instead of two, which nothing printed says.
    """

    def make(folder: Path) -> None:
        printed = _print(ROOT / "README.md", folder, environ(CRAB_PROOF_RUNS="1"))
        (folder / "printed.json").write_text(json.dumps(printed))

    return made_once("first-run", make)


@pytest.fixture
def as_shown() -> Callable[[Path, list[str]], None]:
    """``as_shown(page, printed)`` asserts that each block of a page printed what the page shows."""
    return _hold


@pytest.fixture
def shown_in() -> Callable[[str, str], bool]:
    """``shown_in(text, output)``: whether a text as a page shows it is a part of this output."""
    return lambda text, output: re.search(_pattern(text.splitlines()), output) is not None


def _run(page: Path, folder: Path, environ: Mapping[str, str], **who: Any) -> list[str]:
    printed = _print(page, folder, environ, **who)
    _hold(page, printed)
    return printed


def _print(page: Path, folder: Path, environ: Mapping[str, str], **who: Any) -> list[str]:
    blocks = _blocks(page)
    script = "exec 2>&1\n" + "".join(f"{text}echo '{_MARK}' {number}\n" for number, (text, _) in enumerate(blocks))
    done = subprocess.run(
        ["bash"], input=script, cwd=folder, env=environ, stdout=subprocess.PIPE, text=True, check=False, **who
    )
    said = re.split(rf"^{_MARK} \d+\n", done.stdout, flags=re.MULTILINE)
    assert len(said) == len(blocks) + 1, done.stdout
    return said[:-1]


def _hold(page: Path, printed: list[str]) -> None:
    for (commands, shown), output in zip(_blocks(page), printed, strict=True):
        assert not shown or re.fullmatch(_pattern(shown), _PROGRESS.sub("", output)), f"{commands}\nprinted\n{output}"


def _blocks(page: Path) -> list[tuple[str, list[str]]]:
    """Each block of commands with the lines that the page shows for it."""
    found: list[tuple[str, list[str]]] = []
    for language, text in _FENCE.findall(page.read_text()):
        if language == "sh":
            found.append((text, []))
        else:
            found[-1][1].extend(text.splitlines())
    return found


def _pattern(lines: list[str]) -> str:
    """What is shown, as a pattern: [...] alone on a line is any lines, within one any text."""
    parts = [r"(?:.*\n)*?" if line == "[...]" else f"{re.escape(line)}\n" for line in lines]
    return "".join(parts).replace(re.escape("[...]"), ".*")
