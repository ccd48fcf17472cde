"""Pin what builds a tree in isolation to an environment's moment, as constraints that pip takes from a file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence

from pytest_crab.ecosystems import interpreters, uv_cli
from pytest_crab.ecosystems.building import PackageRoute
from pytest_crab.errors import ImageError
from pytest_crab.protocols import Snapshot
from pytest_crab.runtimes import build_failures
from pytest_crab.runtimes.environments import builds_in_isolation
from pytest_crab.types import Environment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # what tomllib is where Python has none

_SECONDS = 120
#: What pip builds with where a tree names nothing.
_BUILDERS = ("setuptools", "wheel")
#: A requirement of a version, and nothing that names an address, a file or an option.
_PLAIN = re.compile(r"[A-Za-z0-9][\w.\[\], <>=!~;'\"()*+-]*")


def build_constraints(environment: Environment, snapshot: Snapshot) -> str | None:
    """Return pip's constraints for isolated builds of a tree as of the environment's moment; None where none are made.

    Raises ImageError where uv is missing or reaches no index.
    """
    if not builds_in_isolation(environment):
        return None
    needed = _required(snapshot.read(snapshot.head_tree, "pyproject.toml") or b"")
    try:
        return _compile(environment, (*_BUILDERS, *needed))
    except ImageError:
        if not needed:
            raise
    return _compile(environment, _BUILDERS)  # one has no wheel, and nothing foreign is built here


def _required(manifest: bytes) -> tuple[str, ...]:
    """Return the requirements of a tree's build that name a version alone."""
    try:
        listed = tomllib.loads(manifest.decode("utf-8", "replace")).get("build-system", {}).get("requires", [])
    except (tomllib.TOMLDecodeError, RecursionError, AttributeError):
        return ()
    texts = listed if isinstance(listed, list) else []
    return tuple(text for text in texts if isinstance(text, str) and _PLAIN.fullmatch(text))


def _compile(environment: Environment, requirements: Sequence[str]) -> str:
    """Pin requirements by the metadata of wheels, which runs nothing. Raises ImageError."""
    assert environment.resolved is not None
    argv = [
        *(str(uv_cli.program()), *uv_cli.compiling(sys.executable, interpreters.version_of(environment))),
        *("--no-cache", "--only-binary", ":all:", *uv_cli.arguments(environment.resolved)),
    ]
    index = PackageRoute.here().index
    env = {**os.environ, **uv_cli.variables({"PIP_INDEX_URL": index} if index else {})}
    text = "".join(f"{line}\n" for line in requirements)
    try:
        done = subprocess.run(argv, input=text.encode(), env=env, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise _undated(environment, f"uv took longer than {_SECONDS} s") from None
    if done.returncode != 0:
        raise _undated(environment, build_failures.why(done.stderr.decode("utf-8", "replace")))
    return done.stdout.decode("utf-8", "replace")


def _undated(environment: Environment, why: str) -> ImageError:
    what = f"what builds the tree cannot be chosen as of {environment.resolved}"
    return ImageError(f"{what} ({why}); name it in packages and install with --no-build-isolation", of_machine=True)
