"""Looks for a secret in bytes and in files, packed and spelled in all the ways that programs leave one behind."""

from __future__ import annotations

import base64
import binascii
import bz2
import contextlib
import io
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

#: The levels of packing that are searched.
_DEPTH = 6
#: Bytes of an unpacked stream that are searched at most.
_MOST = 256 << 20

#: Bytes: the offset of a tar file's magic, and the part of a file that decides whether it is text.
_TAR, _LOOKED = 257, 8192
#: Bytes: a longer file that is no text is a program, and is not searched for other spellings.
_RECORDS = 4 << 20

_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{24,}={0,2}")
_STANDARD = bytes.maketrans(b"-_", b"+/")
_ESCAPE = re.compile(rb'\\(?:u([0-9a-fA-F]{4})|(["\\/]))')
_WRAPPED = re.compile(rb"(?<=[A-Za-z0-9+/_-]{16})\r?\n(?=[A-Za-z0-9+/_-])")
_STREAMS: Mapping[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(31),
    b"\x78": zlib.decompressobj,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lzma.LZMADecompressor,
}
#: Errors of streams that are damaged, encrypted, or only begin like something packed.
_DAMAGED = (
    *(zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError),
    *(OSError, EOFError, RuntimeError, NotImplementedError, ValueError, LookupError, struct.error),
)


class Leaks:
    """The search for one secret, a text of at least eight characters."""

    def __init__(self, secret: str) -> None:
        raw = secret.encode()
        if len(raw) < 8:
            raise ValueError("a secret of less than eight bytes is found everywhere")
        self._forms = (raw, raw.hex().encode(), raw.hex().upper().encode(), *_encodings(raw))

    def within(self, data: bytes, *, deep: bool = True) -> bool:
        """Return whether the data holds the secret: plain, in hex or in base64, and if ``deep`` also escaped or packed.

        Escaped is as in JSON; packed is gzip, zlib (as git does), bzip2, xz, zip and tar, also in each other and in
        base64, six times.
        """
        return self._within(data, _DEPTH if deep else 0)

    def in_files(self, *folders: Path) -> list[Path]:
        """Return the files below these folders that hold the secret, by path; links are not followed."""
        files = (path for folder in folders for path in sorted(folder.rglob("*")))
        return [path for path in files if path.is_file() and not path.is_symlink() and self.within(path.read_bytes())]

    def _within(self, data: bytes, depth: int) -> bool:
        if any(form in data for form in self._forms):
            return True
        return depth > 0 and any(self._within(part, depth - 1) for part in _parts(data))


def _encodings(raw: bytes) -> Iterator[bytes]:
    """Yield the base64 of the secret that no neighbour changes, at each offset and in both alphabets."""
    for before in range(3):
        text = base64.b64encode(b"x" * before + raw)
        kept = text[4 if before else 0 : len(text) - 4]
        yield from {kept, kept.translate(bytes.maketrans(b"+/", b"-_"))}


def _parts(data: bytes) -> Iterator[bytes]:
    """Yield the results of unpacking, decoding and unescaping some bytes once."""
    yield from _streams(data)
    if data[_TAR : _TAR + 5] == b"ustar":
        yield from _members(data)
        return
    yield from _entries(data)
    if len(data) > _RECORDS and b"\0" in data[:_LOOKED]:
        return  # a program
    if b"\\" in data and (plain := _ESCAPE.sub(_unescape, data)) != data:
        yield plain
    whole = _WRAPPED.sub(b"", data)
    if whole != data:
        yield whole
    for found in _BASE64.finditer(data):
        text = found.group().translate(_STANDARD).rstrip(b"=")
        with contextlib.suppress(binascii.Error):
            yield base64.b64decode(text + b"=" * (-len(text) % 4))


def _streams(data: bytes) -> Iterator[bytes]:
    """Yield the packed streams that these bytes are, one behind the other; none if they only begin like one."""
    for magic, unpack in _STREAMS.items():
        with contextlib.suppress(*_DAMAGED):
            while data.startswith(magic):
                stream = unpack()
                yield stream.decompress(data, _MOST)
                data = stream.unused_data


def _members(data: bytes) -> Iterator[bytes]:
    """Yield the members of a tar file; of a damaged one as far as it can be read."""
    with contextlib.suppress(*_DAMAGED), tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for item in archive:
            file = archive.extractfile(item) if item.isreg() else None
            yield file.read() if file is not None else item.name.encode(errors="replace")


def _entries(data: bytes) -> Iterator[bytes]:
    """Yield the entries of a zip file, with their names."""
    if b"PK\x05\x06" in data:
        with contextlib.suppress(*_DAMAGED), zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                yield entry.filename.encode(errors="replace") + b"\n" + entry.comment
                yield archive.read(entry)


def _unescape(found: re.Match[bytes]) -> bytes:
    code, sign = found.groups()
    return chr(int(code, 16)).encode(errors="replace") if code else bytes(sign)
