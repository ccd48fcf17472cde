"""The sandbox's end of an authenticated channel: messages that a process without the key cannot make, alter or move.

The key is the first thing on the standard input, and nothing of the project runs before it is read. It stays in this
process, which no other of its user can look into; so this process never runs code of the project, and a child of it
starts another program before it does. It works from CPython 3.6 up; see harness/channel.py for the host's end.
"""

import _signal as signal  # signal itself makes its numbers names, which takes as long as half of all else here
import fcntl
import os
import struct
import sys

try:
    from _blake2 import blake2b  # hashlib would load OpenSSL first, which takes longer than all else here
except ImportError:
    from hashlib import blake2b

KEY = MAC = 32
#: How long a message is, and whether it is the last.
HEADER = struct.Struct(">IB")
_GET_DUMPABLE, _SET_DUMPABLE = 3, 4


def frame(key, number, payload, *, last=False):
    """Return the bytes of one message; ``number`` counts a channel's messages from 0."""
    content = HEADER.pack(len(payload), last) + payload
    return content + blake2b(struct.pack(">Q", number) + content, key=key, digest_size=MAC).digest()


def open_channel():
    """Return the channel on the standard output, once this process is closed to all others; ends it where it is not."""
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    if prctl(_SET_DUMPABLE, 0, 0, 0, 0) or prctl(_GET_DUMPABLE, 0, 0, 0, 0):
        sys.exit("this system does not let a process keep its memory from others, so no result could be believed")
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first process of a sandbox gets what it has a handler for
    key = b""
    while len(key) < KEY:
        more = os.read(0, KEY - len(key))
        if not more:
            sys.exit("the input ended before the key did")
        key += more
    out = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 64)
    os.dup2(2, 1)
    return Channel(key, out)


class Channel(object):
    """One way out of the sandbox; what is printed in any other way goes to the standard error output."""

    def __init__(self, key, out):
        self._key, self._out, self._number = key, out, 0

    def send(self, payload, *, last=False):
        """Send one message of at most 64 MiB."""
        data = memoryview(frame(self._key, self._number, payload, last=last))
        self._number += 1
        while data:
            data = data[os.write(self._out, data) :]

    def end(self, payload=b""):
        """Send the last message; without one the host takes nothing for whole."""
        self.send(payload, last=True)
