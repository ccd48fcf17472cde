"""On a system that is not Linux a sentence says what runs there; nothing else is imported before it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from pytest_crab import systems
from pytest_crab.cli import main

#: Modules of Python that Windows has not: without them most of the package cannot be imported.
WINDOWS = """
import platform, sys
platform.system = lambda: "Windows"
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
"""


@pytest.mark.parametrize(
    ("call", "status"),
    [
        ("from pytest_crab.cli import main; main(['doctor'])", 1),
        ("import pytest; sys.exit(pytest.main(['--reviewer=human', '-p', 'no:cacheprovider', '.']))", 4),
    ],
)
def test_on_windows_a_sentence_names_wsl(call: str, status: int, tmp_path: object) -> None:
    done = subprocess.run([sys.executable, "-c", WINDOWS + call], cwd=str(tmp_path), capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    assert "WSL 2" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("system", "words"), [("Linux", "yes: Linux"), ("Darwin", "partly: on macOS"), ("FreeBSD", "not tested")]
)
def test_the_doctor_says_what_runs_on_this_system(system: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: system)
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 0
    rows = dict(line.split("  ", 1) for line in result.output.splitlines())
    assert words in rows["system"]


def test_wsl_is_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.release", lambda: "5.15.0-microsoft-standard-WSL2")
    assert systems.shortcomings() is None
    assert "within WSL" in systems.description()
