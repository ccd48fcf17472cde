"""The tutorial on a first instance, run from an empty folder as a newcomer would, with the outputs that it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_crab.instances import load_instance

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "first-instance.md"
_FENCE = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = "==== the end of block"


def lack_of_an_index() -> str | None:
    find_uv_bin = pytest.importorskip("uv").find_uv_bin
    argv = [find_uv_bin(), "pip", "compile", "-", "--quiet", "--no-cache"]
    done = subprocess.run(argv, input=b"iniconfig\n", capture_output=True, check=False, timeout=60)
    return None if done.returncode == 0 else "no package index answers"


def blocks() -> list[tuple[str, list[str]]]:
    """Each block of commands with the lines that the page shows for it."""
    found: list[tuple[str, list[str]]] = []
    for language, text in _FENCE.findall(PAGE.read_text()):
        if language == "sh":
            found.append((text, []))
        else:
            found[-1][1].extend(text.splitlines())
    return found


def script(commands: list[str]) -> str:
    marks = [f"{text}echo '{_MARK}' {number}\n" for number, text in enumerate(commands)]
    return "exec 2>&1\n" + "".join(marks)


def pattern(lines: list[str]) -> str:
    """What is shown, as a pattern: [...] alone on a line is any lines, within one any text."""
    parts = [r"(?:.*\n)*?" if line == "[...]" else f"{re.escape(line)}\n" for line in lines]
    return "".join(parts).replace(re.escape("[...]"), ".*").replace(r"\[\.\.\.\]", ".*")


@pytest.mark.bubblewrap
def test_a_newcomer_ends_with_a_certified_instance(tmp_path: Path) -> None:
    lack = lack_of_an_index()
    if lack is not None:
        pytest.skip(lack)
    page = blocks()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRAB_", "PYTEST_", "GIT_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**kept, "PATH": path, "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    here = tmp_path / "empty"
    here.mkdir()
    text = script([commands for commands, _ in page])
    done = subprocess.run(["bash"], input=text, cwd=here, env=environ, stdout=subprocess.PIPE, text=True, check=False)
    said = re.split(rf"^{_MARK} \d+\n", done.stdout, flags=re.MULTILINE)
    assert len(said) == len(page) + 1, done.stdout
    for (commands, shown), output in zip(page, said, strict=False):
        assert not shown or re.fullmatch(pattern(shown), output), f"{commands}\nprinted\n{output}"
    instance = load_instance(here / "mine" / "till-7")
    assert instance.environment.packages
    assert '"proved": true' in (here / "mine" / "proofs.json").read_text()
