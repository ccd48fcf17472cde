"""Files inside a sandbox: restoring the tree, applying changes and removing what is left; works from CPython 3.6 up."""

import base64
import os
import stat
import subprocess
import zlib

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def copy(pristine, workdir):
    """Make the work folder a copy of the pristine tree. Raises OSError."""
    empty(workdir)
    copy_entries(pristine, ["."], workdir)


def copy_entries(source, names, folder):
    """Copy files and folders into a folder as they are, times included. Raises OSError."""
    argv = ["cp", "-a", "--"] + [os.path.join(source, name) for name in names] + [folder]
    null = subprocess.DEVNULL
    copied = subprocess.run(argv, stdin=null, stdout=null, stderr=subprocess.PIPE, check=False)
    if copied.returncode:
        raise OSError("the tree was not copied: " + copied.stderr.decode("utf-8", "replace")[-200:])


def put_back(pristine, workdir, place):
    """Make a file or folder of a work folder that of the pristine tree again, times included. Raises OSError."""
    target = os.path.join(workdir, place)
    if os.path.lexists(target):
        remove(target)
    if os.path.lexists(os.path.join(pristine, place)) and os.path.isdir(os.path.dirname(target)):
        copy_entries(pristine, [place], os.path.dirname(target))


def mend(pristine, workdir, place, since):
    """Make what was changed in a place since a time, in nanoseconds, that of the pristine tree again. Raises OSError.

    It goes by the time of an inode's last change, which nobody can set. A folder in which a name was made, removed or
    moved, or which was moved itself, is put back whole: what lies in a folder that moves keeps its time.
    """
    places = [place]
    while places:
        place = places.pop()
        was, now = os.path.join(pristine, place), os.path.join(workdir, place)
        if is_folder(was) and is_folder(now) and os.lstat(now).st_ctime_ns < since:
            left, there = set(os.listdir(was)), set(os.listdir(now))
            for name in left ^ there:
                put_back(pristine, workdir, os.path.join(place, name))
            places += [os.path.join(place, name) for name in left & there]
        elif not os.path.lexists(now) or is_folder(was) or os.lstat(now).st_ctime_ns >= since:
            put_back(pristine, workdir, place)


def is_folder(path):
    """Return whether there is a folder at a path, and no link to one."""
    return os.path.isdir(path) and not os.path.islink(path)


def change(workdir, changes, compiled=None):
    """Turn a copy of the pristine tree into one of its states. Raises OSError, ValueError.

    Whatever differs from what was built is written now, so its time is later than that of all that was built; all else
    has the time that it had when it was built.

    Changes of compiled modules are left out: Python takes them before the source or without asking whether they are
    what it says, and what is reviewed is the source. ``compiled`` are those that an install of that source made.
    """
    apply(workdir, [change for change in changes if not is_compiled(change[0])])
    for path, text in sorted((compiled or {}).items()):
        try:
            apply(workdir, [[path, "100755", text]], decode=unpack)
        except (
            ValueError,
            FileExistsError,
            NotADirectoryError,
        ):  # the folder that it was made in is none of the tree's
            continue


def overlay(folder, installed):
    """Write what an install made among packages into a folder that comes before them. Raises OSError, ValueError."""
    texts, modules = installed.get("metadata", {}), installed.get("modules", {})
    apply(folder, [[path, "100644", text] for path, text in texts.items()], decode=str.encode)
    apply(folder, [[path, "100755", text] for path, text in modules.items()], decode=unpack)


def unpack(text):
    """Return the bytes of a packed file."""
    return zlib.decompress(base64.b64decode(text))


def is_compiled(path):
    """Return True if Python would load the file without reading any source."""
    return path.lower().endswith((".pyc", ".pyo", ".so", ".pyd"))


def apply(root, changes, *, decode=base64.b64decode):
    """Change files below ``root``: removals first; never outside it, through a symbolic link or in .git.

    ``decode`` makes bytes of the text that a change has for a file's content.
    """
    for path, mode, content in sorted(changes, key=lambda change: (change[2] is not None, change[0])):
        parts = path.split("/")
        if any(part in ("", ".", "..") or part.lower() == ".git" or "\0" in part for part in parts):
            raise ValueError("a change names the path %r" % path)
        if content is not None and mode not in ("100644", "100755", "120000"):
            raise ValueError("a change of %r has the mode %r" % (path, mode))
        where = root
        for part in parts[:-1]:
            where = os.path.join(where, part)
            if os.path.islink(where):
                raise ValueError("a change of %r leads through a symbolic link" % path)
            if content is not None and not os.path.isdir(where):
                os.mkdir(where)
        target = os.path.join(root, *parts)
        if os.path.lexists(target):
            remove(target)
        if content is None:
            prune(where, root)
        else:
            write(target, mode, decode(content))


def write(target, mode, content):
    """Write one new file or symbolic link."""
    if mode == "120000":
        os.symlink(os.fsdecode(content), target)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(target, flags, int(mode[3:], 8)), "wb") as file:
        file.write(content)


def prune(folder, root):
    """Remove the folders that a removal left empty, as git does."""
    while folder != root and os.path.isdir(folder) and not os.listdir(folder):
        os.rmdir(folder)
        folder = os.path.dirname(folder)


def remove(path):
    """Remove a file or folder whatever its permissions say and however deep it is. Raises OSError.

    It neither recurses nor names a path from the top, since either ends some thousand folders down.
    """
    if not is_folder(path):
        os.unlink(path)
        return
    open_up(path)
    here = os.open(path, FOLDER)
    above = []  # of each folder on the way down: its name, and those beside it that are still there
    try:
        folders = remove_files(here)
        while folders or above:
            if folders:
                name = folders.pop()
                above.append((name, folders))
                open_up(name, here)
                here = exchange(here, name)
                folders = remove_files(here)
            else:
                here = exchange(here, "..")
                name, folders = above.pop()
                os.rmdir(name, dir_fd=here)
    finally:
        os.close(here)
    os.rmdir(path)


def remove_files(folder):
    """Remove everything in an open folder but folders; their names."""
    folders = []
    for name in os.listdir(folder):
        try:
            os.unlink(name, dir_fd=folder)
        except (IsADirectoryError, PermissionError):
            if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise
            folders.append(name)
    return folders


def exchange(folder, name):
    """Open a folder from another one that is closed then."""
    found = os.open(name, FOLDER, dir_fd=folder)
    os.close(folder)
    return found


def open_up(path, folder=None):
    """Let a folder be read and changed, if it is this user's."""
    try:
        os.chmod(path, stat.S_IRWXU, dir_fd=folder)
    except PermissionError:  # it may be open already; if it is not, what comes next says so
        return


def empty(folder):
    """Remove everything below a folder, which itself may be a mount point."""
    os.chmod(folder, stat.S_IMODE(os.stat(folder).st_mode) | stat.S_IRWXU)
    for name in os.listdir(folder):
        remove(os.path.join(folder, name))
