"""Virtual environments with nothing but the interpreter's own installers: made once on a machine, then copied.

``python -m venv`` spends some five seconds of processor on pip each time; a copy of what it makes takes a tenth of one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from pytest_crab import serialization
from pytest_crab.runtimes.interpreters import Interpreter
from pytest_crab.runtimes.run_lock import remove_folder
from pytest_crab.runtimes.slots import one_builder
from pytest_crab.scratch import machine_folder

#: In a seed: how many files it has. A folder for temporary files may lose some of them to whoever cleans it.
_COUNT = "files"


def place(interpreter: Interpreter) -> Path:
    """Return the folder of an interpreter's seed; another one after the interpreter was installed anew."""
    installed = interpreter.program.stat().st_mtime_ns
    return (
        machine_folder() / "seeds" / serialization.digest([str(interpreter.program), interpreter.full, installed])[:32]
    )


def plant(seed: Path, folder: Path, check: Callable[[], None], make: Callable[[], None]) -> None:
    """Fill an empty folder with a virtual environment: a copy of ``seed``, which ``make`` makes where it is missing.

    What ``make`` and ``check`` (asked while another process makes it) raise is raised.
    """
    with one_builder(f"seed-{seed.name}", check):
        if not _is_whole(seed):
            remove_folder(seed)
            seed.mkdir(parents=True)
            make()
            (seed / _COUNT).write_text(str(_count_files(seed)))
        shutil.copytree(seed, folder, symlinks=True, dirs_exist_ok=True, ignore=lambda _in, names: {_COUNT} & {*names})
    for file in (folder / "pyvenv.cfg", *(folder / "bin").iterdir()):
        if not file.is_symlink():
            file.write_bytes(file.read_bytes().replace(os.fsencode(seed), os.fsencode(folder)))


def _is_whole(seed: Path) -> bool:
    try:
        return int((seed / _COUNT).read_text()) == _count_files(seed) - 1
    except (OSError, ValueError):
        return False


def _count_files(folder: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(folder))
