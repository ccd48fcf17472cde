"""Slots and run locks are shared by processes, and end with them."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from pytest_crab.errors import Cancelled
from pytest_crab.runtimes import run_lock
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.runtimes.slots import Slots
from pytest_crab.waiting import waits_counted

HOLDER = """
import sys, threading
from pathlib import Path
from pytest_crab.runtimes.slots import Slots
from pytest_crab.waiting import waits_counted
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


def test_a_slot_is_lent_to_others_while_a_model_is_asked(tmp_path: Path) -> None:
    slots, never, asking = Slots(1, tmp_path / "slots"), threading.Event(), tmp_path / "asking"
    with slots.take(never, asking):
        assert slots.count_held() == 1
        asking.touch()
        with slots.take(never):  # which waits until it is lent
            asking.unlink()
            assert slots.count_held() == 1
        while slots.count_held() == 0:  # until it is taken back
            pass
    assert slots.count_held() == 0


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


def test_a_wait_for_a_slot_is_told_and_counted(tmp_path: Path) -> None:
    slots, taken, told = Slots(1, tmp_path), threading.Event(), []
    go_on = threading.Event()

    def other() -> None:
        with slots.take(threading.Event()):
            taken.set()
            go_on.wait(60)

    def notice(begins: bool) -> None:  # noqa: FBT001 - called so
        told.append((begins, slots.count_held()))
        go_on.set()

    thread = threading.Thread(target=other)
    thread.start()
    assert taken.wait(60)
    with waits_counted(notice) as waited, slots.take(threading.Event()):
        assert [begins for begins, _ in told] == [True, False]
    thread.join()
    assert told[0] == (True, 1)
    assert waited.seconds > 0
    with waits_counted(notice), slots.take(threading.Event()):
        assert len(told) == 2  # there was no wait
    assert slots.count_held() == 0


def test_a_run_lives_until_it_is_closed() -> None:
    run = RunFolder()
    folder = run.folder
    assert not run_lock.is_dead(run.id)
    assert run.id not in run_lock.sweep_folders()
    assert folder.is_dir()
    run.close()
    assert run_lock.is_dead(run.id)
    assert not folder.exists()


DEAD = """
import os
from pytest_crab.runtimes.run_lock import RunFolder
run = RunFolder()
(run.folder / "left").write_text("x")
print(run.id, flush=True)
os._exit(0)
"""


@pytest.fixture
def dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A dead run, among locks that no run beside this one sweeps."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    return (
        subprocess.run([sys.executable, "-c", DEAD], stdout=subprocess.PIPE, env=environ, check=True)
        .stdout.decode()
        .strip()
    )


def test_who_asks_at_the_same_time_is_not_taken_for_the_run(dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bool] = []
    real = fcntl.flock

    def flock(descriptor: int, kind: int) -> None:
        real(descriptor, kind)
        if not told:
            told.append(False)
            told.append(run_lock.is_dead(dead))

    monkeypatch.setattr(run_lock.fcntl, "flock", flock)
    assert run_lock.is_dead(dead)
    assert told == [False, True]


def test_a_dead_run_is_dead_while_it_is_swept_and_swept_while_somebody_looks(
    dead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []
    remove = run_lock.remove_folder

    def removing(folder: Path) -> None:
        told.append(run_lock.is_dead(dead))
        remove(folder)

    monkeypatch.setattr(run_lock, "remove_folder", removing)
    lock = run_lock.machine_folder() / "runs" / f"{dead}.lock"
    with lock.open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)  # as is_dead does
        assert run_lock.sweep_folders() == [dead]
    assert told == [True]
    assert not lock.exists()


def test_the_second_of_two_sweepers_waits_until_all_is_gone(dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    remove = run_lock.remove_folder

    def removing(folder: Path) -> None:
        begun.set()
        assert go_on.wait(60)
        remove(folder)

    monkeypatch.setattr(run_lock, "remove_folder", removing)
    first = threading.Thread(target=run_lock.sweep_folders)
    first.start()
    assert begun.wait(60)
    monkeypatch.setattr(run_lock, "remove_folder", remove)
    timer = threading.Timer(0.3, go_on.set)
    timer.start()
    assert run_lock.sweep_folders() == []
    assert not (run_lock.machine_folder() / "runs" / dead).exists()
    first.join()


def test_names_that_are_no_run_are_never_dead() -> None:
    assert not run_lock.is_dead("../../etc")
    assert not run_lock.is_dead("")


def test_folders_that_were_made_unreadable_are_removed(tmp_path: Path) -> None:
    inner = tmp_path / "x" / "inner" / "deep"
    inner.mkdir(parents=True)
    (inner / "file").write_text("x")
    (tmp_path / "x" / "link").symlink_to("/etc")
    inner.chmod(0)
    inner.parent.chmod(0)
    run_lock.remove_folder(tmp_path / "x")
    assert not (tmp_path / "x").exists()
    assert Path("/etc").exists()
