"""Packages as they were at a moment: the uv program, and the arguments that keep it from taking anything newer."""

from __future__ import annotations

import shutil
from pathlib import Path

from pytest_crab.ecosystems import pyenv
from pytest_crab.errors import ImageError

#: The first setuptools and wheel that build under uv; before that moment these two are taken as of it.
_BUILDERS = "2020-02-01T00:00:00Z"

#: The day after the first pytest that oracles can be run by, 3.2; before it this one is taken, with the py it needs.
_RUNNER = "2017-08-02T00:00:00Z"

#: Packages whose releases were all taken away and uploaded again, and a moment after that: before it none is there, and
#: what needs them (pytest 3.6 to 5.3 needs atomicwrites) would be passed over for an older release.
_UPLOADED_AGAIN = {"atomicwrites": "2022-07-10T00:00:00Z"}

#: uv reads no file of the machine's, fetches no interpreter and keeps nothing.
_ENV = {"UV_NO_CONFIG": "1", "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "UV_LINK_MODE": "copy"}


def program() -> Path:
    """Return the path of uv. Raises ImageError if it is not installed."""
    try:
        from uv import find_uv_bin

        return Path(find_uv_bin())
    except (ImportError, FileNotFoundError):
        found = shutil.which("uv")
    if found is None:
        raise ImageError(
            "packages as of a moment are installed by uv; install pytest-crab with its extra [environments]",
            of_machine=True,
        )
    return pyenv.behind_shim(Path(found), "/") or Path(found)  # in a sandbox, a shim finds no pyenv


def compiling(interpreter: str, version: str) -> tuple[str, ...]:
    """Return the arguments that make uv pin the requirements on its input for CPython X.Y, by an interpreter."""
    return ("pip", "compile", "-", "--no-header", "--no-annotate", "--python", interpreter, "--python-version", version)


def arguments(moment: str) -> list[str]:
    """Return the arguments that make uv choose as it would have at this moment (a timestamp in UTC), file by file."""
    later = {"setuptools": _BUILDERS, "wheel": _BUILDERS, "pytest": _RUNNER, "py": _RUNNER, **_UPLOADED_AGAIN}
    own = [f"{name}={least}" for name, least in later.items() if moment < least]
    return ["--exclude-newer", moment, *(part for one in own for part in ("--exclude-newer-package", one))]


def variables(route: dict[str, str]) -> dict[str, str]:
    """The environment of uv, given that of pip."""
    index = {"UV_DEFAULT_INDEX": route["PIP_INDEX_URL"]} if "PIP_INDEX_URL" in route else {}
    return {**route, **_ENV, **index}
