"""The sources of oracles, which nothing of the project may change while it is built and runs; CPython 3.6 up.

Where the sandbox lets the supervisor mount, each file is mounted on itself to be read only, and each folder above it on
itself, since a mount can be neither moved nor removed. Elsewhere the kernel tells what was done to them (inotify), and
a run that did anything says so among what it altered.
"""

import ctypes
import os
import struct

_NEW_MOUNTS = 0x20000  # CLONE_NEWNS
_READ_ONLY, _REMOUNT, _BIND, _PRIVATE_ALL, _DETACH = 1, 32, 4096, 0x44000, 2
#: What a mount may have that a further one has to keep: no files of other users' rights, devices or programs.
_KEPT = 2 | 4 | 8
#: Content changed; attributes, with the number of names; closed after it was open for writing.
_WRITTEN = 0x2 | 0x4 | 0x8
#: Removed, and moved, itself.
_GONE = 0x400 | 0x800
_EVENT = struct.Struct("iIII")


class Guard:
    """The files that the project may not change, until they are released."""

    def __init__(self, contained, tops):
        self.library = ctypes.CDLL(None, use_errno=True)
        self.tops = tops  # each is a mount of its own, where there is a sandbox
        self.mounts = contained and self.may_mount()
        self.blind = not contained and not hasattr(self.library, "inotify_init1")  # a kernel other than Linux
        self.kept = []
        self.written = set()

    def may_mount(self):
        """Take a view of the file system that is this process's and its children's own; False where that is refused."""
        try:
            self.call("unshare", _NEW_MOUNTS)
            self.call("mount", None, b"/", None, _PRIVATE_ALL, None)
        except (OSError, AttributeError):
            return False
        return True

    def call(self, name, *arguments):
        """Call a function of the C library. Raises OSError."""
        result = getattr(self.library, name)(*arguments)
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, "an oracle's files cannot be guarded: %s: %s" % (name, os.strerror(number)))
        return result

    def keep(self, files, label=None):
        """Guard files below the tops, and their places; ``label`` is what they are called. Raises OSError.

        No process of the project may live.
        """
        if self.blind:
            return
        above = {folder for file in files for folder in self.above(file)}
        group = {"files": files, "mounts": [], "watch": None, "labels": {}}
        self.kept.append(group)
        for place in sorted(above) + sorted(files):  # a folder comes before what is in it
            if self.mounts:
                self.mount(group, place, read_only=place in files)
            else:
                told = "written:" + (label or os.path.relpath(place, self.top(place)))
                self.watch(group, place, told, _GONE | _WRITTEN if place in files else _GONE)

    def top(self, path):
        """Return the innermost of the tops that a path lies in."""
        return max((top for top in self.tops if path.startswith(top + os.sep)), key=len)

    def above(self, file):
        """Yield the folders that a file lies in, below its top."""
        top, folder = self.top(file), os.path.dirname(file)
        while folder != top:
            yield folder
            folder = os.path.dirname(folder)

    def mount(self, group, place, *, read_only):
        """Mount a file or folder on itself."""
        path = os.fsencode(place)
        self.call("mount", path, path, None, _BIND, None)
        group["mounts"].append(path)
        if read_only:
            flags = _REMOUNT | _BIND | _READ_ONLY | os.statvfs(place).f_flag & _KEPT
            self.call("mount", None, path, None, flags, None)

    def watch(self, group, place, label, mask):
        """Let the kernel tell what is done to a file or folder."""
        if group["watch"] is None:
            group["watch"] = self.call("inotify_init1", os.O_NONBLOCK | os.O_CLOEXEC)
        group["labels"][self.call("inotify_add_watch", group["watch"], os.fsencode(place), mask)] = label

    def release(self, folder=""):
        """Let files in a folder be changed again; those in every one if none is named. No process may live of a run."""
        for group in [each for each in self.kept if any(file.startswith(folder) for file in each["files"])]:
            self.kept.remove(group)
            for path in reversed(group["mounts"]):
                self.call("umount2", path, _DETACH)
            if group["watch"] is not None:
                self.written |= changed(group["watch"], group["labels"])
                os.close(group["watch"])

    def told(self, result):
        """Release everything; return the result of a run with what was written in it."""
        self.release()
        written, self.written = self.written, set()
        return dict(result, altered=sorted(written.union(result["altered"]))) if "altered" in result else result


def changed(watch, labels):
    """Return what is told of an open watch: the labels of what was changed."""
    found = set()
    while True:
        try:
            data = os.read(watch, 1 << 16)
        except BlockingIOError:
            return found
        start = 0
        while start < len(data):
            number, _, _, length = _EVENT.unpack_from(data, start)
            start += _EVENT.size + length
            found |= {labels[number]} if number in labels else set(labels.values())  # -1: the kernel lost count
