"""What bubblewrap does not take away: the calls to the kernel's keys, which a sandbox shares with who started it."""

from __future__ import annotations

import errno
import functools
import platform
import struct
from collections.abc import Mapping
from collections.abc import Sequence

#: The numbers of add_key, request_key and keyctl, by the kernel's name of an architecture.
_X86_64, _I386, _ARM64, _ARM = 0xC000003E, 0x40000003, 0xC00000B7, 0x40000028
_KEYS: Mapping[int, Sequence[int]] = {
    # The second three are those of x32, which goes by the same name.
    _X86_64: (248, 249, 250, *(0x40000000 + number for number in (248, 249, 250))),
    _I386: (286, 287, 288),
    _ARM64: (217, 218, 219),
    _ARM: (309, 310, 311),
}
_MACHINES = {"x86_64": (_X86_64, _I386), "aarch64": (_ARM64, _ARM)}
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM


@functools.lru_cache(maxsize=1)
def filters() -> tuple[bytes, ...]:
    """Return the seccomp filters for this machine: one that refuses the kernel's keys; none where it is not known."""
    known = _MACHINES.get(platform.machine())
    return () if known is None else (_program({name: _KEYS[name] for name in known}),)


def _program(refused: Mapping[int, Sequence[int]]) -> bytes:
    """Return a filter that refuses these numbers of these architectures with EPERM, and allows everything else."""
    lines = [(_LOAD, 0, 0, _ARCHITECTURE)]
    for architecture, numbers in refused.items():
        lines.append((_EQUAL, 0, len(numbers) + 3, architecture))
        lines.append((_LOAD, 0, 0, _NUMBER))
        lines += [(_EQUAL, len(numbers) - at, 0, number) for at, number in enumerate(numbers)]
        lines += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    lines.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in lines)
