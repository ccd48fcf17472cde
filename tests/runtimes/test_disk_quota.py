"""What a sandbox writes on the host's own disk is bounded, and what was there before is not its doing."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from pytest_crab.errors import EngineError
from pytest_crab.protocols import Completed, Limits
from pytest_crab.runtimes import disk_quota, gateway_relay
from pytest_crab.runtimes.bubblewrap import run_in_folder
from pytest_crab.runtimes.disk_quota import DiskQuota

pytestmark = pytest.mark.bubblewrap

LIMITS = Limits(memory=256, processes=48, disk=16, file=8)
INTERPRETER = list(gateway_relay.interpreter_binds().values())
MANY = "for i in $(seq 5); do head -c 5000000 /dev/zero > $i; done"
#: Each fills the folder that it is in.
FILLS = {
    "files": MANY,
    "nested": f"mkdir -p {'/'.join('abcdefghij' * 10)} && cd {'/'.join('abcdefghij' * 10)} && {MANY}",
    "empty files": "for i in $(seq 5000); do : > $i; done",
}


def play(folder: Path, script: str, *, sleep: int = 60, quota: DiskQuota | None = None) -> Completed:
    quota = quota or DiskQuota([folder], LIMITS.disk)
    argv = ["sh", "-c", f"{script}; sleep {sleep}; echo end"]
    return run_in_folder(argv, folder, limits=LIMITS, seconds=120, quota=quota)


@pytest.mark.parametrize("fill", FILLS)
def test_who_writes_more_than_it_may_is_ended(fill: str, tmp_path: Path) -> None:
    done = play(tmp_path, FILLS[fill])
    assert (done.exit_code, done.too_much_disk, done.timed_out, done.stdout) == (None, True, False, b"")


def test_what_was_there_or_lies_elsewhere_does_not_count(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    for place in (clone, tmp_path):
        (place / "large").write_bytes(bytes(40 << 20))
    (clone / "link").symlink_to(tmp_path)
    done = play(clone, "head -c 5000000 /dev/zero > small", sleep=1)
    assert (done.exit_code, done.too_much_disk, done.stdout) == (0, False, b"end\n")


def test_what_several_commands_write_counts_together(tmp_path: Path) -> None:
    quota = DiskQuota([tmp_path], LIMITS.disk)
    ends = [play(tmp_path, f"head -c 5000000 /dev/zero > {at}", sleep=1, quota=quota) for at in range(3)]
    assert [done.exit_code for done in ends] == [0] * 3
    assert play(tmp_path, "head -c 5000000 /dev/zero > last", quota=quota).too_much_disk


def test_a_file_with_many_names_counts_once(tmp_path: Path) -> None:
    links = "head -c 5000000 /dev/zero > file; for i in $(seq 20); do ln file $i; done"
    assert play(tmp_path, links, sleep=1).exit_code == 0


def test_a_folder_that_is_closed_or_gone_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    quota = DiskQuota([folder, tmp_path / "never"], 1)
    folder.rmdir()
    quota._next = 0.0
    assert not quota.is_over()


def test_what_changes_while_it_is_counted_is_no_error(tmp_path: Path) -> None:
    churn = "for i in $(seq 400); do mkdir -p a/b/c; : > a/b/c/x; chmod 0 a/b; chmod 700 a/b; rm -r a; done"
    assert play(tmp_path, churn, sleep=0).exit_code == 0


#: Keeps more in files that have no name any more.
HIDES = """
import os, time
for name in "abcd":
    file = os.open(name, os.O_CREAT | os.O_WRONLY)
    os.unlink(name)
    os.write(file, bytes(8_000_000))
time.sleep(60)
"""


@pytest.fixture
def small(tmp_path: Path, without: Callable[[str, str], NoReturn]) -> Iterator[Path]:
    """A folder with a small disk of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "crab", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        without("root", "a small disk cannot be mounted here")
    try:
        (disk / "clone").mkdir()
        yield disk / "clone"
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_disk_that_runs_short_is_nobodys_miss(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_quota, "_RESERVE", 40 << 20)
    said = f"less than 40 MiB were left on the disk that holds {small.parent} while a sandbox wrote there"
    with pytest.raises(EngineError, match=said):
        run_in_folder(
            [gateway_relay.interpreter(), "-c", HIDES],
            small,
            readable=INTERPRETER,
            limits=LIMITS,
            seconds=120,
            quota=DiskQuota([small], LIMITS.disk),
        )
    (small / "rest").write_bytes(bytes(30 << 20))
    assert play(small, "echo little > file", sleep=1).stdout == b"end\n"  # it was short before, so all else may work
