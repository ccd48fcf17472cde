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
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: How often what is unpacked may be packed again.
_DEPTH = 6
#: Bytes: what unpacks to more than this is searched as far as this.
_MOST = 256 << 20

#: Bytes: where a tar file says that it is one, and how far a file is looked at to tell whether it is text.
_TAR, _LOOKED = 257, 8192
#: Bytes: what is no text and longer than this is a program, and holds nothing that is spelled in another way.
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
#: What is raised by what is damaged, encrypted, or only begins like something packed.
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
        self._forms = (raw, raw.hex().encode(), raw.hex().upper().encode(), *_coded(raw))

    def within(self, data: bytes, *, deep: bool = True) -> bool:
        """Whether the secret is in there: as it is, in hex or in base64, and if ``deep`` also escaped or packed.

        Escaped is as in JSON; packed is gzip, zlib (as git does), bzip2, xz, zip and tar, also in each other and in
        base64, six times.
        """
        return self._within(data, _DEPTH if deep else 0)

    def in_files(self, *folders: Path) -> list[Path]:
        """The files below these folders that hold it, by path; links are not followed."""
        files = (path for folder in folders for path in sorted(folder.rglob("*")))
        return [path for path in files if path.is_file() and not path.is_symlink() and self.within(path.read_bytes())]

    def _within(self, data: bytes, depth: int) -> bool:
        if any(form in data for form in self._forms):
            return True
        return depth > 0 and any(self._within(part, depth - 1) for part in _parts(data))


def _coded(raw: bytes) -> Iterator[bytes]:
    """What of the secret every base64 has, wherever in the text it begins, in both alphabets."""
    for before in range(3):
        text = base64.b64encode(b"x" * before + raw)
        kept = text[4 if before else 0 : len(text) - 4]
        yield from {kept, kept.translate(bytes.maketrans(b"+/", b"-_"))}


def _parts(data: bytes) -> Iterator[bytes]:
    """What comes of unpacking, decoding or unescaping some bytes once."""
    yield from _unpacked(data)
    if data[_TAR : _TAR + 5] == b"ustar":
        yield from _members(data)
        return
    yield from _entries(data)
    if len(data) > _RECORDS and b"\0" in data[:_LOOKED]:
        return  # a program
    if b"\\" in data and (told := _ESCAPE.sub(_unescaped, data)) != data:
        yield told
    whole = _WRAPPED.sub(b"", data)
    if whole != data:
        yield whole
    for found in _BASE64.finditer(data):
        text = found.group().translate(_STANDARD).rstrip(b"=")
        with contextlib.suppress(binascii.Error):
            yield base64.b64decode(text + b"=" * (-len(text) % 4))


def _unpacked(data: bytes) -> Iterator[bytes]:
    """The streams that these bytes are, one behind the other; nothing if they only begin like one."""
    for magic, unpack in _STREAMS.items():
        with contextlib.suppress(*_DAMAGED):
            while data.startswith(magic):
                stream = unpack()
                yield stream.decompress(data, _MOST)
                data = stream.unused_data


def _members(data: bytes) -> Iterator[bytes]:
    """The members of a tar file; of a damaged one as far as it can be read."""
    with contextlib.suppress(*_DAMAGED), tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for item in archive:
            file = archive.extractfile(item) if item.isreg() else None
            yield file.read() if file is not None else item.name.encode(errors="replace")


def _entries(data: bytes) -> Iterator[bytes]:
    """The entries of a zip file, with their names."""
    if b"PK\x05\x06" in data:
        with contextlib.suppress(*_DAMAGED), zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                yield entry.filename.encode(errors="replace") + b"\n" + entry.comment
                yield archive.read(entry)


def _unescaped(found: re.Match[bytes]) -> bytes:
    code, sign = found.groups()
    return chr(int(code, 16)).encode(errors="replace") if code else bytes(sign)
