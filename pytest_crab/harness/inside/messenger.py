"""The messenger: has the channel to the host and its key, starts the supervisor, and sends on what that says.

The supervisor, of which the processes that run the project are forked, has neither; it starts as a new program.
"""

import _signal as signal
import ctypes
import os
import sys

_DEATH_SIGNAL = 1


def become(program):
    """Start the interpreter again with an environment of our own, since only then the seed of its hashes holds."""
    env = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"}
    env.update((name, os.environ[name]) for name in ("LD_LIBRARY_PATH",) if name in os.environ)
    os.execve(sys.executable, [sys.executable, "-s", "-S", "-c", program], env)  # noqa: S606


def start(program, out):
    """Start the supervisor; it ends when this process does."""
    pid = os.fork()
    if pid:
        return pid
    try:
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
        os.dup2(out, 1)
        become(program)
    finally:
        os._exit(70)


def main(channel):
    """Send each line of the supervisor as a message, and the last one if it came to its own end; the exit code."""
    told, out = os.pipe()
    pid = start(sys.argv[1], out)
    os.close(out)
    rest = b""
    while True:
        data = os.read(told, 1 << 16)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            channel.send(line)
    status = os.waitpid(pid, 0)[1]
    if status:
        return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    channel.end()
    return 0
