"""The part that many environments have alike: made once on a machine, then copied.

It is a virtual environment with nothing but the interpreter's own installers, or what a tool compiles for any project.
``python -m venv`` spends some five seconds of processor on pip each time; a copy of what it makes takes a tenth of one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from pytest_crab import serialization
from pytest_crab.runtimes.run_lock import remove_folder
from pytest_crab.runtimes.slots import one_builder
from pytest_crab.scratch import machine_folder

#: In a seed: how many files it has. A folder for temporary files may lose some of them to whoever cleans it.
_COUNT = "files"


def place(program: Path, version: str, made_by: Sequence[str]) -> Path:
    """Return the folder of the seed that a program makes by these words; another one once it was installed anew.

    Its path is the same for all who share it, by whatever link: an environment's files say where it lies.
    """
    installed = program.stat().st_mtime_ns
    key = serialization.digest([str(program), version, installed, list(made_by)])
    return (machine_folder() / "seeds").resolve() / key[:32]


def plant(seed: Path, folder: Path, check: Callable[[], None], make: Callable[[], None]) -> None:
    """Fill an empty folder with a virtual environment, as ``copy`` does; it is made to be one of that folder."""
    copy(seed, folder, check, make)
    for file in (folder / "pyvenv.cfg", *(folder / "bin").iterdir()):
        if not file.is_symlink():
            file.write_bytes(file.read_bytes().replace(os.fsencode(seed), os.fsencode(folder)))


def copy(seed: Path, folder: Path, check: Callable[[], None], make: Callable[[], None]) -> None:
    """Fill an empty folder with a copy of ``seed``, which ``make`` makes where it is missing.

    What ``make`` and ``check`` (asked while another process makes it) raise is raised.
    """
    with one_builder(f"seed-{seed.name}", check):
        if not _is_whole(seed):
            remove_folder(seed)
            seed.mkdir(parents=True)
            make()
            (seed / _COUNT).write_text(str(_count_files(seed)))
        shutil.copytree(seed, folder, symlinks=True, dirs_exist_ok=True, ignore=lambda _in, names: {_COUNT} & {*names})


def _is_whole(seed: Path) -> bool:
    try:
        return int((seed / _COUNT).read_text()) == _count_files(seed) - 1
    except (OSError, ValueError):
        return False


def _count_files(folder: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(folder))
