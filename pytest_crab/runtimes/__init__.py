"""The runtimes, by name, and how one is chosen."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from pytest_crab.ecosystems import interpreters
from pytest_crab.errors import EngineError
from pytest_crab.protocols import CLIENT_LIMITS, ORACLE_LIMITS, Limits, Runtime
from pytest_crab.runtimes.engine_address import NO_ANSWER, may_answer
from pytest_crab.runtimes.open_files import raise_limit

#: "module:Class" by name; imported when chosen. Without a sandbox "local" is ``UNCONFINED``.
RUNTIMES = {
    "docker": "pytest_crab.runtimes.docker:DockerRuntime",
    "local": "pytest_crab.runtimes.bubblewrap_runtime:BubblewrapRuntime",
}

UNCONFINED = "pytest_crab.runtimes.subprocess_runtime:SubprocessRuntime"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSettings:
    """The settings of the place where a run's code runs; they go whole from the options to runtimes and workers.

    A field that an option names alike is that option's value.
    """

    #: The name of the runtime, or auto.
    runtime: str = "auto"
    #: Why it is this one, in a few words for the header.
    why: str = ""
    #: The image on which environments are built; ``{python}`` in it is X.Y.
    base_image: str = interpreters.PUBLIC_BASE
    #: Whether any code may run without a sandbox; None: a command asks, which has no option to allow it.
    allow_unconfined: bool | None = None
    #: What an oracle's sandbox may use.
    oracle_limits: Limits = ORACLE_LIMITS
    #: What the sandbox of a reviewer or an agent, or of a revised install, may use.
    client_limits: Limits = CLIENT_LIMITS
    #: Whether an environment that is removed leaves its caches to the next one of its repository.
    hands_on_caches: bool = False

    def use(self, runtime: str) -> str:
        """Return what a sentence says to have another runtime, with the option of a run or that of a command."""
        return f"use --{'crab-' if self.allow_unconfined is not None else ''}runtime={runtime}"


def choose(settings: RuntimeSettings, *, version: str | None = None) -> RuntimeSettings:
    """Return the settings with a runtime: for ``auto`` docker if an engine answers and has a base image, else local.

    Any other name stays. ``version`` is the X.Y whose base is looked for (the running one); a registry is asked for one
    when no base image is here. Raises EngineError if docker was named and no engine answers, and where this process may
    not open the files that a run needs.
    """
    raise_limit()
    if settings.runtime not in ("auto", "docker"):
        return replace(settings, why="named")
    if settings.runtime == "auto" and not may_answer():  # the engine's client takes long to import
        return replace(settings, runtime="local", why=NO_ANSWER)
    from pytest_crab.runtimes import docker_status

    status = docker_status.look(settings.base_image, version)
    if settings.runtime == "docker":
        if status.version is None:
            raise EngineError(f"no Docker engine answers ({status.problem}): start one, or {settings.use('local')}")
        return replace(settings, why=f"named{status.warning}")
    lack = docker_status.lack(status)
    if lack is not None:
        return replace(settings, runtime="local", why=lack)
    return replace(settings, runtime="docker", why=f"the engine answers and has a base image{status.warning}")


def prefer_most_interpreters(settings: RuntimeSettings, versions: Iterable[str]) -> RuntimeSettings:
    """Return the local runtime in place of docker where it can make environments of more of these CPythons X.Y."""
    from pytest_crab.runtimes import bubblewrap

    wanted = [*versions]
    if settings.runtime != "docker" or not wanted or bubblewrap.problem() is not None:
        return settings
    engine = make(settings, rootdir=Path.cwd(), cache=Path())
    try:
        with_base = {version for version in wanted if engine.has_interpreter(version)}
    finally:
        engine.close()
    here = {version for version in wanted if interpreters.find(version) is not None}
    if len(here) <= len(with_base):
        return settings
    lacking = ", ".join(version for version in wanted if version in here - with_base)
    why = f"docker has no base image of CPython {lacking}, which this machine has"
    return replace(settings, runtime="local", why=why)


def make(settings: RuntimeSettings, *, rootdir: Path, cache: Path, unconfined: bool = False) -> Runtime:
    """Return the runtime that is named; ``unconfined``: there is no sandbox on this host.

    Raises EngineError for a name that is not in the table.
    """
    name = settings.runtime
    if name not in RUNTIMES:
        raise EngineError(f"{name!r} is no runtime; use one of {', '.join(sorted(RUNTIMES))}")
    chosen = UNCONFINED if unconfined and name == "local" else RUNTIMES[name]
    module, _, cls = chosen.partition(":")
    place: dict[str, Any] = {"rootdir": rootdir} if name == "docker" else {"cache": cache}
    return cast("Runtime", getattr(importlib.import_module(module), cls)(settings, **place))
