"""The runtimes, by name, and how one is chosen."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pytest_crab.errors import EngineError
from pytest_crab.protocols import Runtime
from pytest_crab.runtimes.open_files import raise_limit

#: "module:Class" by name; imported when chosen. Without a sandbox "local" is ``UNCONFINED``.
RUNTIMES = {
    "docker": "pytest_crab.runtimes.docker:DockerRuntime",
    "local": "pytest_crab.runtimes.bubblewrap_runtime:BubblewrapRuntime",
}

UNCONFINED = "pytest_crab.runtimes.subprocess_runtime:SubprocessRuntime"

#: The base image where no setting names one; ``{python}`` is X.Y.
DEFAULT_BASE = "python:{python}-slim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The runtime that a run uses, and why, in a few words for the header."""

    name: str
    reason: str


def choose(name: str, *, base: str = DEFAULT_BASE, python: str | None = None) -> Choice:
    """Return the runtime of a name; ``auto`` is docker if an engine answers and has or can pull the base, else local.

    Any other name stands for itself. ``python`` is the X.Y whose base is looked for (the running one); a registry is
    asked only when no base image is here. Raises EngineError if docker was named and no engine answers, and where this
    process may not open the files that a run needs.
    """
    raise_limit()
    if name == "docker":
        from pytest_crab.runtimes.docker_status import age_of, engine_problem

        problem = engine_problem(base)
        if problem is not None:
            raise EngineError(f"no Docker engine answers ({problem}): start one, or use --crab-runtime=local")
        return Choice(name=name, reason=f"named{age_of(base, python)}")
    if name != "auto":
        return Choice(name=name, reason="named")
    from pytest_crab.runtimes.docker_status import age_of, docker_lacks

    lack = docker_lacks(base, python)
    if lack is None:
        return Choice(name="docker", reason=f"the engine answers and has a base image{age_of(base, python)}")
    return Choice(name="local", reason=lack)


def prefer_most_pythons(choice: Choice, pythons: Iterable[str], base: str = DEFAULT_BASE) -> Choice:
    """Return the local runtime in place of docker where it can make environments of more of these CPythons X.Y."""
    from pytest_crab.runtimes import bubblewrap, interpreters

    wanted = [*pythons]
    if choice.name != "docker" or not wanted or bubblewrap.problem() is not None:
        return choice
    engine = make("docker", rootdir=Path.cwd(), cache=Path(), base=base)
    try:
        with_base = {version for version in wanted if engine.has_python(version)}
    finally:
        engine.close()
    here = {version for version in wanted if interpreters.find(version) is not None}
    if len(here) <= len(with_base):
        return choice
    lacking = ", ".join(version for version in wanted if version in here - with_base)
    return Choice(name="local", reason=f"docker has no base image of Python {lacking}, which this machine has")


def make(
    name: str,
    *,
    rootdir: Path,
    cache: Path,
    base: str = DEFAULT_BASE,
    slots: int | None = None,
    unconfined: bool = False,
) -> Runtime:
    """Return the runtime of this name; ``unconfined``: there is no sandbox on this host.

    Raises EngineError for a name that is not in the table.
    """
    if name not in RUNTIMES:
        raise EngineError(f"{name!r} is no runtime; use one of {', '.join(sorted(RUNTIMES))}")
    chosen = UNCONFINED if unconfined and name == "local" else RUNTIMES[name]
    module, _, cls = chosen.partition(":")
    own: dict[str, Any] = {"rootdir": rootdir, "base": base} if name == "docker" else {"cache": cache}
    return cast("Runtime", getattr(importlib.import_module(module), cls)(slots=slots, **own))
