"""A seccomp filter beside bubblewrap: it refuses calls to the kernel's keys, and new user namespaces.

Keys have no namespace, so a sandbox shares them with who started it. In a user namespace a process has every
capability, and with them it could mount its own control group and lift the limits of the sandbox.
"""

from __future__ import annotations

import errno
import functools
import platform
import struct
from collections.abc import Mapping
from dataclasses import dataclass

_NEW_USER = 0x10000000  # CLONE_NEWUSER
_X32 = 0x40000000


@dataclass(frozen=True, slots=True)
class _Calls:
    """The numbers of one architecture's system calls."""

    #: Those of add_key, request_key and keyctl.
    keys: tuple[int, ...]
    #: Those of clone and unshare.
    makers: tuple[int, ...]


#: By the kernel's name of an architecture; the second halves of the first are those of x32, which goes by that name.
_X86_64, _I386, _ARM64, _ARM = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028
_CALLS: Mapping[int, _Calls] = {
    _X86_64: _Calls((248, 249, 250, _X32 + 248, _X32 + 249, _X32 + 250), (56, 272, _X32 + 56, _X32 + 272)),
    _I386: _Calls((286, 287, 288), (120, 310)),
    _ARM64: _Calls((217, 218, 219), (220, 97)),
    _ARM: _Calls((309, 310, 311), (120, 337)),
}
#: clone3 has its flags in memory, where no filter looks; libraries use clone where clone3 seems to be missing.
_CLONE3 = (435, _X32 + 435)
_MACHINES = {"x86_64": (_X86_64, _I386), "aarch64": (_ARM64, _ARM)}
_LOAD, _EQUAL, _HAS, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _REFUSE, _ABSENT = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS


@functools.lru_cache(maxsize=1)
def filters() -> tuple[bytes, ...]:
    """Return the seccomp filter for this machine; none where its calls are not known."""
    known = _MACHINES.get(platform.machine())
    return () if known is None else (_program({name: _CALLS[name] for name in known}),)


def _program(architectures: Mapping[int, _Calls]) -> bytes:
    """Return a filter that refuses these calls of these architectures and allows everything else."""
    lines = [(_LOAD, 0, 0, _ARCHITECTURE)]
    for name, calls in architectures.items():
        part = _part(calls)
        lines += [(_EQUAL, 0, len(part), name), *part]
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)


def _part(calls: _Calls) -> list[tuple[int, int, int, int]]:
    """The filter's lines for one architecture; each jump is as many lines as there are up to one of the last."""
    tail = [
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_HAS, 1, 0, _NEW_USER),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ABSENT),
    ]
    wanted = [(calls.makers, 1), (calls.keys, 4), (_CLONE3, 5)]
    jumps = [(number, place) for numbers, place in wanted for number in numbers]
    checks = [(_EQUAL, len(jumps) - at - 1 + place, 0, number) for at, (number, place) in enumerate(jumps)]
    return [(_LOAD, 0, 0, _NUMBER), *checks, *tail]
