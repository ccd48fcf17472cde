"""Processes inside a sandbox: who may look into whom, who descends from whom, what the kernel refused."""

import ctypes
import errno
import os

#: Where the kernel shows shared memory and queues that have names.
SHARED = ("/dev/shm", "/dev/mqueue")  # noqa: S108 - places inside
_SET_DUMPABLE, _SET_CHILD_SUBREAPER, _AMBIENT, _CLEAR_ALL = 4, 36, 47, 4
#: The kernel's number of the third layout of capabilities.
_THIRD = 0x20080522


def set_dumpable(dumpable):
    """Let other processes of the same user read, write, trace and open the files of this one, or not."""
    _prctl(_SET_DUMPABLE, dumpable)


def adopt_orphans():
    """Make this process the parent of whatever its descendants leave."""
    _prctl(_SET_CHILD_SUBREAPER, True)


def keep_rights_here():
    """Let no program that this process starts have the right to mount that its sandbox may have given it."""
    _prctl(_AMBIENT, _CLEAR_ALL)


def drop_rights():
    """Give that right up, for good: new privileges are refused in a sandbox. Raises OSError."""
    header, none = (ctypes.c_uint32 * 2)(_THIRD, 0), (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None).capset(header, none):
        raise OSError("the rights of a run's process could not be given up")


def _prctl(option, value):
    try:
        ctypes.CDLL(None).prctl(option, int(value), 0, 0, 0)
    except (OSError, AttributeError):  # a C library without prctl: less protection, the same results
        return


def prefer_oom_kill():
    """Make this process the first that the kernel ends when memory runs out, so that the supervisor lives to tell.

    A process that is not dumpable may not say so.
    """
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:  # a sandbox may have /proc read-only; then the kernel chooses the largest, which is this one too
        return


def close_all_but(keep):
    """Close every file descriptor above 2 except those to keep."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in keep:
            try:
                os.close(int(name))
            except OSError as error:  # the listing's own descriptor is gone by now
                if error.errno != errno.EBADF:
                    raise


def children(parent):
    """Return the processes whose parent is ``parent``."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(fields[1]) == parent:
                found.append(int(name))
    return found


def remove_shared(tree):
    """Remove what processes of this user left for others in memory: shared memory, queues and semaphores."""
    for folder in SHARED:
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            path = os.path.join(folder, name)
            if os.lstat(path).st_uid == os.getuid():
                tree.remove(path)
    library = ctypes.CDLL(None)
    removers = {"shm": library.shmctl, "msg": library.msgctl, "sem": lambda number, *_: library.semctl(number, 0, 0)}
    for kind, remove in removers.items():
        try:
            with open("/proc/sysvipc/" + kind) as listing:
                numbers = [int(line.split()[1]) for line in listing.readlines()[1:]]
        except OSError:  # a kernel without them
            continue
        for number in numbers:
            remove(number, 0, None)  # 0 is IPC_RMID


def counter(paths, name):
    """Return a counter of the first control group's file that is there, None where there is none."""
    for path in paths or ():
        try:
            with open(path) as file:
                return next((int(line.split()[1]) for line in file if line.split()[:1] == [name]), None)
        except OSError:  # the other version of control groups, or none that is visible here
            continue
    return None
