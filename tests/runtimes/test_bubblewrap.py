"""The confined process on a throw-away clone, and what only the local runtime promises."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pytest_crab.errors import Cancelled
from pytest_crab.protocols import INSTALL_LIMITS, ORACLE_LIMITS, Command, Completed
from pytest_crab.runtimes import RuntimeSettings, cgroups
from pytest_crab.runtimes.bubblewrap import View, run_confined, run_in_folder
from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime
from pytest_crab.runtimes.run_lock import RunFolder

pytestmark = pytest.mark.bubblewrap


def _alive(mark: str) -> bool:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        done = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
        if not any(mark in line for line in done.stdout.splitlines()):
            return False
        time.sleep(0.05)
    return True


def test_sees_the_clone_and_what_is_named_only(tmp_path: Path) -> None:
    for name in ("clone", "readable", "writable", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    script = f"cat file {tmp_path}/readable/file; echo new > made; echo new > {tmp_path}/writable/made; ls {tmp_path}; "
    script += f"echo no > {tmp_path}/readable/made || echo refused"
    done = run_in_folder(
        ["sh", "-c", script],
        tmp_path / "clone",
        readable=[tmp_path / "readable"],
        writable=[tmp_path / "writable"],
        seconds=20,
    )
    assert done.stdout.decode() == "clonereadableclone\nreadable\nwritable\nrefused\n"
    assert (tmp_path / "clone/made").read_text() == (tmp_path / "writable/made").read_text() == "new\n"
    assert not (tmp_path / "readable/made").exists()


def test_environment_is_what_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "x")
    done = run_in_folder(["env"], tmp_path, env={"GIVEN": "1", "HOME": "/tmp/h"}, seconds=20)
    names = {line.partition("=")[0] for line in done.stdout.decode().splitlines()}
    assert names == {"GIVEN", "HOME", "PATH", "LANG", "PWD"}


def built(argv: Sequence[str], *, network: bool) -> Completed:
    """Run a command as a build does."""
    run = RunFolder()
    try:
        view = View(readable={}, writable={}, network=network)
        (done,) = run_confined(run, [view], [Command(argv=argv)], limits=INSTALL_LIMITS, seconds=20)
        return done
    finally:
        run.close()


@pytest.mark.parametrize("network", [True, False])
def test_network_is_there_when_asked_for(*, network: bool) -> None:
    assert built(["ls", "/sys/class/net"], network=network).exit_code != 0
    interfaces = built(["cat", "/proc/net/dev"], network=network).stdout.decode()
    outside = Path("/proc/net/dev").read_text()
    assert (interfaces.count(":") == outside.count(":")) is network
    assert (built(["cat", "/etc/resolv.conf"], network=network).exit_code == 0) is network


def test_private_keys_of_the_machine_are_not_there(tmp_path: Path) -> None:
    listing = built(["ls", "/etc/ssl", "/etc", "/"], network=True).stdout.decode().split()
    assert not {"private", "shadow", "home", "var", "ssh"} & set(listing) - set(str(tmp_path).split("/"))


def test_what_lies_beside_the_systems_programs_is_not_seen(tmp_path: Path) -> None:
    listing = run_in_folder(["ls", "/usr", "/usr/local"], tmp_path, seconds=20).stdout.decode().split()
    parts = {"bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec", "include", "share", "local"}
    assert set(listing) - {"/usr:", "/usr/local:"} <= parts
    assert Path("/usr/src").is_dir() is False or "src" not in listing


def test_a_deadline_leaves_no_descendant(tmp_path: Path) -> None:
    mark = f"41{os.getpid()}.{time.monotonic_ns()}"
    done = run_in_folder(
        ["sh", "-c", f"setsid sleep {mark} & (setsid sleep {mark} &) ; sleep {mark}"], tmp_path, seconds=0.5
    )
    assert (done.exit_code, done.timed_out) == (None, True)
    assert not _alive(mark)


def test_a_cancel_leaves_no_descendant(tmp_path: Path) -> None:
    mark = f"42{os.getpid()}.{time.monotonic_ns()}"
    cancel = threading.Event()
    timer = threading.Timer(0.5, cancel.set)
    timer.start()
    with pytest.raises(Cancelled):
        run_in_folder(["sh", "-c", f"setsid sleep {mark} & sleep {mark}"], tmp_path, seconds=3600, cancel=cancel)
    assert not _alive(mark)


KILLED = """
import sys, time
from pathlib import Path
from pytest_crab.runtimes.bubblewrap import run_in_folder
from pytest_crab.runtimes.run_lock import RunFolder
run = RunFolder()
run.folder
print(run.id, flush=True)
script = "setsid sleep " + sys.argv[1] + " & sleep " + sys.argv[1]
run_in_folder(["sh", "-c", script], Path(sys.argv[2]), seconds=60, run=run)
"""


def test_a_killed_run_leaves_no_process_and_the_next_one_sweeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until: Callable[[Callable[[], object]], None]
) -> None:
    # With locks of their own: a run beside this one would sweep too, and might be first.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mark = f"43{os.getpid()}.{time.monotonic_ns()}"
    runtime = BubblewrapRuntime(RuntimeSettings(), cache=tmp_path / "cache")
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, mark, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        run = process.stdout.readline().strip()
        until(lambda: not subprocess.run(["pgrep", "-f", f"^sleep {mark}"], capture_output=True).returncode)
        runtime.sweep()
        assert (runtime.run.folder.parent / run).exists(), "a living run was swept"
        process.send_signal(signal.SIGKILL)
    assert not _alive(mark)
    removed = runtime.sweep()
    assert run in removed
    assert not (runtime.run.folder.parent / run).exists()
    if cgroups.available():
        assert any(name.startswith(f"pytest-crab-{run}-") for name in removed)
    assert not list(Path("/sys/fs/cgroup").glob(f"*/pytest-crab-{run}-*"))
    runtime.close()


def test_a_group_that_goes_while_it_is_read_is_gone(
    monkeypatch: pytest.MonkeyPatch, without: Callable[[str, str], NoReturn]
) -> None:
    """Two sweepers: what one has opened the other removes, and the reading of it then fails with ENODEV."""
    if not cgroups.available():
        without("cgroups", "no control groups can be made here")
    real = Path.read_text

    def read_text(path: Path, *rest: Any, **more: Any) -> str:
        if path.name != "cgroup.procs" or not path.exists():
            return real(path, *rest, **more)
        with path.open() as file:
            path.parent.rmdir()
            return file.read()

    with cgroups.new_group("0" * 16, ORACLE_LIMITS) as group:
        assert group is not None
        monkeypatch.setattr(Path, "read_text", read_text)
        assert group.processes() == set()
        monkeypatch.setattr(Path, "read_text", real)


def test_no_group_and_no_folder_stay(tmp_path: Path) -> None:
    run = RunFolder()
    run_in_folder(["true"], tmp_path, seconds=20, run=run)
    assert list(run.folder.iterdir()) == []
    assert not list(Path("/sys/fs/cgroup").glob(f"*/pytest-crab-{run.id}-*"))
    folder = run.folder
    run.close()
    assert not folder.exists()


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = run_in_folder(["not-there"], tmp_path, seconds=20)
    assert done.exit_code != 0
    assert b"not-there" in done.stderr


def test_says_what_a_container_lacks_that_covers_a_part_of_proc(without: Callable[[str, str], NoReturn]) -> None:
    if subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode != 0:
        without("root", "no file system can be mounted here")
    cover = 'mount --bind /dev/null /proc/version && exec "$@"'
    ask = "from pytest_crab.runtimes import bubblewrap; print(bubblewrap.problem())"
    told = ["unshare", "--mount", "--propagation", "private", "sh", "-c", cover, "sh", sys.executable, "-c", ask]
    done = subprocess.run(told, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == (
        "bubblewrap does not work here: bwrap: Can't mount proc on /newroot/proc: Operation not permitted "
        "(a container needs procMount: Unmasked on Kubernetes, --security-opt systempaths=unconfined with Docker)"
    )
