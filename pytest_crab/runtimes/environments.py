"""An instance's environment section for every runtime: version, pins, install script, route to the packages."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_crab.ecosystems.python.packages import normal_name
from pytest_crab.errors import ImageError
from pytest_crab.protocols import OWN_PLACES, Limits
from pytest_crab.runtimes.interpreters import running_version
from pytest_crab.serialization import digest, dump
from pytest_crab.types import Environment

#: Where several commands of one sandbox meet; every user may write there.
SOCKET_FOLDER = OWN_PLACES["socket_folder"]
#: The same where the sandbox has a network namespace of its own: a name in it, which no file system knows.
SOCKET_NAME = "@crab"
#: The variables of a contestant's commands, which may set them otherwise: Python leaves no bytecode in the tree.
WORKSPACE_ENV = {"PYTHONDONTWRITEBYTECODE": "1"}
#: What is temporary inside a sandbox, and its users' home.
TMP = OWN_PLACES["tmp"]
#: The name of the machine that a sandbox is, and its file of hosts; localhost is one address in all of them.
HOSTNAME = "sandbox"
HOSTS = f"127.0.0.1 localhost {HOSTNAME}\n::1 ip6-localhost ip6-loopback\n"
#: The most that is kept of what a command prints, per stream.
OUTPUT_CAP = 64 * 2**20

#: The variables, in lower case, that say how this machine reaches the internet.
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_CA_VARIABLES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
_PYTEST_ALONE = {
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


def python_of(environment: Environment) -> str:
    """The X.Y that the environment asks for; the running interpreter's where it does not say."""
    return environment.python or running_version()


def packages_of(environment: Environment) -> tuple[str, ...]:
    """The pinned packages; pytest, as it runs here, is added where the environment does not name it and is Python's."""
    names = {project_name(package) for package in environment.packages}
    if "pytest" in names or environment.image is not None or environment.node is not None:
        return tuple(environment.packages)
    return (*environment.packages, f"pytest=={importlib.metadata.version('pytest')}")


def pins_nothing(environment: Environment) -> bool:
    """Return whether the environment asks for no package but pytest and its dependencies, and for no install."""
    return not environment.install and {project_name(package) for package in environment.packages} <= _PYTEST_ALONE


def project_name(requirement: str) -> str:
    """The normalised project name that a requirement begins with."""
    match = _REQUIREMENT.match(requirement)
    return normal_name(match.group(1)) if match else ""


def builds_in_isolation(environment: Environment) -> bool:
    """Return whether an environment of a moment has install commands that may fetch what they build with."""
    fetching = (command for command in environment.install if "--no-build-isolation" not in command)
    return environment.resolved is not None and environment.node is None and any(fetching)


def install_script(environment: Environment, constraints: str | None = None) -> str:
    """The install commands as one shell script, which stops at the first that fails.

    ``constraints`` is the file that keeps isolated builds to the environment's moment.
    """
    variables = dict(environment.env)
    if constraints is not None and environment.resolved is not None:
        dated = {"PIP_CONSTRAINT": constraints, "PIP_BUILD_CONSTRAINT": constraints}  # pip before and since 25.3
        variables = {**dated, "UV_EXCLUDE_NEWER": environment.resolved, **variables}
    exports = [f"export {name}={shlex.quote(value)}" for name, value in sorted(variables.items())]
    return "\n".join(["set -e", *exports, *environment.install]) + "\n"


def environment_identity(environment: Environment, source: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """The part of a runtime's identity that is the same for all runtimes; ``limits`` are those of oracles."""
    resolved = {"resolved": environment.resolved} if environment.resolved is not None else {}
    node = {"node": environment.node} if environment.node is not None else {}
    builds = {"builds": "resolved"} if builds_in_isolation(environment) else {}
    return {
        **resolved,
        **node,
        **builds,
        "python": python_of(environment),
        "packages": list(packages_of(environment)),
        "system": list(environment.system),
        "install": list(environment.install),
        "env": dict(environment.env),
        "workdir": environment.workdir,
        "source": dump(source),
        "limits": dump(limits),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageRoute:
    """The route to packages from here: an index that is not the default, the CA bundle that this machine needs.

    ``proxies`` are the variables that name its proxies, as they are spelled here.
    """

    index: str | None = None
    bundle: Path | None = None
    proxies: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls) -> PackageRoute:
        """Read the environment variables that pip itself reads; nothing is assumed. Raises ImageError on a bad path."""
        named = next((os.environ[name] for name in _CA_VARIABLES if os.environ.get(name)), None)
        bundle = Path(named) if named else None
        if bundle is not None and not bundle.is_file():
            raise ImageError(f"the CA bundle {bundle}, which an environment variable names, is not a file")
        proxies = {name: value for name, value in os.environ.items() if name.lower() in PROXIES and value}
        return cls(index=os.environ.get("PIP_INDEX_URL") or None, bundle=bundle, proxies=proxies)

    def proxies_of_containers(self) -> dict[str, str]:
        """The proxies as a build by an engine reaches them: one on this machine's loopback is out of its reach."""
        return {name: value for name, value in self.proxies.items() if not _on_loopback(name, value)}

    def public_index(self) -> str | None:
        """The index; a URL that holds a password is refused, since it would stay in the image's history."""
        if self.index is not None and "@" in urlsplit(self.index).netloc:
            raise ImageError(
                "PIP_INDEX_URL holds a user or password, which a build would leave in the image's history; "
                "use an index that asks for none, or the local runtime"
            )
        return self.index


def _on_loopback(name: str, value: str) -> bool:
    """Return whether a variable names a proxy at an address that means another machine in each container."""
    if name.lower() == "no_proxy":
        return False
    host = urlsplit(value if "//" in value else f"//{value}").hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def image_key(identity: Mapping[str, Any]) -> str:
    """The digest that names an environment: an identity without what only decides how it is run."""
    return digest({name: value for name, value in identity.items() if name != "limits"})
