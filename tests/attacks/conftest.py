"""Where the attacks are played: each runtime, and the harness without any sandbox."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pytest_crab.ecosystems.interpreters import running_version
from pytest_crab.errors import ImageError
from pytest_crab.instances import load_instance
from pytest_crab.protocols import Image, Runtime, Snapshot
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.sources import fetcher_for
from pytest_crab.types import Instance

# Tests are no package, so what several files of this folder share is found by its folder.
sys.path.insert(0, str(Path(__file__).parent))

from hostile.ledger import HEAD, write_instance
from hostile.plain import Plain, image_in


@dataclass(frozen=True)
class Place:
    """A runtime with an image of the small project's head."""

    runtime: Any
    image: Image
    instance: Instance | None = None
    snapshot: Snapshot | None = None


@pytest.fixture(scope="session")
def head() -> dict[str, str]:
    """The small project at head: its sum is a difference."""
    return dict(HEAD)


def plain(folder: Path) -> Place:
    image = image_in(folder)
    for path, text in HEAD.items():
        (folder / "tree" / path).write_text(text)
    return Place(runtime=Plain(), image=image)


def runtime_of(name: str, cache: Path, without: Callable[[str, str], NoReturn]) -> Runtime:
    """Return a runtime, or do without it for the reason that there is none."""
    if name == "local":
        from pytest_crab.runtimes import bubblewrap
        from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime

        if reason := bubblewrap.problem():
            without("bubblewrap", reason)
        return BubblewrapRuntime(RuntimeSettings(), cache=cache, slots=2)
    from pytest_crab.runtimes.docker import DockerRuntime

    return DockerRuntime(RuntimeSettings(base_image=docker_base(without)), rootdir=cache, slots=2)


def docker_base(without: Callable[[str, str], NoReturn]) -> str:
    """Return the name of the base image that an engine here has, or do without an engine for the reason."""
    import docker

    from pytest_crab.ecosystems.interpreters import LOCAL_BASE
    from pytest_crab.runtimes.base_images import build_base

    base = LOCAL_BASE.format(python=running_version())
    try:
        client = docker.from_env().api
        if not client.images(name=base):
            build_base(client, running_version())
        client.close()
    except (docker.errors.DockerException, ImageError) as error:
        without("docker", f"no Docker engine with a base image: {error}")
    return base


@pytest.fixture(
    scope="session",
    params=[
        "plain",
        pytest.param("local", marks=pytest.mark.bubblewrap),
        pytest.param("docker", marks=pytest.mark.docker),
    ],
)
def place(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    without: Callable[[str, str], NoReturn],
) -> Iterator[Place]:
    """Each runtime with the small project's head in an image."""
    folder = tmp_path_factory.mktemp("attacks")
    if request.param == "plain":
        yield plain(folder)
        return
    with ExitStack() as stack:
        runtime: Any = runtime_of(request.param, folder / "cache", without)
        stack.callback(runtime.close)
        instance = load_instance(write_instance(folder / "ledger"))
        source = fetcher_for(instance)
        snapshot = source.fetch(instance, folder / "sources")
        try:
            image = runtime.prepare(instance, snapshot, source.identity(instance))
        except ImageError as error:
            without("bubblewrap" if request.param == "local" else "docker", f"no environment can be built: {error}")
        yield Place(runtime=runtime, image=image, instance=instance, snapshot=snapshot)


@pytest.fixture
def confined(place: Place) -> Place:
    """A place whose sandboxes hold; tests that ask for it name such places."""
    assert not isinstance(place.runtime, Plain)
    return place


@pytest.fixture(scope="session")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Doors of the host that answer "ok" to whoever reaches them, a file of it, and a process that holds a secret."""
    from hostile.confined import SECRET, VALUE
    from hostile.doors import opened
    from hostile.kernel import held

    folder = tmp_path_factory.mktemp("doors")
    (folder / "answer").write_text("the answer")
    holder = subprocess.Popen(["sleep", "600"], env={SECRET: VALUE})
    with opened(folder / "socket") as told, held() as kept, pytest.MonkeyPatch.context() as patch:
        patch.setenv(SECRET, VALUE)
        yield {**told, **kept, "file": str(folder / "answer")}
    holder.kill()
    holder.wait()


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Callable[..., None]:
    """``measured(name, **facts)``: what was seen of an attack, for the table that table.py makes of a run."""
    return lambda name, **facts: request.node.user_properties.append(("attack", {"name": name, **facts}))


@pytest.fixture
def base_image(without: Callable[[str, str], NoReturn]) -> str:
    """The base image of instances, which is built if this machine's engine has none."""
    return docker_base(without)
