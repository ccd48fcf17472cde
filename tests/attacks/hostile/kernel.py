"""What the kernel keeps for processes of the host: a key of this session, a segment of shared memory."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager

_C = ctypes.CDLL(None, use_errno=True)
_ADD_KEY, _KEYCTL = (248, 250) if platform.machine() == "x86_64" else (217, 219)
_SESSION, _UNLINK, _CREATE, _REMOVE = -3, 9, 0o1666, 0


@contextmanager
def held() -> Iterator[dict[str, str]]:
    """The key's and the segment's numbers, both say ok; no number where the kernel keeps none for this process."""
    key = _C.syscall(_ADD_KEY, b"user", b"crab", b"ok", 2, _SESSION)
    number = 0x43524142 ^ os.getpid()
    segment = _C.shmget(number, 4096, _CREATE)
    if segment != -1:
        _C.shmat.restype = ctypes.c_void_p
        ctypes.memmove(_C.shmat(segment, None, 0), b"ok", 2)
    try:
        yield {"key": "" if key == -1 else str(key), "segment": "" if segment == -1 else str(number)}
    finally:
        _C.shmctl(segment, _REMOVE, None)
        _C.syscall(_KEYCTL, _UNLINK, key, _SESSION)
