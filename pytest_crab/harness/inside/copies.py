"""The work folder: a copy of the pristine tree, made once and then made the same again by what differs.

Works from CPython 3.6 up. The kernel tells which files were opened and what else was done in a folder of the copy, and
a file that nobody opened is left as it is. A file can be written under another name, which the kernel then tells
instead: so where something was made, moved or changed, or where other names can lie outside the copy, the identity of
each file is looked at too (nobody can set the time of an inode's last change). The identity alone would not do, since
what is written through shared memory changes no time on some file systems. Where this cannot be known, all is copied.
"""

import ctypes
import os
import stat
import struct
import time

OPENED, OVERFLOW, ONLY_FOLDERS, IS_FOLDER = 0x20, 0x4000, 0x01000000, 0x40000000
#: Content or attributes changed; moved from and to; made; removed.
CHANGED = 0x2 | 0x4 | 0x40 | 0x80 | 0x100 | 0x200
EVENT = struct.Struct("iIII")
#: Beyond so many differences all is copied.
MOST = 2000
#: For how many thousandths of a second a file system may give two changes the same time.
TICK = 50


class Copy:
    """The copy in a work folder, which no process of the project uses while it is restored."""

    def __init__(self, tree, pristine, workdir):
        self.tree, self.pristine, self.workdir = tree, pristine, workdir
        self.known = None  # the identities in each folder of the copy; None where they are not known
        self.changed = set()  # what was changed after the copy was restored, before anything ran
        self.root = None
        self.apart = False
        self.watch = None
        self.watched = {}
        self.newest = 0

    def restore(self, changes, compiled):
        """Make the work folder a copy of the pristine tree, times included, and change it. Raises OSError, ValueError.

        See ``tree.change`` on the changes.
        """
        known, self.known = self.known, None
        if known is None or not self.mended(known):
            self.tree.copy(self.pristine, self.workdir)
            known = self.learned()
        if known is not None:
            self.told()  # of what this process did
            known = known if self.settled() else None
        self.tree.change(self.workdir, changes, compiled)
        told = None if known is None else self.told()
        if told is not None:
            self.known, self.changed = known, told[0]

    def at(self, path):
        """Return where a path of the tree is in the work folder."""
        return os.path.join(self.workdir, path)

    # --- what is known of the copy -----------------------------------------------------------------------------------

    def learned(self):
        """Watch the whole copy; the identities in its folders, None where these would not tell what was changed."""
        if self.watch is not None:
            os.close(self.watch)
        self.watch, self.watched, self.newest = None, {}, 0
        try:
            watch = ctypes.CDLL(None).inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, AttributeError):
            return None
        if watch < 0:
            return None
        self.watch, self.root = watch, os.lstat(self.workdir)
        self.apart = is_apart(os.path.realpath(self.workdir), self.root.st_dev)
        known = {}
        return known if self.learn("", known) else None

    def learn(self, top, known):
        """Add the folders at and below one to those that are known; return False where one cannot be."""
        folders = [top]
        while folders:
            folder = folders.pop()
            watched = ctypes.CDLL(None).inotify_add_watch(
                self.watch, os.fsencode(self.at(folder)), OPENED | CHANGED | ONLY_FOLDERS
            )
            if watched < 0:
                return False
            self.watched[watched] = folder
            names = known[folder] = {}
            with os.scandir(self.at(folder)) as entries:
                for entry in entries:
                    now = entry.stat(follow_symlinks=False)
                    linked = stat.S_ISREG(now.st_mode) and now.st_nlink != 1
                    if linked or now.st_dev != self.root.st_dev:
                        return False
                    names[entry.name] = identity(now)
                    self.newest = max(self.newest, now.st_ctime_ns)
                    if stat.S_ISDIR(now.st_mode):
                        folders.append(os.path.join(folder, entry.name))
        return True

    def told(self):
        """Return what was touched since this was last asked and whether anything was changed; None if not all is known.

        What is touched is told by the folder that it lay in when the folder became known, and its name.
        """
        touched, changed, whole = set(), False, True
        while True:
            try:
                data = os.read(self.watch, 1 << 16)
            except BlockingIOError:
                return (touched, changed) if whole else None
            start = 0
            while start < len(data):
                watched, mask, _, length = EVENT.unpack_from(data, start)
                start += EVENT.size + length
                whole = whole and not mask & OVERFLOW
                changed = changed or bool(mask & CHANGED)
                name = os.fsdecode(data[start - length : start].rstrip(b"\0"))
                if name and watched in self.watched and (mask & CHANGED or not mask & IS_FOLDER):
                    touched.add((self.watched[watched], name))

    def settled(self):
        """Wait until whatever changes gets a later time than all that is known; return False if that takes long."""
        mode = stat.S_IMODE(self.root.st_mode)
        for _ in range(TICK):
            os.chmod(self.workdir, mode)
            if os.lstat(self.workdir).st_ctime_ns > self.newest:
                return True
            time.sleep(0.001)
        return False

    # --- what differs ------------------------------------------------------------------------------------------------

    def mended(self, known):
        """Undo what was done to the copy; return False where that is not known or too much, and all is to be copied."""
        try:
            told = self.told()
            if told is None:
                return False
            touched, changed = told
            self.tree.open_up(self.workdir)
            differing, lost = self.differences(known) if changed or not self.apart else ({}, set())
            for folder, name in sorted(touched | self.changed):  # a folder comes before those in it
                was, path = known.get(folder, {}).get(name), os.path.join(folder, name)
                if folder in lost:
                    lost.add(path)
                elif (folder, name) not in differing:
                    now = self.look(path)
                    if now != was or (now is not None and stat.S_ISREG(now[1])):
                        differing[folder, name] = was
                    if was is None or now is None or not same_object(was, now):
                        lost.add(path)
            return len(differing) <= MOST and self.mend(known, differing)
        except OSError:  # whatever a run has made of the folder, copying it anew says whether it can be restored
            return False

    def differences(self, known):
        """Return the entries that are not what they were, and the paths of the copy that are not there any more.

        An entry is (folder, name) to what it was, None for what is new.
        """
        differing, lost = {}, set()
        for folder, names in known.items():  # a folder comes before those in it
            if folder in lost:
                lost.update(os.path.join(folder, name) for name in names)
                continue
            missing = len(names)
            with os.scandir(self.at(folder)) as entries:
                for entry in entries:
                    was = names.get(entry.name)
                    missing -= was is not None
                    now = identity(entry.stat(follow_symlinks=False))
                    if now == was:
                        continue
                    differing[folder, entry.name] = was
                    path = os.path.join(folder, entry.name)
                    if was is not None and same_object(was, now) and stat.S_ISDIR(now[1]):
                        self.tree.open_up(self.at(path))
                    else:
                        lost.add(path)
            if missing:
                for name in set(names).difference(os.listdir(self.at(folder))):
                    differing[folder, name] = names[name]
                    lost.add(os.path.join(folder, name))
        return differing, lost

    def mend(self, known, differing):
        """Give every entry that differs its content, mode and times again; return False where all is to be copied."""
        self.newest = 0
        folders, anew = {""}, {}
        for (folder, name), was in differing.items():
            path = os.path.join(folder, name)
            now = self.look(path)
            same = was is not None and now is not None and same_object(was, now)
            if same and stat.S_ISDIR(now[1]):
                folders.add(path)
                continue
            folders.add(folder)
            if same and is_plain(self.at(path), now):
                rewrite(os.path.join(self.pristine, path), self.at(path), was)
                self.know(known, folder, name)
                continue
            if now is not None:
                self.tree.remove(self.at(path))
            if was is not None:
                anew.setdefault(folder, []).append(name)
        copied = [self.copy_anew(known, folder, names) for folder, names in anew.items()]
        return all(copied) and all(self.reset(known, folder) for folder in folders)

    def copy_anew(self, known, folder, names):
        """Copy entries of a folder that are gone; return False where all is to be copied."""
        self.tree.copy_entries(os.path.join(self.pristine, folder), names, self.at(folder))
        whole = True
        for name in names:
            path = os.path.join(folder, name)
            if path in known:
                for lost in [each for each in known if (each + os.sep).startswith(path + os.sep)]:
                    del known[lost]
            if stat.S_ISDIR(self.know(known, folder, name)[1]):
                whole = self.learn(path, known) and whole
        return whole

    def reset(self, known, folder):
        """Give a folder of the copy its mode and time again; return False where all is to be copied."""
        if attributes(self.at(folder)):
            return False
        above, _, name = folder.rpartition(os.sep)
        mode, changed = known[above][name][1:3] if folder else (self.root.st_mode, self.root.st_mtime_ns)
        os.chmod(self.at(folder), stat.S_IMODE(mode))
        os.utime(self.at(folder), ns=(changed, changed))
        if folder:
            self.know(known, above, name)
        return True

    def look(self, path):
        """Return the identity of what is there now, None where nothing is."""
        try:
            return identity(os.lstat(self.at(path)))
        except FileNotFoundError:
            return None

    def know(self, known, folder, name):
        """Take down the identity of an entry that was restored."""
        now = os.lstat(os.path.join(self.at(folder), name))
        self.newest = max(self.newest, now.st_ctime_ns)
        known[folder][name] = identity(now)
        return known[folder][name]


