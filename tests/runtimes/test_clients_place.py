"""What a workspace gives a client of the models: its trees, a home, the gateway's socket behind a relay."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.model_access import ModelAccess
from pytest_crab.protocols import CLIENT_LIMITS
from pytest_crab.runtimes.slots import Slots

REACH = """
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())
"""


@pytest.fixture
def access(tmp_path: Path) -> Iterator[ModelAccess]:
    """A socket behind which somebody says hello."""
    path = tmp_path / "hello.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o666)
        server.listen(8)
        threading.Thread(target=greet, args=(server,), daemon=True).start()
        yield ModelAccess(socket=path, token="crab-token")
        server.shutdown(socket.SHUT_RDWR)


def greet(server: socket.socket) -> None:
    while True:
        try:
            client, _ = server.accept()
        except OSError:
            return
        with client:
            client.recv(65536)
            client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "client" / "bin"
    folder.mkdir(parents=True)
    (folder / "tool").write_text("#!/bin/sh\necho here $1\n")
    (folder / "tool").chmod(0o755)
    return folder.parent


def opened(place: Any, **ways: Any) -> Any:
    return place.runtime.workspace(place.image, place.snapshot, limits=CLIENT_LIMITS, **ways)


def test_a_tree_is_found_at_its_own_path_and_cannot_be_changed(place: Any, tree: Path) -> None:
    with opened(place, readable=[tree]) as workspace:
        done = workspace.run([f"{tree}/bin/tool", "now"], seconds=20)
        assert done.stdout == b"here now\n"
        assert workspace.run(["sh", "-c", f"echo x >> {tree}/bin/tool"], seconds=20).exit_code != 0
        assert workspace.models_url is None
        assert workspace.home is None
    assert "echo x" not in (tree / "bin" / "tool").read_text()


def test_a_tree_below_roots_home_is_seen(place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path.home() / f".pytest-crab-test-{tmp_path.name}"
    try:
        folder.mkdir()
        (folder / "file").write_text("seen\n")
        with opened(place, readable=[folder]) as workspace:
            assert workspace.run(["cat", f"{folder}/file"], seconds=20).stdout == b"seen\n"
    finally:
        (folder / "file").unlink()
        folder.rmdir()


def test_the_models_are_reached_through_the_relay(place: Any, access: ModelAccess) -> None:
    with opened(place, models=access) as workspace:
        for _ in range(2):
            done = workspace.run([place.image.interpreter, "-c", REACH, f"{workspace.models_url}/x"], seconds=20)
            assert done.stdout == b"hello\n", done.stderr
        assert workspace.run(["sh", "-c", "exit 7"], seconds=20).exit_code == 7
        late = workspace.run(["sleep", "30"], seconds=0.5)
        assert late.timed_out
        done = workspace.run([place.image.interpreter, "-c", REACH, f"{workspace.models_url}/x"], seconds=20)
        assert done.stdout == b"hello\n", "the relay outlives a time-out"
    with opened(place) as workspace:
        done = workspace.run([place.image.interpreter, "-c", REACH, "http://127.0.0.1:8417/x"], seconds=20)
        assert done.exit_code != 0


def test_a_client_holds_no_slot_while_it_waits_for_a_model(
    place: Any, access: ModelAccess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots, script = Slots(4, tmp_path / "slots"), "until test -e go; do sleep 0.05; done"
    monkeypatch.setattr(place.runtime, "slots", slots)
    with opened(place, models=access) as workspace, ThreadPoolExecutor() as pool:
        client = pool.submit(workspace.run, ["sh", "-c", script], seconds=60)
        wait_for(lambda: slots.count_held() == 1)
        access.asking.touch()
        wait_for(lambda: slots.count_held() == 0)
        access.asking.unlink()
        wait_for(lambda: slots.count_held() == 1)
        assert workspace.run(["touch", "go"], seconds=60).exit_code == 0
        assert client.result().exit_code == 0


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_python_leaves_no_bytecode_and_pytest_does_not_load_this_package(place: Any) -> None:
    write = "echo 'def test(): import other' > test_it.py; echo 'n = 1' > other.py"
    with opened(place) as workspace:
        assert workspace.run(["sh", "-c", write], seconds=20).exit_code == 0
        done = workspace.run(
            [place.image.interpreter, "-m", "pytest", "-p", "no:cacheprovider", "--trace-config", "."], seconds=60
        )
        assert done.exit_code == 0, done.stdout + done.stderr
        assert b"<module 'pytest_crab" not in done.stdout
        found = workspace.run(["find", ".", "-name", "*.pyc"], seconds=20)
        assert found.stdout == b""


def test_a_home_is_writable_and_gone_afterwards(place: Any, access: ModelAccess) -> None:
    with opened(place, models=access) as workspace:
        home = workspace.home
        assert home
        assert not home.startswith("/tmp")
        assert workspace.run(["sh", "-c", f"ls -A {home}"], seconds=20).stdout == b""
        assert workspace.run(["sh", "-c", f"echo kept > {home}/note"], seconds=20).exit_code == 0
        assert workspace.run(["cat", f"{home}/note"], seconds=20).stdout == b"kept\n"
        assert workspace.diff() == ""
    with opened(place, models=access) as workspace:
        assert workspace.run(["cat", f"{home}/note"], seconds=20).exit_code != 0
