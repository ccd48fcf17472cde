"""The node of this machine, and what its packages are installed with."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pytest_crab.errors import ImageError
from pytest_crab.runtimes.environments import PackageRoute, install_script
from pytest_crab.types import Environment

#: Settings of npm that a build hands on from this machine, under the names that npm itself reads.
_SETTINGS = ("NPM_CONFIG_REGISTRY", "npm_config_registry")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node on this machine: ``version`` is X.Y.Z, ``program`` the file itself."""

    version: str
    program: Path

    @property
    def prefix(self) -> Path:
        """The folder of its installation, which holds npm too."""
        return self.program.parent.parent

    @property
    def binds(self) -> dict[str, str]:
        """Return the host's paths that a sandbox must see beyond the system's own folders, by place inside."""
        if str(self.prefix) in ("/usr", "/usr/local"):
            return {}
        home = Path.home()
        own = self.program.parent.name == "bin" and self.prefix not in (home, *home.parents)
        place = str(self.prefix if own else self.program)
        return {place: place}


@functools.lru_cache(maxsize=1)
def here() -> Node | None:
    """The node that is first on PATH; None if there is none that works."""
    found = shutil.which("node")
    if found is None:
        return None
    try:
        done = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return Node(version=done.stdout.strip().removeprefix("v"), program=Path(os.path.realpath(found)))


def find(wanted: str) -> Node:
    """The node on PATH, if it is of the version wanted, X or X.Y or X.Y.Z. Raises ImageError."""
    node = here()
    if node is None:
        raise ImageError(f"node {wanted} is needed, and there is no node on PATH; install it")
    if node.version != wanted and not node.version.startswith(f"{wanted}."):
        raise ImageError(f"node {wanted} is needed, and the node on PATH is {node.version}; put node {wanted} first")
    return node


def build_script(environment: Environment) -> str:
    """The shell script that puts the pinned packages into the tree's node_modules and runs the install commands.

    The project's own package.json plays no part in the first: what it asks for is for an install command to bring.
    """
    packages = shlex.join(environment.packages)
    pins = (
        'crab=$(mktemp -d)\nnpm install --prefix "$crab" --ignore-scripts --no-audit --no-fund --no-update-notifier '
        f'{packages}\nmkdir -p node_modules\ncp -a "$crab/node_modules/." node_modules/\nrm -rf "$crab"\n'
    )
    return "set -e\n" + (pins if packages else "") + install_script(environment)


def build_arguments(bundle: str) -> dict[str, str]:
    """Return arguments for a build that leaves them in an image's history; ``bundle`` is the path of a CA bundle.

    Raises ImageError where the registry's URL holds a password.
    """
    env = route_env()
    if "@" in urlsplit(env.get("NPM_CONFIG_REGISTRY", "")).netloc:
        raise ImageError(
            "NPM_CONFIG_REGISTRY holds a user or password, which a build would leave in the image's history; "
            "use a registry that asks for none, or the local runtime"
        )
    return env | ({"NODE_EXTRA_CA_CERTS": bundle} if "NODE_EXTRA_CA_CERTS" in env else {})


def route_env() -> dict[str, str]:
    """Return the variables by which npm reaches packages from this machine. Raises ImageError on a bad path."""
    registry = next((os.environ[name] for name in _SETTINGS if os.environ.get(name)), None)
    route = PackageRoute.here()
    env = dict(route.proxies)
    if registry is not None:
        env["NPM_CONFIG_REGISTRY"] = registry
    if route.bundle is not None:
        env["NODE_EXTRA_CA_CERTS"] = str(route.bundle)
    return env
