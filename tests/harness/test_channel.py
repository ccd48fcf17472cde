"""The authenticated channel: what is read is what was sent, whatever else is written, taken away or moved."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_crab.harness import channel

KEY = bytes(range(32))


def message(number: int, text: bytes, *, last: bool = False, key: bytes = KEY) -> bytes:
    """One message as the format says, made by the standard library."""
    content = struct.pack(">IB", len(text), last) + text
    return content + hashlib.blake2b(struct.pack(">Q", number) + content, key=key, digest_size=32).digest()


FIRST, SECOND, LAST = message(0, b"a"), message(1, b"b" * 300), message(2, b"", last=True)


def test_what_was_sent_is_read_and_is_whole() -> None:
    read = channel.read_messages(KEY, FIRST + SECOND + LAST)
    assert read == channel.Received(messages=(b"a", b"b" * 300, b""), whole=True, foreign=False)


@pytest.mark.parametrize("step", [1, 7, 40])
def test_it_is_read_in_pieces(step: int) -> None:
    reader, data, found = channel.Reader(KEY), FIRST + SECOND + LAST, []
    for at in range(0, len(data), step):
        assert not reader.whole
        found += reader.feed(data[at : at + step])
    assert (found, reader.whole) == ([b"a", b"b" * 300, b""], True)


FOREIGN: Mapping[str, tuple[bytes, int]] = {
    "a line before": (b'{"x": \n' + FIRST + SECOND + LAST, 0),
    "an open line between": (FIRST + b'{"x": ' + SECOND + LAST, 1),
    "a byte behind": (FIRST + SECOND + LAST + b"\n", 3),
    "a message twice": (FIRST + FIRST + SECOND + LAST, 1),
    "messages in another order": (SECOND + FIRST + LAST, 0),
    "a message left out": (FIRST + LAST, 1),
    "a message of another key": (FIRST + message(1, b"b", key=bytes(32)), 1),
    "a message that says it is the last": (FIRST + SECOND[:4] + b"\1" + SECOND[5:] + LAST, 1),
    "a length of all that is there": (FIRST + struct.pack(">IB", 300, 0) + SECOND, 1),
}


@pytest.mark.parametrize(("printed", "count"), FOREIGN.values(), ids=FOREIGN)
def test_what_is_not_the_next_message_is_foreign_and_nothing_behind_it_counts(printed: bytes, count: int) -> None:
    read = channel.read_messages(KEY, printed)
    assert (read.whole, read.foreign) == (False, True)
    assert read.messages == (b"a", b"b" * 300, b"")[:count]


@pytest.mark.parametrize("cut", [1, len(LAST), len(LAST) + 1])
def test_what_breaks_off_is_not_whole_and_not_foreign(cut: int) -> None:
    read = channel.read_messages(KEY, (FIRST + SECOND + LAST)[:-cut])
    assert (read.whole, read.foreign) == (False, False)


#: Sends what the input is, prints beside it, and tells what another process of the same user can open of it.
SCRIPT = """
import os, subprocess, sys
LOOK = "import sys\\nfor name in sys.argv[2:]:\\n    try: open('/proc/%s/%s' % (sys.argv[1], name), 'rb')\\n    except OSError: continue\\n    print(name)"
def main(channel):
    print("printed by the program")
    channel.send(sys.stdin.read().encode())
    look = [sys.executable, "-S", "-c", LOOK, str(os.getpid()), "mem", "environ", "maps", "fd/64", "fd/1"]
    channel.send(subprocess.check_output(look, stdin=subprocess.DEVNULL))
    channel.send(subprocess.check_output([sys.executable, "-S", "-c", "import os; print(sorted(os.listdir('/proc/self/fd')))"]))
    channel.end(str(os.getpid()).encode())
    return 3
"""  # noqa: E501 - code in a text


def play(python: str) -> tuple[channel.Received, subprocess.CompletedProcess[bytes]]:
    key = channel.new_key()
    argv = [python, "-I", "-S", "-c", channel.program(SCRIPT)]
    done = subprocess.run(argv, input=key + b"the input", capture_output=True, check=False)
    return channel.read_messages(key, done.stdout), done


def test_a_program_sends_and_no_other_process_can_look_into_it() -> None:
    read, done = play(sys.executable)
    assert (read.whole, done.returncode) == (True, 3), done.stderr
    given, seen, inherited, _ = read.messages
    assert given == b"the input"
    if not may_look_anywhere():
        assert seen == b""
    assert json.loads(inherited.replace(b"'", b'"')) == ["0", "1", "2", "3"]
    assert b"printed by the program" in done.stderr


def may_look_anywhere() -> bool:
    """Whether the kernel lets this user look into every process, as root of the machine may."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    (effective,) = (line.split()[1] for line in lines if line.startswith("CapEff:"))
    return bool(int(effective, 16) & 1 << 19)


def test_it_works_on_other_interpreters(interpreter: SimpleNamespace) -> None:
    read, done = play(interpreter.python)
    assert read.whole, done.stderr


def test_a_program_that_is_given_no_key_says_so() -> None:
    argv = [sys.executable, "-I", "-S", "-c", channel.program(SCRIPT)]
    done = subprocess.run(argv, input=b"short", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"key" in done.stderr


def test_keys_are_not_used_twice() -> None:
    make: Callable[[], bytes] = channel.new_key
    assert len({make() for _ in range(9)}) == 9
