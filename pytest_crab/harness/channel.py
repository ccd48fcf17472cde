"""The host's end of an authenticated channel out of a sandbox: what is read is what was sent, or is not whole.

A program in a sandbox shares its user, and often its first process, with code of the project, which may write into its
output, read from it or end it. So each message carries its number and is authenticated by a key that only the program
has; see inside/channel.py.
"""

from __future__ import annotations

import hmac
import secrets
import struct
from dataclasses import dataclass
from hashlib import blake2b

from pytest_crab.harness.inside.channel import HEADER, KEY, MAC
from pytest_crab.program_texts import program_text

#: Bytes of one message at most; what says that it is longer is not of the program.
MOST = 64 << 20

SOURCE = program_text("pytest_crab.harness", "inside/channel")
_PROGRAM = """\
import sys
space = {"__name__": "crab_channel"}
exec(compile(%r, "<crab channel>", "exec"), space)
channel = space["open_channel"]()
script = {"__name__": "crab_script"}
exec(compile(%r, "<crab script>", "exec"), script)
sys.exit(script["main"](channel))
"""


def new_key() -> bytes:
    """Return a key for one command; it goes ahead of the command's input, and nowhere else."""
    return secrets.token_bytes(KEY)


def program(script: str) -> str:
    """Return what ``python -I -S -c`` is given to run ``main(channel)`` of a script; its result is the exit code."""
    return _PROGRAM % (SOURCE, script)


class Reader:
    """Reads a channel as its bytes come in; ``foreign`` and ``ended`` say whether messages are genuine and complete."""

    def __init__(self, key: bytes) -> None:
        self.foreign = False
        self.ended = False
        self._key = key
        self._number = 0
        self._data = bytearray()

    @property
    def whole(self) -> bool:
        """Return whether the last message has come, and nothing but messages."""
        return self.ended and not self.foreign

    def feed(self, data: bytes) -> list[bytes]:
        """Take in some bytes; the messages that are complete now. Nothing counts once something foreign was read."""
        self._data += data
        found = []
        while (message := self._next()) is not None:
            found.append(message)
        return found

    def _next(self) -> bytes | None:
        """Take the next message out of what is there; None where it is not complete, or is none."""
        self.foreign = self.foreign or (self.ended and bool(self._data))
        if self.foreign or len(self._data) < HEADER.size:
            return None
        length, last = HEADER.unpack_from(self._data)
        end = HEADER.size + length + MAC
        if length > MOST or last > 1:
            self.foreign = True
            return None
        if len(self._data) < end:
            return None
        content, mac = bytes(self._data[: end - MAC]), bytes(self._data[end - MAC : end])
        made = blake2b(struct.pack(">Q", self._number) + content, key=self._key, digest_size=MAC).digest()
        if not hmac.compare_digest(made, mac):
            self.foreign = True
            return None
        del self._data[:end]
        self._number += 1
        self.ended = bool(last)
        return content[HEADER.size :]


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """All that came over a channel."""

    messages: tuple[bytes, ...]
    whole: bool
    #: Whether foreign bytes came between or after the messages.
    foreign: bool


def read_messages(key: bytes, printed: bytes) -> Received:
    """Read all that a command printed."""
    reader = Reader(key)
    messages = tuple(reader.feed(printed))
    return Received(messages=messages, whole=reader.whole, foreign=reader.foreign)
