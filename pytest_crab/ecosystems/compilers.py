"""The C compiler of this machine, for the base images of languages that compile or link by it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from pytest_crab.errors import ImageError

_BINUTILS = ("as", "ld", "ld.bfd", "ar", "ranlib", "nm", "strip", "objcopy")


def copy_c(root: Path) -> list[Path]:
    """Copy GCC's compiler with what it links and includes to the same places below ``root``.

    Return the programs whose libraries it needs. Raises ImageError.
    """
    found = {name: shutil.which(name) for name in ("gcc", *_BINUTILS)}
    if found["gcc"] is None or found["ld"] is None:
        raise ImageError("there is no gcc with a linker on PATH; install it (apt-get install gcc libc6-dev)")
    own = Path(_asked("-print-libgcc-file-name")).resolve().parent
    start = Path(_asked("-print-file-name=crt1.o"))
    if not start.is_absolute():  # the compiler says only the name of what it does not find
        raise ImageError("gcc has no C library to link with; install it (apt-get install libc6-dev)")
    links = start.resolve().parent
    for folder in (own, Path("/usr/include")):
        shutil.copytree(folder, root / folder.relative_to("/"), symlinks=True, dirs_exist_ok=True)
    (root / links.relative_to("/")).mkdir(parents=True, exist_ok=True)
    for file in [*links.glob("*.o"), *_libraries(links)]:
        shutil.copy2(file, root / file.relative_to("/"))
    programs = []
    for name, place in found.items():
        if place is not None:
            shutil.copy2(place, root / "usr/bin" / name)
            programs.append(Path(place))
    (root / "usr/bin/cc").symlink_to("gcc")
    helpers = [own / name for name in ("cc1", "cc1plus", "collect2", "lto-wrapper", "liblto_plugin.so")]
    return [*programs, *filter(Path.is_file, helpers)]


def _libraries(folder: Path) -> list[Path]:
    """Return the libraries that programs link beside their own: scripts, what these name, and parts."""
    names = ("c", "m", "mvec", "pthread", "dl", "rt", "util", "resolv", "c_nonshared", "m-*", "z", "stdc++", "gcc_s")
    return [file for name in names for end in ("so", "so.*", "a") for file in folder.glob(f"lib{name}.{end}")]


def _asked(question: str) -> str:
    return subprocess.run(["gcc", question], capture_output=True, text=True, check=True).stdout.strip()
