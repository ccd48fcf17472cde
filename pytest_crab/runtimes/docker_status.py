"""The state of the engine and of base images on this machine, asked cheaply and described in a few words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import docker.errors

from pytest_crab.ecosystems import interpreters
from pytest_crab.ecosystems.toolchain import Tools
from pytest_crab.errors import CrabError, EngineError
from pytest_crab.runtimes.base_images import is_old
from pytest_crab.runtimes.engine import Engine, first_line, inspect_image
from pytest_crab.runtimes.engine_address import NO_ANSWER
from pytest_crab.runtimes.run_lock import RunFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerStatus:
    """An engine and a base image."""

    #: None: no engine answers, for the reason in ``problem``.
    version: str | None
    problem: str | None
    wanted: tuple[str, ...]
    found: str | None
    #: Whether the base image was built here by a version that packed something else.
    old: bool = False

    @property
    def warning(self) -> str:
        """A warning in a few words that the base image is old, as the end of a sentence; empty if it is not."""
        if not self.old:
            return ""
        return f"; warning: {self.found} was made by another version, build it again: pytest-crab doctor --build-base"


def look(base: str, version: str | None = None) -> DockerStatus:
    """Ask the engine for its version and for the base images of CPython X.Y; nothing is pulled."""
    wanted = tuple(interpreters.bases(base, version or interpreters.running_version()))
    engine = Engine(RunFolder(), timeout=10)
    try:
        answer = str(engine.client.version()["Version"])
        images = ((name, inspect_image(engine.client, name)) for name in wanted)
        found, image = next((one for one in images if one[1] is not None), (None, None))
    except (CrabError, docker.errors.DockerException, OSError) as error:
        return DockerStatus(version=None, problem=first_line(error), wanted=wanted, found=None)
    finally:
        engine.close()
    return DockerStatus(
        version=answer, problem=None, wanted=wanted, found=found, old=image is not None and is_old(image)
    )


def tools_bases(tools: Iterable[Tools]) -> dict[str, list[str]]:
    """Return the base images that are here by the name of the tools that they hold. Raises EngineError."""
    engine = Engine(RunFolder(), timeout=10)
    try:
        with engine.calling("listing images") as client:
            tags = sorted(tag for image in client.images() for tag in image.get("RepoTags") or ())
    finally:
        engine.close()
    starts = {
        one.name: tuple(base.partition("{version}")[0] for base in (one.public_base, one.local_base)) for one in tools
    }
    return {name: [tag for tag in tags if tag.startswith(start)] for name, start in starts.items()}


def lack(status: DockerStatus) -> str | None:
    """Return why docker cannot be used, in a few words; None if it can. The wanted base is pulled if none is here."""
    if status.version is None:
        return NO_ANSWER
    if status.found is not None:
        return None
    engine = Engine(RunFolder(), timeout=600)
    try:
        with engine.calling(f"pulling {status.wanted[0]}") as client:
            client.pull(status.wanted[0])
    except EngineError as error:
        return f"no base image is here, and {status.wanted[0]} cannot be pulled ({first_line(error)})"
    finally:
        engine.close()
    return None
