from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

import pytest

from pytest_crab.locks import lock_file, locked_file, try_lock_file, try_lock_folder


def test_one_at_a_time_also_in_one_process(tmp_path: Path) -> None:
    with locked_file(tmp_path / "lock"):
        assert try_lock_file(tmp_path / "lock") is None
    handle = try_lock_file(tmp_path / "lock")
    assert handle is not None
    os.close(handle)


def test_a_shared_lock_has_many_holders(tmp_path: Path) -> None:
    handles = [try_lock_file(tmp_path / "lock", fcntl.LOCK_SH) for _ in range(2)]
    assert None not in handles
    assert try_lock_file(tmp_path / "lock") is None
    for handle in handles:
        os.close(handle or 0)


def test_waiting_ends_when_the_check_raises(tmp_path: Path) -> None:
    def check() -> None:
        raise InterruptedError

    with locked_file(tmp_path / "lock"), pytest.raises(InterruptedError), locked_file(tmp_path / "lock", check=check):
        pass


def test_a_file_that_its_holder_removes_is_made_again(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = lock_file(path)
    found: list[int] = []
    waiter = threading.Thread(target=lambda: found.append(lock_file(path)))
    waiter.start()
    path.unlink()
    os.close(first)
    waiter.join(5)
    assert try_lock_file(path) is None
    os.close(found[0])


def test_a_file_that_is_not_to_be_made_is_missed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        try_lock_file(tmp_path / "lock", create=False)


def test_a_folder_keeps_nothing_of_its_lock(tmp_path: Path) -> None:
    handle = try_lock_folder(tmp_path)
    assert handle is not None
    assert try_lock_folder(tmp_path) is None
    os.close(handle)
    assert not list(tmp_path.iterdir())
