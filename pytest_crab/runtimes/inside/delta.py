"""Print as a tar what differs between two trees, given as arguments; .git at the top is left out.

Member ``d/<path>`` says that the path is gone, ``f/<path>`` carries the file or link as it is now.
"""

# ruff: noqa: PTH114, PTH115, PTH118, PTH123
# Few imports, for a fast start; annotations are quoted, since the oldest interpreters cannot evaluate them.
import io
import os
import stat
import sys
import tarfile
from collections.abc import Iterable
from collections.abc import Iterator
from typing import BinaryIO


def entries(root: "str") -> "Iterator[tuple[str, os.stat_result]]":
    """Yield every file and link below a folder, relative to it, with its status."""
    for folder, names, files in os.walk(root):
        if folder == root and ".git" in names:
            names.remove(".git")
        links = [name for name in names if os.path.islink(os.path.join(folder, name))]
        for name in files + links:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                yield os.path.relpath(path, root), status


def content(path: "str", status: "os.stat_result") -> "bytes":
    """Return what a file or link holds."""
    if stat.S_ISLNK(status.st_mode):
        return os.fsencode(os.readlink(path))
    with open(path, "rb") as handle:
        return handle.read()


def kind(status: "os.stat_result") -> "str":
    """Return what git would record as the mode."""
    if stat.S_ISLNK(status.st_mode):
        return "link"
    return "run" if status.st_mode & 0o100 else "file"


def delta(before: "str", after: "str") -> "Iterator[tuple[str, str | None, bytes]]":
    """Yield (path, kind, content) for every difference; kind is None where the path is gone."""
    old = dict(entries(before))
    new = dict(entries(after))
    for path in sorted(set(old) - set(new)):
        yield path, None, b""
    for path in sorted(new):
        now = content(os.path.join(after, path), new[path])
        known = old.get(path)
        if known is None or kind(known) != kind(new[path]) or content(os.path.join(before, path), known) != now:
            yield path, kind(new[path]), now


def write(stream: "BinaryIO", differences: "Iterable[tuple[str, str | None, bytes]]") -> "None":
    """Write differences as a tar."""
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        for path, what, now in differences:
            member = tarfile.TarInfo(("d/" if what is None else "f/") + path)
            if what == "link":
                member.type = tarfile.SYMTYPE
                member.linkname = os.fsdecode(now)
                tar.addfile(member)
            else:
                member.mode = 0o755 if what == "run" else 0o644
                member.size = len(now)
                tar.addfile(member, io.BytesIO(now))


if __name__ == "__main__":
    write(sys.stdout.buffer, delta(sys.argv[1], sys.argv[2]))
