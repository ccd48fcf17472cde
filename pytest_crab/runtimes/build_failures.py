"""The reason of a failed build in words: the signal or limit that ended it, and the telling lines of its output."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable
from pathlib import Path

from pytest_crab.ecosystems.messages import patterns
from pytest_crab.errors import EngineError, ImageError
from pytest_crab.protocols import Completed, Limits
from pytest_crab.text import cut, cut_middle, output_lines

#: The characters that are kept of a build's output: its beginning, which names the package, and its end.
_LONGEST = 5500
#: The characters that are told of one of its lines, so that what a compiler says of a place in a source is whole.
_LINE = 500

#: Bytes: a disk with less than this is full.
_LITTLE = 1 << 20

#: What a line says that tells why a build failed.
_TELLING = re.compile(r"(?i)\b(because|fatal|failed|not found|cannot|can't|no such file)\b|\w*error\b")
#: What only points at the cause, or away from it, in words that several tools have:
#: such a line is never part of a sentence.
_POINTING = re.compile(
    r"(?i)^\W*(hint|note|help):|\bsee (also|above|below|the)\b|\b(mentioned|listed|shown) above\b|"
    r"\bfor (more|further) (information|details)\b|\b(complete|full) log\b|can be found (in|at)|\bre-?run\b|"
    r"\brun with [-`]|get more help|\[help \d+\] http|encountered error while|did not run successfully|"
    r"does the error still persist|maybe the error was already fixed|"
    r"(subprocess-exited-with-error|metadata-generation-failed|failed-wheel-build\S*|legacy-install-failure)\W*$|"
    r"errors occurred!|finished with status"
)
#: What repeats that something failed: it may name the package, and is no cause.
_REPEATING = re.compile(
    r"(?i)returned non-zero|exit (code|status)|returned an error|previous errors?\b|^make\b.*\*\*\*|subcommand failed|"
    r"^\W*(error: )?(failed building|failed to build|could not build|could not compile)\b"
)
#: What a compiler says of a place in a source; the first of these is the cause of the others.
_OF_SOURCE = re.compile(r"\S+:\d+(:\d+)?: (fatal )?error:")

#: What programs say of a limit that they met, and did not end by.
_TOO_LARGE = re.compile(r"(?i)file too large|file size limit exceeded|\bSIGXFSZ\b")
_NO_MEMORY = re.compile(r"(?i)cannot allocate memory|\bMemoryError\b")

#: What uv, pip, git, Bundler, PHP and the C library say of a server that does not answer.
_OUTAGE = re.compile(
    r"(?i)error sending request for url|http status server error|failed to establish a new connection|"
    r"could not resolve host|temporary failure in name resolution|could not reach host|getaddrinfo for \S+ failed"
)

#: What a line says of something that is missing.
_MISSING = re.compile(r"(?i)no such file|not found|no package|cannot find|could not find|required")

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

#: What to do about packages that a build on this machine itself lacks, and one in an image.
_ADVICE = (
    ": install them on this machine (apt-get install {packages}), or name them in environment.system and use the "
    "docker runtime"
)
ADVICE_FOR_IMAGES = ": name them in environment.system"


def failure(what: str, done: Completed, limits: Limits, seconds: float) -> ImageError:
    """The error to raise for a build that failed on this machine itself; ``what`` says which.

    A disk of this machine's that is full is no matter of it: see ``require_room``.
    """
    said = output(done)
    cause = cause_of_end(done, limits, seconds)
    told = why(said, _ADVICE)
    sentence = f"{what}: {cause}: {told}" if cause else f"{what}: {told}"
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
    """Return why a short command failed: the limit that ended it, or else the lines of its output that tell most."""
    if done.timed_out:
        return "it did not end in time"
    if done.too_much_disk:
        return "it wrote more to the disk than it may"
    said = next((stream for stream in (done.stderr, done.stdout) if stream.strip()), b"")
    return why(said.decode("utf-8", "replace")) if said else f"it printed nothing and ended with {done.exit_code}"


def by_signal(code: int | None) -> str | None:
    """The signal that a shell's exit code stands for, in words; None: it stands for none."""
    if code == 128 + signal.SIGKILL:
        return "it was killed (SIGKILL), as is done where memory is short"
    try:
        return f"it was ended by {signal.Signals((code or 0) - 128).name}"
    except ValueError:
        return None


def why(said: str, advice: str = "") -> str:
    """The lines that tell most of what a build printed, with the system packages that it lacks where that is known.

    ``advice`` says what to do about these packages; ``{packages}`` in it is how a command line names them.
    """
    lines = [re.sub(r"^[^\w(\"'</\[]+", "", line).strip() for line in output_lines(said)]
    known = patterns()
    lines = [line for line in lines if line and not (_POINTING.search(line) or known.pointing.search(line))]
    telling = [line for line in lines if _TELLING.search(line) or known.telling.search(line)]
    causes = [line for line in telling if not _REPEATING.search(line)]
    compiling = [line for line in causes if _OF_SOURCE.match(line)][:1]
    named = [line for line in telling if _REPEATING.search(line) and not (compiling and "CalledProcessError" in line)]
    cause = compiling or (causes[:1] if causes and known.cause_first.match(causes[0]) else causes[-1:]) or telling[-1:]
    chosen = [*(named or telling)[:1], *cause] if telling else lines[-1:] or ["it said nothing"]
    sentence = "; ".join(cut(" ".join(line.split()), _LINE) for line in dict.fromkeys(chosen))
    missing = [line for line in output_lines(said) if _MISSING.search(line)]
    lacking = sorted({package for word, package in _SYSTEM.items() if _names(missing, word)})
    if not lacking:
        return sentence
    needs = f"{sentence}; it needs the Debian packages {', '.join(lacking)}"
    return needs + advice.format(packages=" ".join(lacking))


def _names(lines: Iterable[str], word: str) -> bool:
    """Return whether a line names this."""
    named = re.compile(rf"(?<![\w/.-]){re.escape(word)}(?![\w-])")
    return any(map(named.search, lines))
