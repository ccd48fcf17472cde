"""The reason of a failed build in words: the signal or limit that ended it, and the telling lines of its output."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable
from pathlib import Path

from pytest_crab.errors import EngineError, ImageError
from pytest_crab.protocols import Completed, Limits
from pytest_crab.text import cut_middle, last_line, output_lines

#: The characters that are kept of a build's output: its beginning, which names the package, and its end.
_LONGEST = 5500

#: Bytes: a disk with less than this is full.
_LITTLE = 1 << 20

#: What a line says that tells why a build failed, and what the lines say that only repeat that it did.
_TELLING = re.compile(r"(?i)\b(because|fatal|failed|not found|cannot|can't|no such file)\b|\w*error\b")
_REPEATING = re.compile(r"(?i)^(hint|note):|returned non-zero|exit (code|status)|subprocess-exited|returned an error")

#: What programs say of a limit that they met, and did not end by.
_TOO_LARGE = re.compile(r"(?i)file too large|file size limit exceeded|\bSIGXFSZ\b")
_NO_MEMORY = re.compile(r"(?i)cannot allocate memory|\bMemoryError\b")

#: What uv, pip, git and the C library say of a server that does not answer.
_OUTAGE = re.compile(
    r"(?i)error sending request for url|http status server error|failed to establish a new connection|"
    r"could not resolve host|temporary failure in name resolution"
)

#: What a build says it cannot do without, by the Debian package that has it.
_SYSTEM = {
    "ffi.h": "libffi-dev",
    "cairo": "libcairo2-dev",
    "pangocairo": "libpango1.0-dev",
    "pg_config": "libpq-dev",
    "mysql_config": "default-libmysqlclient-dev",
    "openssl/opensslv.h": "libssl-dev",
    "libxml/xmlversion.h": "libxml2-dev",
    "libxslt": "libxslt1-dev",
    "yaml.h": "libyaml-dev",
    "zlib.h": "zlib1g-dev",
    "jpeglib.h": "libjpeg-dev",
    "sasl/sasl.h": "libsasl2-dev",
    "lber.h": "libldap2-dev",
    "ldap.h": "libldap2-dev",
    "gssapi.h": "libkrb5-dev",
    "krb5-config": "libkrb5-dev",
    "hdf5.h": "libhdf5-dev",
    "portaudio.h": "portaudio19-dev",
}


def failure(what: str, done: Completed, limits: Limits, seconds: float) -> ImageError:
    """The error to raise for a build that failed; ``what`` says which.

    A disk of this machine's that is full is no matter of it: see ``require_room``.
    """
    said = output(done)
    cause = cause_of_end(done, limits, seconds)
    sentence = f"{what}: {cause}: {why(said)}" if cause else f"{what}: {why(said)}"
    return ImageError(sentence, said, of_machine=is_outage(said))


def require_room(folders: Iterable[Path]) -> None:
    """Raise EngineError where next to nothing more can be written to a disk that a build wrote to.

    What a build says of that is no proof: it repeats the words of the project.
    """
    for folder in folders:
        found = os.statvfs(folder)
        if found.f_bavail * found.f_frsize < _LITTLE or (found.f_files and not found.f_favail):
            raise EngineError(f"no space is left on this machine's disk that holds {folder}: make room and run again")


def is_outage(said: str) -> bool:
    """Return whether a build says that a server of packages did not answer."""
    return _OUTAGE.search(said) is not None


def output(done: Completed) -> str:
    """Return a command's output, without the middle where it is long."""
    said = (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace").strip()
    return cut_middle(said, _LONGEST)


def cause_of_end(done: Completed, limits: Limits, seconds: float) -> str | None:
    """The limit or the signal that ended a command; None where it came to its own end."""
    said = output(done)
    if done.timed_out:
        return f"it did not end within {seconds:.0f} s"
    if done.too_much_disk:
        return f"it wrote more than {limits.disk} MiB to the disk"
    if done.too_much_output:
        return "it printed more than is read"
    if done.out_of_memory or _NO_MEMORY.search(said):
        return f"it needed more memory than there is for a build, {limits.memory} MiB"
    if done.exit_code == 128 + signal.SIGXFSZ or _TOO_LARGE.search(said):
        return f"it needed a file of more than the {limits.file} MiB that one may have"
    return by_signal(done.exit_code)


def brief(done: Completed) -> str:
    """Return why a short command failed: the limit that ended it, or else the last line that it printed."""
    if done.timed_out:
        return "it did not end in time"
    if done.too_much_disk:
        return "it wrote more to the disk than it may"
    return last_line(done.stderr, done.stdout) or f"it printed nothing and ended with {done.exit_code}"


def by_signal(code: int | None) -> str | None:
    """The signal that a shell's exit code stands for, in words; None: it stands for none."""
    if code == 128 + signal.SIGKILL:
        return "it was killed (SIGKILL), as is done where memory is short"
    try:
        return f"it was ended by {signal.Signals((code or 0) - 128).name}"
    except ValueError:
        return None


def why(said: str) -> str:
    """The lines that tell most of what a build printed, with the system packages that it lacks where that is known."""
    lines = [re.sub(r"^[^\w(\"'<]+", "", line) for line in output_lines(said)]
    lines = [line for line in lines if line]
    telling = [line for line in lines if _TELLING.search(line)]
    new = [line for line in telling if not _REPEATING.search(line)]
    chosen = [*telling[:1], *(new or telling)[-1:]] if telling else lines[-1:] or ["it said nothing"]
    sentence = "; ".join(" ".join(line.split())[:200] for line in dict.fromkeys(chosen))
    lacking = sorted({package for word, package in _SYSTEM.items() if _names(said, word)})
    return f"{sentence}; it needs the Debian packages {', '.join(lacking)}" if lacking else sentence


def _names(said: str, word: str) -> bool:
    """Return whether a line that speaks of something missing names this."""
    missing = re.compile(r"(?i)no such file|not found|no package|cannot find|could not find|required")
    named = re.compile(rf"(?<![\w/.-]){re.escape(word)}(?![\w-])")
    return any(missing.search(line) and named.search(line) for line in output_lines(said))
