"""The links, the interpreter and the libraries that a program of this machine needs to run elsewhere."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pytest_crab.ecosystems import interpreters

#: Where programs of the system are found; every sandbox sees these folders.
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
#: As many as Linux follows.
_MOST_LINKS = 40
_MOST_PROGRAMS = 20
#: What of a prefix, beside its bin, a program there may load.
_PARTS = ("bin", "lib", "lib64", "libexec", "pyvenv.cfg")
#: Where the kernel takes no long first line or no space in it, installers write a line of shell as the second one.
_EXEC = re.compile(r"""'''exec' ("[^"]+"|'[^']+'|\S+)""")
_HOME = re.compile(r"^home\s*=\s*(.+?)\s*$", re.MULTILINE)

#: Holds links to some of the system's programs, and every sandbox sees it.
_ALTERNATIVES = "/etc/alternatives"


def needed_paths(program: Path) -> list[Path]:
    """The program and its interpreters, each file that their links lead over, and the libraries of their prefixes.

    What lies among the system's programs is left out.
    """
    system = {*map(os.path.realpath, SYSTEM_PATH.split(":")), _ALTERNATIVES}
    needed: dict[Path, None] = {}
    waiting, seen = [program], set[Path]()
    while waiting and len(seen) < _MOST_PROGRAMS:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for link in (*_links(one), one.resolve()):
            if os.path.realpath(link.parent) not in system:
                needed |= dict.fromkeys([link, *_prefix(link)])
            waiting.extend(_bases(link))
        waiting.extend(path for path in (_interpreter(one),) if path is not None)
    return list(needed)


def search_path(program: Path) -> str:
    """PATH for a program: its own folder, that of its interpreter, and the system's."""
    folders = [os.fspath(path.parent) for path in (program, _interpreter(program)) if path is not None]
    return ":".join(dict.fromkeys([*folders, *SYSTEM_PATH.split(":")]))


def _links(program: Path) -> list[Path]:
    links = [program]
    while links[-1].is_symlink() and len(links) < _MOST_LINKS:
        links.append(Path(os.path.normpath(links[-1].parent / links[-1].readlink())))
    return links


def _prefix(link: Path) -> Iterator[Path]:
    prefix = link.parent.parent
    if link.parent.name == "bin" and prefix != Path("/"):
        yield from (path for path in (prefix / name for name in _PARTS) if path.exists())


def _bases(link: Path) -> Iterator[Path]:
    """The interpreter that the virtual environment around a program was made of."""
    try:
        text = (link.parent.parent / "pyvenv.cfg").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return
    for home in _HOME.findall(text):
        yield from (path for path in (Path(home, name) for name in interpreters.ALIASES) if path.exists())


def _interpreter(program: Path) -> Path | None:
    """The interpreter that a script names in its first lines; None for another file and for a name that is nowhere."""
    with suppress(OSError, ValueError), program.open("rb") as file:
        first, second = (os.fsdecode(file.readline(4096)) for _ in range(2))
        if not first.startswith("#!"):
            return None
        words = shlex.split(first.removeprefix("#!"))
        wrapped = _EXEC.match(second)
        if wrapped is not None:
            words = shlex.split(wrapped[1])
        if words and Path(words[0]).name == "env":
            words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        found = shutil.which(words[0]) if words else None
        return None if found is None else Path(os.path.abspath(found))  # noqa: PTH100 - links must stay
    return None
