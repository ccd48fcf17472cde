"""Where the attacks are played: each runtime, and the harness without any sandbox."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import NoReturn

import pytest

from pytest_crab.errors import ImageError
from pytest_crab.protocols import Image
from pytest_crab.protocols import Runtime
from pytest_crab.protocols import Snapshot
from pytest_crab.runtimes.interpreters import running_version
from pytest_crab.sources import source_for
from pytest_crab.types import Category
from pytest_crab.types import Comment
from pytest_crab.types import Environment
from pytest_crab.types import Instance
from pytest_crab.types import Kind
from pytest_crab.types import Oracle
from pytest_crab.types import Provenance
from pytest_crab.types import PullRequestFacts
from pytest_crab.types import Source
from pytest_crab.types import TreeSource

# Tests are no package, so what several files of this folder share is found by its folder.
sys.path.insert(0, str(Path(__file__).parent))

from hostile.plain import Plain
from hostile.plain import image_in


@dataclass(frozen=True)
class Place:
    """A runtime with an image of the small project's head."""

    runtime: Any
    image: Image
    instance: Instance | None = None
    snapshot: Snapshot | None = None


HEAD = {
    "ledger.py": "def add(a, b):\n    return a - b\n",
    "test_other.py": "def test_other():\n    assert True\n",
    "setup.cfg": "[metadata]\nname = ledger\n",
    "setup.py": "print('installed')\n",
}


@pytest.fixture(scope="session")
def head() -> dict[str, str]:
    """The small project at head: its sum is a difference."""
    return dict(HEAD)


def plain(folder: Path) -> Place:
    image = image_in(folder)
    for path, text in HEAD.items():
        (folder / "tree" / path).write_text(text)
    return Place(runtime=Plain(), image=image)


def instance_of(folder: Path) -> Instance:
    diffs = {
        "head.diff": "--- a/setup.py\n+++ b/setup.py\n@@ -1 +1 @@\n-print('installing')\n+print('installed')\n",
        "reference.diff": "--- a/ledger.py\n+++ b/ledger.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n"
        "-    return a - b\n+    return a + b\n",
    }
    base = {**HEAD, "setup.py": "print('installing')\n"}
    for path, text in {**{f"tree/{name}": text for name, text in base.items()}, **diffs}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    comment = Comment(
        id="c0", path="ledger.py", lines=(2, 2), body="The sum is a difference.", category=Category.FUNCTIONAL,
        kind=Kind.BEHAVIORAL, oracle=Oracle(file="oracles/test_c0.py"),
    )  # fmt: skip
    return Instance(
        id=folder.name, folder=str(folder), provenance=Provenance.AUTHORED, repo="owner/ledger", license="MIT",
        pull_request=PullRequestFacts(number=1, title="Ledger"),
        source=Source(tree=TreeSource(path="tree", head="head.diff", reference="reference.diff")),
        environment=Environment(dockerfile="python", python=running_version(), install=("python setup.py",)), comments=(comment,),  # noqa: E501 - code in a text
    )  # fmt: skip


def runtime_of(name: str, cache: Path, without: Callable[[str, str], NoReturn]) -> Runtime:
    """Return a runtime, or do without it for the reason that there is none."""
    if name == "local":
        from pytest_crab.runtimes import bubblewrap
        from pytest_crab.runtimes.local import LocalRuntime

        if reason := bubblewrap.problem():
            without("bubblewrap", reason)
        return LocalRuntime(cache=cache, slots=2)
    import docker

    from pytest_crab.runtimes.base import LOCAL_BASE
    from pytest_crab.runtimes.base import build_base
    from pytest_crab.runtimes.docker import DockerRuntime

    base = LOCAL_BASE.format(python=running_version())
    try:
        client = docker.APIClient(version="auto")
        if not client.images(name=base):
            build_base(client, running_version())
        client.close()
    except (docker.errors.DockerException, ImageError) as error:
        without("docker", f"no Docker engine with a base image: {error}")
    return DockerRuntime(rootdir=cache, base=base, slots=2)


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
        instance = instance_of(folder / "instance")
        source = source_for(instance)
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
    from hostile.confined import SECRET
    from hostile.confined import VALUE
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
