"""The page for people with a bot of their own, run from a clone as they would, with the outputs that it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "ten-minutes.md"
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


def pattern(lines: list[str]) -> str:
    """What is shown, as a pattern: [...] alone on a line is any lines, within one any text."""
    parts = [r"(?:.*\n)*?" if line == "[...]" else f"{re.escape(line)}\n" for line in lines]
    return "".join(parts).replace(re.escape("[...]"), ".*")


@pytest.mark.bubblewrap
def test_a_bot_is_measured_as_a_command_and_as_a_package(tmp_path: Path) -> None:
    lack = lack_of_an_index()
    if lack is not None:
        pytest.skip(lack)
    page = blocks()
    (tmp_path / "instances").symlink_to(ROOT / "instances")
    site = tmp_path / "site"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRAB_", "PYTEST_", "PIP_"))}
    # The package goes beside the environment of the tests, not into it.
    aside = tmp_path / "bin" / "pip"
    aside.parent.mkdir()
    aside.write_text(f'#!/bin/sh\nshift\nexec {sys.executable} -m pip install --target {site} "$@"\n')
    aside.chmod(0o755)
    path = os.pathsep.join([str(aside.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
    environ = {**kept, "PATH": path, "CRAB_RUNTIME": "local", "CRAB_PROOF_RUNS": "1", "PYTHONPATH": str(site)}
    environ.pop("ANTHROPIC_API_KEY", None)
    script = "exec 2>&1\n" + "".join(f"{text}echo '{_MARK}'\n" for text, _ in page)
    done = subprocess.run(["bash"], input=script, cwd=tmp_path, env=environ, stdout=subprocess.PIPE, text=True)
    said = done.stdout.split(f"{_MARK}\n")
    assert len(said) == len(page) + 1, done.stdout
    for (commands, shown), output in zip(page, said, strict=False):
        assert not shown or re.fullmatch(pattern(shown), output), f"{commands}\nprinted\n{output}"
