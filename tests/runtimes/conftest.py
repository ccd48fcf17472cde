"""A small project, its instances and both runtimes for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pytest_crab.ecosystems.interpreters import LOCAL_BASE, running_version
from pytest_crab.errors import ImageError
from pytest_crab.protocols import Command, Completed, Image, Limits, Runtime, Snapshot
from pytest_crab.runtimes import RuntimeSettings, bubblewrap
from pytest_crab.sources import fetcher_for
from pytest_crab.types import Environment, Instance, PullRequestFacts

PYTHON = running_version()
#: Small enough to be reached in no time.
LIMITS = Limits(memory=128, processes=24, cpus=1.0, disk=16, file=8)

PYPROJECT = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "demo-crab"
version = "1.0"
[project.scripts]
demo = "demo:main"
[tool.setuptools]
py-modules = ["demo"]
"""
HEAD = "--- a/demo.py\n+++ b/demo.py\n@@ -1 +1 @@\n-VALUE = 1\n+VALUE = 2\n"
REFERENCE = "--- a/demo.py\n+++ b/demo.py\n@@ -1 +1 @@\n-VALUE = 2\n+VALUE = 3\n"


@dataclass(frozen=True)
class Place:
    """A runtime with an instance that it has prepared."""

    runtime: Runtime
    instance: Instance
    snapshot: Snapshot
    image: Image

    def run(self, *argv: str, seconds: float = 20, limits: Limits = LIMITS, **rest: Any) -> Completed:
        """Run one command in a fresh sandbox."""
        (done,) = self.runtime.execute(self.image, [Command(argv=argv, **rest)], limits=limits, seconds=seconds)
        return done

    def python(self, code: str, seconds: float = 20, limits: Limits = LIMITS, **rest: Any) -> Completed:
        """Run Python code in a fresh sandbox."""
        return self.run(self.image.interpreter, "-I", "-c", code, seconds=seconds, limits=limits, **rest)


@pytest.fixture(scope="session")
def instance(
    tmp_path_factory: pytest.TempPathFactory, tree_instance: Callable[..., Instance], tree_comment: Callable[..., Any]
) -> Instance:
    """An instance that pins nothing and installs nothing."""
    folder = tmp_path_factory.mktemp("instances") / "demo"
    files = {
        "tree/demo.py": "VALUE = 1\n",
        "tree/pyproject.toml": PYPROJECT,
        "head.diff": HEAD,
        "reference.diff": REFERENCE,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return tree_instance(
        folder,
        "demo",
        tree_comment("c0", "demo.py", lines=(1, 1), body="3"),
        repo="owner/demo",
        pull_request=PullRequestFacts(number=1, title="Two"),
        environment=Environment(dockerfile="python", python=PYTHON, env={"DEMO": "yes"}),
    )


@pytest.fixture(scope="session")
def installed(instance: Instance) -> Instance:
    """The same with its project installed, which needs a package index."""
    install = ("pip install --no-build-isolation --no-deps -e .", "echo left > left.txt")
    environment = replace(instance.environment, packages=("setuptools==75.8.0",), install=install)
    return replace(instance, id="demo-installed", environment=environment)


@pytest.fixture(scope="session")
def base(without: Callable[[str, str], NoReturn]) -> str:
    """The local base image; built if there is none."""
    import docker

    from pytest_crab.runtimes.base_images import build_base

    client = docker.from_env().api
    tag = LOCAL_BASE.format(python=PYTHON)
    try:
        if not client.images(name=tag):
            build_base(client, PYTHON)
    except ImageError as error:
        without("docker", f"no base image: {error}")
    finally:
        client.close()
    return tag


@pytest.fixture(scope="session")
def make(
    request: pytest.FixtureRequest,
    shared_folder: Path,
    without: Callable[[str, str], NoReturn],
) -> Iterator[Callable[[str], Runtime]]:
    """Makes runtimes by name, or skips with the reason that there is none; workers build environments once."""
    made: list[Any] = []
    cache = shared_folder / "runtimes-cache"
    cache.mkdir(exist_ok=True)

    def make(name: str) -> Runtime:
        if name == "docker":
            from pytest_crab.runtimes.docker import DockerRuntime

            base = request.getfixturevalue("base")
            made.append(DockerRuntime(RuntimeSettings(base_image=base), rootdir=cache, slots=64))
        else:
            from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime
            from pytest_crab.runtimes.subprocess_runtime import SubprocessRuntime

            reason = bubblewrap.problem()
            if reason and name == "local":
                without("bubblewrap", reason)
            made.append(
                (SubprocessRuntime if name == "unconfined" else BubblewrapRuntime)(
                    RuntimeSettings(), cache=cache, slots=64
                )
            )
        runtime: Runtime = made[-1]
        return runtime

    yield make
    for runtime in made:
        runtime.close()


BOTH = [pytest.param("docker", marks=pytest.mark.docker), "local"]


@pytest.fixture(scope="session")
def prepared(
    make: Callable[[str], Runtime],
    tmp_path_factory: pytest.TempPathFactory,
    without: Callable[[str, str], NoReturn],
) -> Callable[[str, Instance], Place]:
    """Prepares an instance in a runtime, once per session; skips where packages cannot be reached."""
    places: dict[tuple[str, str], Place] = {}
    cache = tmp_path_factory.mktemp("sources")

    def prepare(name: str, instance: Instance) -> Place:
        if (name, instance.id) not in places:
            source = fetcher_for(instance)
            snapshot = source.fetch(instance, cache)
            runtime = make(name)
            try:
                image = runtime.prepare(instance, snapshot, source.identity(instance))
            except ImageError as error:
                if "packages" not in str(error):
                    raise
                without("index", f"packages cannot be reached: {error}")
            places[name, instance.id] = Place(runtime, instance, snapshot, image)
        return places[name, instance.id]

    return prepare


@pytest.fixture(params=BOTH)
def place(request: pytest.FixtureRequest, prepared: Callable[[str, Instance], Place], instance: Instance) -> Place:
    """Each runtime with the plain instance."""
    return prepared(request.param, instance)


@pytest.fixture(params=BOTH)
def installed_place(
    request: pytest.FixtureRequest, prepared: Callable[[str, Instance], Place], installed: Instance
) -> Place:
    """Each runtime with the instance that installs its project."""
    return prepared(request.param, installed)


@pytest.fixture
def fresh(place: Place, make: Callable[[str], Runtime]) -> Place:
    """A runtime of its own, which a test may stop."""
    return replace(place, runtime=make(place.runtime.name))
