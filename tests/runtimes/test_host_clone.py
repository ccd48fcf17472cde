"""Clones of head on this host: what runs in them is confined, permitted or refused; files need no sandbox."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_crab.errors import EngineError
from pytest_crab.protocols import CloneRequest
from pytest_crab.runtimes import bubblewrap
from pytest_crab.types import Instance

if TYPE_CHECKING:
    from conftest import Place

CHANGE = "--- a/demo.py\n+++ b/demo.py\n@@ -1 +1 @@\n-VALUE = 2\n+VALUE = 9\n"


@pytest.fixture
def docker_alone(
    prepared: Callable[[str, Instance], Place], instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> Place:
    """A Docker runtime on a host without bubblewrap."""
    place = prepared("docker", instance)
    monkeypatch.setattr(bubblewrap, "problem", lambda: "bubblewrap (bwrap) is not installed")
    return place


@pytest.mark.bubblewrap
def test_a_command_sees_the_clone_and_the_paths_named(place: Place, tmp_path: Path) -> None:
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "note.txt").write_text("here")
    (tmp_path / "other.txt").write_text("geheim")
    with place.runtime.clone(place.snapshot, CloneRequest(readable=(tmp_path / "shown",))) as clone:
        assert clone.folder == Path(clone.root)
        done = clone.run(
            ["sh", "-c", f"cat demo.py {tmp_path}/shown/note.txt; ls {tmp_path}; echo x > made"], seconds=20
        )
        assert done.stdout == b"VALUE = 2\nhereshown\n"
        assert "+x" in clone.diff()
    assert not Path(clone.root).exists()


@pytest.mark.docker
def test_files_are_read_changed_and_compared_without_a_sandbox(docker_alone: Place) -> None:
    with docker_alone.runtime.clone(docker_alone.snapshot, CloneRequest()) as clone:
        clone.apply(CHANGE)
        assert (Path(clone.root) / "demo.py").read_text() == "VALUE = 9\n"
        assert "+VALUE = 9" in clone.diff()


@pytest.mark.docker
def test_no_command_runs_without_a_sandbox_unless_it_is_permitted(docker_alone: Place) -> None:
    runtime, snapshot = docker_alone.runtime, docker_alone.snapshot
    with runtime.clone(snapshot, CloneRequest()) as clone:
        with pytest.raises(EngineError, match="needs a sandbox"):
            clone.run(["touch", "made"], seconds=20)
        assert not (Path(clone.root) / "made").exists()
    asked: list[None] = []
    with runtime.clone(snapshot, CloneRequest(require_sandbox=lambda: asked.append(None))) as clone:
        assert asked == []
        assert clone.run(["cat", "demo.py"], seconds=20).stdout == b"VALUE = 2\n"
    assert len(asked) == 1
