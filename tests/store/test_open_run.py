from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crab.store import open_run
from pytest_crab.store.open_run import OpenRun

if TYPE_CHECKING:
    import pytest

KILLED = """
import os, signal, sys
from pathlib import Path
from pytest_crab.store.open_run import OpenRun
print(OpenRun(Path(sys.argv[1])).token, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_runs_token_is_taken_over(tmp_path: Path) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False, env=os.environ
    )
    assert killed.returncode == -signal.SIGKILL
    run = OpenRun(tmp_path)
    assert run.token == killed.stdout.strip()
    run.close(complete=False)
    assert OpenRun(tmp_path).token == run.token


def test_a_complete_runs_token_is_not(tmp_path: Path) -> None:
    run = OpenRun(tmp_path)
    run.close(complete=True)
    assert OpenRun(tmp_path).token != run.token


def test_the_token_of_a_run_that_ends_meanwhile_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its steps are those of a complete run, whose reviews without an identity are for nobody else."""
    first = OpenRun(tmp_path)
    real = open_run.try_lock_file

    def try_lock_file(path: Path) -> int | None:
        first.close(complete=True)
        return real(path)

    monkeypatch.setattr(open_run, "try_lock_file", try_lock_file)
    assert OpenRun(tmp_path).token != first.token


def test_a_living_runs_token_is_its_own(tmp_path: Path) -> None:
    first, second = OpenRun(tmp_path), OpenRun(tmp_path)
    assert first.token != second.token
    second.close(complete=True)
    first.close(complete=False)
    assert OpenRun(tmp_path).token == first.token
