"""Tell what differs between two trees, given as arguments with the most bytes that it may come to.

The standard input says what is left out beside .git (see Leftovers), as a JSON object of its arguments. A message of
the channel is a line of JSON, the path and its kind, and the content. The kind is null where the path is gone, and
``left`` where its content would be too much. The last message is empty, or says why there is no telling.
"""

# ruff: noqa: PTH115, PTH118, PTH208
# Few imports, for a fast start; annotations are quoted, since the oldest interpreters cannot evaluate them.
import errno
import json
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

MOST_DEPTH = 100
MOST_NEW_FILES = 100000
#: Bytes: what a file counts beside its content.
WEIGHT = 1024
_CHUNK = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


#: What this machine is to blame for, and not the tree.
_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}


class Refused(Exception):
    """A tree that cannot be told as a revision, and why."""


class Leftovers:
    """The paths that are left out: those in which ``expression`` is found, and folders that hold one of ``marks``.

    ``tracked`` are paths that are never left out, nor are the folders that they lie in.
    """

    def __init__(self, expression: "str", marks: "Sequence[str]", tracked: "Iterable[str]") -> "None":
        self.found = re.compile(expression).search
        self.marks = set(marks)
        self.tracked = set(tracked)
        self.parents = {path[:cut] for path in self.tracked for cut, letter in enumerate(path) if letter == "/"}

    def name(self, path: "str") -> "bool":
        """Return whether a file or folder is left out by its name."""
        return path not in self.tracked and path not in self.parents and self.found(path) is not None

    def mark(self, path: "str", names: "Iterable[str]") -> "bool":
        """Return whether a folder is left out for one of the names in it."""
        return path not in self.parents and not self.marks.isdisjoint(names)


def entries(root: "str", leftovers: "Leftovers") -> "Iterator[tuple[int, str, str, str, int]]":
    """Yield every file and link below a folder: the open folder that holds it, its name, path, kind and size.

    Folders are opened from within the one above, so that no link is followed, whatever runs meanwhile.
    """
    above = []
    try:
        here = os.open(root, _FOLDER)
        above.append((here, "", iter(os.listdir(here))))
        while above:
            here, prefix, names = above[-1]
            name = next(names, None)
            if name is None:
                above.pop()
                os.close(here)
                continue
            if name.lower() == ".git" or leftovers.name(prefix + name):
                continue
            status = os.stat(name, dir_fd=here, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                yield here, name, prefix + name, kind(status), status.st_size
            elif stat.S_ISDIR(status.st_mode):
                if len(above) > MOST_DEPTH:
                    raise Refused(f"the folders lie over {MOST_DEPTH} deep in each other")
                here = os.open(name, _FOLDER, dir_fd=here)
                inner = os.listdir(here)
                above.append((here, prefix + name + "/", iter(() if leftovers.mark(prefix + name, inner) else inner)))
    finally:
        for here, _, _ in above:
            os.close(here)


def kind(status: "os.stat_result") -> "str":
    """Return what git would record as the mode."""
    if stat.S_ISLNK(status.st_mode):
        return "link"
    return "run" if status.st_mode & 0o100 else "file"


def open_beneath(root: "str", path: "str") -> "int":
    """Open a file below a folder, following no link."""
    *above, name = path.split("/")
    here = os.open(root, _FOLDER)
    try:
        for part in above:
            below = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        return os.open(name, _FILE, dir_fd=here)
    finally:
        os.close(here)


def same(one: "int", other: "int") -> "bool":
    """Return True if two open files hold the same; both are closed."""
    with os.fdopen(one, "rb") as first, os.fdopen(other, "rb") as second:
        while True:
            part = first.read(_CHUNK)
            if part != second.read(_CHUNK):
                return False
            if not part:
                return True


def content(root: "str", path: "str", what: "str", size: "int") -> "bytes":
    """Return what a file or link holds."""
    if what == "link":
        folder, _, name = path.rpartition("/")
        here = open_beneath(root, folder) if folder else os.open(root, _FOLDER)
        try:
            return os.fsencode(os.readlink(name, dir_fd=here))
        finally:
            os.close(here)
    with os.fdopen(open_beneath(root, path), "rb") as handle:
        found = handle.read(size + 1)
    if len(found) != size:
        raise Refused(path + " changed while it was read")
    return found


def compare(before: "str", after: "str", leftovers: "Leftovers") -> "tuple[list[str], list[tuple[int, str, str]]]":
    """Return the paths that are gone, and the size, path and kind of what is new or another than before."""
    old = {path: (what, size) for _, _, path, what, size in entries(before, leftovers)}
    gone = set(old)
    changed = []
    new = 0
    for here, name, path, what, size in entries(after, leftovers):
        gone.discard(path)
        new += path not in old
        if new > MOST_NEW_FILES:
            raise Refused(f"there are over {MOST_NEW_FILES} new files")
        if old.get(path) == (what, size):
            if what == "link":
                if os.readlink(name, dir_fd=here) == os.readlink(os.path.join(before, path)):
                    continue
            elif same(os.open(name, _FILE, dir_fd=here), open_beneath(before, path)):
                continue
        changed.append((size, path, what))
    return sorted(gone), changed


def delta(
    before: "str", after: "str", most: "int", leftovers: "Leftovers"
) -> "Iterator[tuple[str, str | None, bytes]]":
    """Yield (path, kind, content) for every difference; the largest files are left where all come to over ``most``.

    Raises Refused.
    """
    try:
        gone, changed = compare(before, after, leftovers)
        for path in gone:
            yield path, None, b""
        taken = []
        for size, path, what in sorted(changed):
            most -= size + len(os.fsencode(path)) + WEIGHT
            if most < 0:
                yield path, "left", b""
            else:
                taken.append((path, what, size))
        for path, what, size in sorted(taken):
            yield path, what, content(after, path, what, size)
    except OSError as error:
        if error.errno in _MACHINE:
            raise
        raise Refused(f"{error.filename} cannot be read ({error.strerror})") from None


def main(channel: "Any") -> "int":
    """Send it all, and return the exit code."""
    before, after, most = sys.argv[1:]
    leftovers = Leftovers(**json.loads(sys.stdin.buffer.read().decode()))
    try:
        for path, what, now in delta(before, after, int(most), leftovers):
            channel.send(json.dumps([path, what]).encode() + b"\n" + now)
    except Refused as error:
        channel.end(str(error).encode("utf-8", "replace"))
    else:
        channel.end()
    return 0
