"""The interpreters of what runs here and in sandboxes: a CPython of this machine, and one in a base image."""

from __future__ import annotations

import datetime
import functools
import json
import platform
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab.ecosystems import pyenv
from pytest_crab.types import Environment

#: When X.Y.0 came out; a newer one than these is never chosen by date.
RELEASED = {
    "3.6": datetime.date(2016, 12, 23),
    "3.7": datetime.date(2018, 6, 27),
    "3.8": datetime.date(2019, 10, 14),
    "3.9": datetime.date(2020, 10, 5),
    "3.10": datetime.date(2021, 10, 4),
    "3.11": datetime.date(2022, 10, 24),
    "3.12": datetime.date(2023, 10, 2),
    "3.13": datetime.date(2024, 10, 7),
    "3.14": datetime.date(2025, 10, 7),
}

#: The public base image, and the name of one that was built here; ``{python}`` is X.Y.
PUBLIC_BASE = "python:{python}-slim"
LOCAL_BASE = "pytest-crab-base:{python}"
#: The names by which programs call an interpreter of any version.
ALIASES = ("python3", "python")
ANY = ALIASES[-1]
#: The option of commands that chooses an interpreter, and what stands for its version in the name of a base image.
OPTION, HOLE = "--python", "{python}"
#: The packages of Debian that a base image is made of, and what gives the interpreter its other name in a root.
DEBIAN_PACKAGES = "python3,python3-venv,python3-pip,git,ca-certificates"
DEBIAN_ALIAS = 'ln -sf python3 "$1/usr/bin/python"'
#: Where Debian's and Fedora's ensurepip takes pip from, below /.
WHEELS = "usr/share/python-wheels"
#: Runs a program with one argument under the interpreter of an image, by a shell.
FIND = """\
for python in /opt/crab/venv/bin/python "$(command -v python3)" "$(command -v python)"; do
    [ -x "$python" ] && exec "$python" -I -c "$0" "$1"
done
echo there is neither python3 nor python >&2
exit 1
"""

_FACTS = """\
import json, sys, sysconfig
print(json.dumps({
    "version": "%d.%d" % sys.version_info[:2],
    "full": sys.version.split()[0],
    "prefix": getattr(sys, "base_prefix", sys.prefix),
    "stdlib": sysconfig.get_path("stdlib"),
    "binary": sys.executable,
    "platform": sysconfig.get_platform(),
}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A CPython on this machine."""

    #: X.Y.
    version: str
    #: X.Y.Z.
    full: str
    #: The folder of its own installation.
    prefix: Path
    #: The standard library of this installation.
    stdlib: Path
    binary: Path
    platform: str

    @property
    def name(self) -> str:
        """The name of its program, and of the folder of its library."""
        return name_of(self.version)

    @property
    def program(self) -> Path:
        """The program of the installation itself, where ``binary`` may be that of a virtual environment."""
        own = self.prefix / "bin" / self.name
        return own if own.exists() else self.binary


def name_of(version: str) -> str:
    """The name of the program of a CPython X.Y."""
    return f"python{version}"


def version_of(environment: Environment) -> str:
    """The X.Y of an environment's interpreter; the running one's where it does not say."""
    return environment.python or running_version()


def environment_of(version: str | None, **more: Any) -> Environment:
    """Return an environment with an interpreter X.Y; None: the project's manifest, or the running one, decides."""
    return Environment(dockerfile="python", python=version, **more)


def running_release() -> str:
    """The release of the interpreter that runs this."""
    return platform.python_version()


def bases(base: str, version: str) -> list[str]:
    """The names of the image that environments of CPython X.Y are built on, given that of the public one."""
    return list(dict.fromkeys(each.format(python=version) for each in (base, LOCAL_BASE)))


def base_option(version: str) -> str:
    """The option of ``doctor --build-base`` for a base image of CPython X.Y."""
    return f"{OPTION} {version}"


def running_version() -> str:
    """The X.Y of the interpreter that runs this."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


@functools.lru_cache(maxsize=32)
def find(version: str) -> Interpreter | None:
    """A CPython X.Y: the running one if it is that, else the first on PATH, else pyenv's; None if there is none."""
    if version == running_version() and sys.executable:
        return _running()
    for candidate in _candidates(version):
        found = inspect(candidate)
        if found is not None and found.version == version:
            return found
    return None


def _running() -> Interpreter:
    """The facts of the running interpreter, which no process need be started for."""
    return Interpreter(
        version=running_version(),
        full=sys.version.split()[0],
        prefix=Path(sys.base_prefix),
        stdlib=Path(sysconfig.get_path("stdlib")),
        binary=Path(sys.executable),
        platform=sysconfig.get_platform(),
    )


def inspect(binary: str) -> Interpreter | None:
    """Return an interpreter's facts by running it; None if it does not run."""
    try:
        answer = subprocess.run([binary, "-I", "-S", "-c", _FACTS], capture_output=True, timeout=30, check=True)
        said = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return Interpreter(
        version=said["version"],
        full=said["full"],
        prefix=Path(said["prefix"]),
        stdlib=Path(said["stdlib"]),
        binary=Path(said["binary"]),
        platform=said["platform"],
    )


def _candidates(version: str) -> list[str]:
    on_path = shutil.which(name_of(version))
    return [*([on_path] if on_path else []), *pyenv.programs(version)]
