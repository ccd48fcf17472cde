"""The local runtime where it may confine nothing, and where it must refuse."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_crab.errors import ImageError
from pytest_crab.protocols import ORACLE_LIMITS
from pytest_crab.protocols import Command
from pytest_crab.runtimes.local import LocalRuntime
from pytest_crab.types import Instance

if TYPE_CHECKING:
    from conftest import Place


@pytest.fixture
def plain(prepared: Callable[[str, Instance], Place], instance: Instance) -> Place:
    return prepared("unconfined", instance)


def test_unconfined_says_so(plain: Place) -> None:
    assert not plain.image.contained
    assert plain.image.workdir != plain.instance.environment.workdir
    assert plain.runtime.identity(plain.instance, {})["confined"] is False


def test_unconfined_runs_in_a_fresh_folder(plain: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "geheim")
    for _ in range(2):
        done = plain.run("sh", "-c", "pwd; ls -A; echo x > left; env")
        lines = done.stdout.decode().splitlines()
        assert lines[0] == plain.image.workdir
        assert "left" not in lines
        assert not any("geheim" in line for line in lines)
    assert not Path(plain.image.workdir).parent.exists()


def test_unconfined_deadline_finds_processes_that_went_their_own_way(plain: Place) -> None:
    mark = f"51{os.getpid()}.{time.monotonic_ns()}"
    done = plain.run("sh", "-c", f"(setsid sh -c 'sleep {mark} & sleep {mark}' &) ; sleep {mark}", seconds=1)
    assert (done.exit_code, done.timed_out) == (None, True)
    mine = [path for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists() and mark in path.read_text()]
    assert mine == []


def test_unconfined_commands_meet(plain: Place) -> None:
    place = plain.image.facts["meeting"]
    first = Command(argv=("sh", "-c", f"while [ ! -e {place}/word ]; do sleep 0.05; done; echo met"))
    second = Command(argv=("touch", f"{place}/word"))
    one, _ = plain.runtime.execute(plain.image, [first, second], limits=ORACLE_LIMITS, seconds=20)
    assert one.stdout == b"met\n"


def test_unconfined_calls_on_one_image_wait_for_each_other(plain: Place) -> None:
    script = "ls -A; touch x; sleep 0.2; ls -A"
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _: plain.run("sh", "-c", script).stdout, range(3)))
    assert done == [b"x\n"] * 3


def test_unconfined_workspace_has_a_folder_and_a_diff(plain: Place) -> None:
    with plain.runtime.workspace(plain.image, plain.snapshot, limits=ORACLE_LIMITS) as workspace:
        assert workspace.folder is not None
        assert (
            workspace.run(("sh", "-c", "echo 'VALUE = 5' > demo.py; pwd"), seconds=20).stdout.decode().strip()
            == workspace.root
        )
        assert "+VALUE = 5" in workspace.diff()


def test_what_only_docker_can_give_is_refused_by_name(tmp_path: Path, instance: Instance) -> None:
    runtime = LocalRuntime(cache=tmp_path)
    wishes = {
        "libxml2": {"system": ("libxml2",)},
        "node.Dockerfile": {"dockerfile": "node"},
        "name@sha256:0": {"dockerfile": None, "image": "name@sha256:0"},
        "Python 3.2": {"python": "3.2"},
    }
    for word, wish in wishes.items():
        wanting = replace(instance, environment=replace(instance.environment, **wish))
        with pytest.raises(ImageError, match=f"demo: .*{word}"):
            runtime.identity(wanting, {})


def test_pins_make_an_environment_of_its_own(tmp_path: Path, instance: Instance) -> None:
    runtime = LocalRuntime(cache=tmp_path)
    pinned = replace(instance, environment=replace(instance.environment, packages=("pytest==8.3.4", "attrs==24.2.0")))
    assert runtime.identity(instance, {})["interpreter"]["kind"] == "running"
    assert runtime.identity(pinned, {})["interpreter"] | {"version": "", "platform": ""} == {
        "kind": "venv",
        "version": "",
        "platform": "",
        "packages": ["pytest==8.3.4", "attrs==24.2.0"],
    }