def is_apart(folder, device):
    """Return True if a folder is the only mount of its file system, so that no file of it has a name elsewhere."""
    number = "%d:%d" % (os.major(device), os.minor(device))
    try:
        with open("/proc/self/mountinfo", "rb") as file:
            mounts = [line.split() for line in file]
    except OSError:
        return False
    return [mount[4] for mount in mounts if mount[2] == number.encode()] == [os.fsencode(folder)]


def identity(now):
    """Return what shows whether a file is still the one that it was, with the content and attributes that it had."""
    return now.st_ino, now.st_mode, now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_nlink, now.st_dev, now.st_uid


def same_object(was, now):
    """Return True if two identities are of the same file or folder, whatever was done to it."""
    return (was[0], was[6], stat.S_IFMT(was[1])) == (now[0], now[6], stat.S_IFMT(now[1]))


def is_plain(path, now):
    """Return True for a file that has no other name and no attributes beyond those of its identity."""
    return stat.S_ISREG(now[1]) and now[5] == 1 and not attributes(path)


def attributes(path):
    """Return the extended attributes and access lists that a user can give."""
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError:  # the file system has none
        return []
    return [name for name in names if not name.startswith("security.")]


def rewrite(source, target, was):
    """Give a file the content of another in place, and the mode and time that it had. Raises OSError."""
    os.chmod(target, stat.S_IRUSR | stat.S_IWUSR)
    with open(source, "rb") as right, open(os.open(target, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC), "r+b") as file:
        while True:
            place, content = file.tell(), right.read(1 << 20)
            if not content:
                break
            if file.read(len(content)) != content:
                file.seek(place)
                file.write(content)
        file.truncate(place)
    os.chmod(target, stat.S_IMODE(was[1]))
    os.utime(target, ns=(was[2], was[2]))
