"""Slots and run locks are shared by processes, and end with them."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pytest_crab.errors import Cancelled
from pytest_crab.runtimes import runs
from pytest_crab.runtimes.runs import Run
from pytest_crab.runtimes.slots import Slots

HOLDER = """
import sys, threading
from pathlib import Path
from pytest_crab.runtimes.slots import Slots
with Slots(1, Path(sys.argv[1])).take(threading.Event()):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_no_more_than_the_count_run_at_once(tmp_path: Path) -> None:
    slots, never = Slots(2, tmp_path), threading.Event()
    running, most = 0, 0
    guard, two = threading.Lock(), threading.Barrier(2)

    def work() -> None:
        nonlocal running, most
        with slots.take(never):
            with guard:
                running += 1
                most = max(most, running)
            two.wait(60)  # for the other one
            with guard:
                running -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 2


def test_a_slot_of_another_process_counts_and_ends_with_it(tmp_path: Path) -> None:
    stopped = threading.Event()
    argv = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        stopped.set()
        with pytest.raises(Cancelled), Slots(1, tmp_path).take(stopped):
            pass
        process.kill()
    with Slots(1, tmp_path).take(threading.Event()):
        pass


def test_a_run_lives_until_it_is_closed() -> None:
    run = Run()
    folder = run.folder
    assert not runs.is_dead(run.id)
    assert run.id not in runs.sweep_folders()
    assert folder.is_dir()
    run.close()
    assert runs.is_dead(run.id)
    assert not folder.exists()


def test_names_that_are_no_run_are_never_dead() -> None:
    assert not runs.is_dead("../../etc")
    assert not runs.is_dead("")


def test_folders_that_were_made_unreadable_are_removed(tmp_path: Path) -> None:
    inner = tmp_path / "x" / "inner" / "deep"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    (tmp_path / "x" / "link").symlink_to("/etc")
    inner.chmod(0)
    inner.parent.chmod(0)
    runs.remove_folder(tmp_path / "x")
    assert not (tmp_path / "x").exists()
    assert Path("/etc").exists()
