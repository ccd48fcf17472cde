"""Finding a CPython of a given version on this machine."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from pytest_crab import pyenv

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
    def program(self) -> Path:
        """The program of the installation itself, where ``binary`` may be that of a virtual environment."""
        own = self.prefix / "bin" / f"python{self.version}"
        return own if own.exists() else self.binary


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
    on_path = shutil.which(f"python{version}")
    return [*([on_path] if on_path else []), *pyenv.programs(version)]
