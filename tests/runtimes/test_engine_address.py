"""The engine is found as the docker command finds it, and where a rootless one or Docker Desktop listens."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker.context import ContextAPI

from pytest_crab.errors import EngineError
from pytest_crab.runtimes import engine_address
from pytest_crab.runtimes.engine import Engine
from pytest_crab.runtimes.engine_address import engine_settings, engine_sockets, may_answer
from pytest_crab.runtimes.run_lock import RunFolder


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setattr(engine_address, "_SYSTEM", str(tmp_path / "system.sock"))
    (tmp_path / ".docker").mkdir()
    (tmp_path / ".docker" / "config.json").write_text("{}")


@pytest.fixture
def rootless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A socket where a rootless engine listens; its path is relative inside, since a socket's may not be long."""
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("docker.sock")
        yield f"unix://{tmp_path}/run/docker.sock"


def test_a_rootless_engine_is_found_where_the_system_has_none(rootless: str) -> None:
    assert engine_settings() == {"base_url": rootless}


def test_no_engine_is_asked_where_its_socket_is_not_there(monkeypatch: pytest.MonkeyPatch, rootless: str) -> None:
    assert may_answer()
    Path(rootless.removeprefix("unix://")).unlink()
    assert not may_answer()
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    assert may_answer()
    monkeypatch.delenv("DOCKER_HOST")
    monkeypatch.setenv("DOCKER_CONTEXT", "nowhere")
    assert may_answer()  # whoever asks is told what is wrong with it


@pytest.mark.parametrize("by", ["DOCKER_CONTEXT", "config"])
def test_the_chosen_context_goes_before_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rootless: str, by: str
) -> None:
    ContextAPI.create_context("away", host=f"unix://{tmp_path}/away.sock")
    if by == "config":
        (tmp_path / ".docker" / "config.json").write_text(json.dumps({"currentContext": "away"}))
    else:
        monkeypatch.setenv(by, "away")
    assert engine_settings()["base_url"] == f"unix://{tmp_path}/away.sock"
    assert {f"{tmp_path}/away.sock", rootless.removeprefix("unix://")} <= set(engine_sockets())
    monkeypatch.setenv("DOCKER_HOST", "unix:///elsewhere.sock")
    assert engine_settings()["base_url"].endswith("/elsewhere.sock")
    assert "/elsewhere.sock" in engine_sockets()


def test_a_context_that_is_not_there_is_named_with_who_names_it(tmp_path: Path) -> None:
    (tmp_path / ".docker" / "config.json").write_text(json.dumps({"currentContext": "gone"}))
    with pytest.raises(EngineError, match=r"no Docker context gone, which .*/config\.json names"):
        engine_settings()
    assert list(engine_sockets())  # what is hidden from contestants does not depend on it


def test_where_none_is_found_the_places_are_named(tmp_path: Path) -> None:
    engine = Engine(RunFolder())
    with pytest.raises(EngineError) as caught:
        _ = engine.client
    for place in (f"{tmp_path}/system.sock", f"{tmp_path}/run/docker.sock", "desktop/docker.sock"):
        assert place in str(caught.value)
