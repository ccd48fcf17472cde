"""An instance's environment section for every runtime: version, pins, and what decides what it is."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from packaging.utils import canonicalize_name

from pytest_crab import ecosystems
from pytest_crab.ecosystems import ecosystem_of, interpreters
from pytest_crab.protocols import OWN_PLACES, Image, Limits
from pytest_crab.serialization import digest, dump
from pytest_crab.types import Environment

#: Where several commands of one sandbox meet; every user may write there.
SOCKET_FOLDER = OWN_PLACES["socket_folder"]
#: The same where the sandbox has a network namespace of its own: a name in it, which no file system knows.
SOCKET_NAME = "@crab"
#: The variables of a contestant's commands, which may set them otherwise: Python leaves no bytecode in the tree.
WORKSPACE_ENV = {"PYTHONDONTWRITEBYTECODE": "1"}
#: What a build fills beside the tree, where its tools have such.
CACHES = f"{OWN_PLACES['trees']}/caches"
#: What is temporary inside a sandbox, and its users' home.
TMP = OWN_PLACES["tmp"]
#: The name of the machine that a sandbox is, and its file of hosts; localhost is one address in all of them.
HOSTNAME = "sandbox"
HOSTS = f"127.0.0.1 localhost {HOSTNAME}\n::1 ip6-localhost ip6-loopback\n"
#: The most that is kept of what a command prints, per stream.
OUTPUT_CAP = 64 * 2**20

#: pytest and what it needs.
PYTEST_ALONE = {
    "pytest",
    "pluggy",
    "iniconfig",
    "packaging",
    "pygments",
    "exceptiongroup",
    "tomli",
    "typing-extensions",
}
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def packages_of(environment: Environment) -> tuple[str, ...]:
    """The pinned packages; pytest, as it runs here, is added where the environment does not name it and is Python's."""
    names = {project_name(package) for package in environment.packages}
    if "pytest" in names or environment.image is not None or ecosystem_of(environment).tools is not None:
        return tuple(environment.packages)
    return (*environment.packages, f"pytest=={importlib.metadata.version('pytest')}")


def pins_nothing(environment: Environment) -> bool:
    """Return whether the environment asks for no package but pytest and its dependencies, and for no install."""
    return not environment.commands and {project_name(package) for package in environment.packages} <= PYTEST_ALONE


def project_name(requirement: str) -> str:
    """The normalised project name that a requirement begins with."""
    match = _REQUIREMENT.match(requirement)
    return canonicalize_name(match.group(1)) if match else ""


def builds_in_isolation(environment: Environment) -> bool:
    """Return whether an environment of a moment has install commands that may fetch what they build with."""
    fetching = (command for command in environment.install if "--no-build-isolation" not in command)
    return environment.resolved is not None and ecosystem_of(environment).tools is None and any(fetching)


def environment_identity(environment: Environment, source: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The part of a runtime's identity that is the same for all runtimes; ``limits`` are those of oracles."""
    resolved = {"resolved": environment.resolved} if environment.resolved is not None else {}
    ecosystem = ecosystem_of(environment)
    own: dict[str, Any] = {}
    if ecosystem.tools is not None:
        own = {ecosystem.name: ecosystem.version(environment), "script": ecosystem.tools.build_script(environment)}
    builds = {"builds": "resolved"} if builds_in_isolation(environment) else {}
    return {
        **resolved,
        **own,
        **builds,
        **({} if environment.build is None else {"build": list(environment.build)}),
        ecosystems.DEFAULT.name: interpreters.version_of(environment),
        "packages": list(packages_of(environment)),
        "system": list(environment.system),
        "install": list(environment.install),
        "env": dict(environment.env),
        "workdir": environment.workdir,
        "source": dump(source),
        "limits": dump(limits),
    }


def image_env(image: Image, path: str) -> dict[str, str]:
    """Return the variables that an image gives to each command; ``path`` is what PATH is without its tools."""
    tools = image.facts["tools"].values()
    folders = [str(PurePosixPath(tool["program"]).parent) for tool in tools]
    return {"PATH": ":".join([*folders, path]), **image.facts["env"]}


def variables_of(environment: Environment, tools: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the variables of an environment with those of its tools, whose plain data an image's facts hold."""
    return {name: value for tool in tools.values() for name, value in tool["env"].items()} | dict(environment.env)


def image_key(identity: Mapping[str, Any]) -> str:
    """The digest that names an environment: an identity without what only decides how it is run."""
    return digest({name: value for name, value in identity.items() if name != "limits"})
