"""Requirements to a complete list of pins, as an installer would have chosen at a moment; uv does it in a sandbox."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.errors import ImageError
from pytest_crab.protocols import CLIENT_LIMITS
from pytest_crab.protocols import Command
from pytest_crab.runtimes import bubblewrap
from pytest_crab.runtimes import dated
from pytest_crab.runtimes import interpreters
from pytest_crab.runtimes import venvs
from pytest_crab.runtimes.runs import Run

_SECONDS = 600
_TREE = "/opt/crab/project"
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be resolved: requirements, files of them in the tree, and project folders of it with extras."""

    requirements: tuple[str, ...]
    files: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()

    def lines(self, tree: str) -> Iterator[str]:
        """The lines of the requirements file that says it all."""
        yield from self.requirements
        yield from (f"-r {tree}/{name}" for name in self.files)
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        for folder in self.projects:
            yield f"{tree}{extras}" if folder == "." else f"{tree}/{folder}{extras}"


class Resolver:
    """Asks uv; what projects run to tell their dependencies runs in a sandbox with network and without secrets."""

    def __init__(self, run: Run, cache: Path, cancelled: threading.Event) -> None:
        self._run = run
        self._cache = cache.absolute() / "uv"
        self._cancelled = cancelled

    def pins(self, wanted: Wanted, tree: Path, python: str, moment: str) -> tuple[str, ...]:
        """Every package with its version, sorted, for CPython X.Y as of ``moment``. Raises ImageError."""
        interpreter = interpreters.find(python)
        if interpreter is None:
            raise ImageError(f"there is no Python {python} on this machine; install it")
        uv = dated.program()
        self._cache.mkdir(parents=True, exist_ok=True)
        arguments = [
            *(str(uv), "pip", "compile", "-", "--python", str(interpreter.program), "--no-header", "--no-annotate"),
            *("--cache-dir", "/opt/crab/uv", *dated.arguments(moment)),
        ]
        git = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        command = Command(
            argv=arguments,
            stdin="".join(f"{line}\n" for line in wanted.lines(_TREE)).encode(),
            env={**dated.variables(venvs.route_env()), **git},
        )
        prefix = str(interpreter.prefix)
        here = {} if prefix.startswith("/usr") else {prefix: interpreter.prefix}
        view = bubblewrap.View(
            readable={str(uv): uv, **here, **venvs.route_files()},
            writable={_TREE: tree, "/opt/crab/uv": self._cache},
            network=True,
            cwd=_TREE,
        )
        done = bubblewrap.run_confined(
            self._run, [view], [command], limits=CLIENT_LIMITS, seconds=_SECONDS, cancelled=[self._cancelled]
        )[0]
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        if done.exit_code != 0:
            raise ImageError(f"no versions fit as of {moment}: {why(said)}", said[-4000:])
        return _pins(done.stdout.decode("utf-8", "replace"))


def _pins(printed: str) -> tuple[str, ...]:
    pins = []
    for line in printed.splitlines():
        text = line.partition(" ;")[0].partition(" #")[0].strip()
        if not text or text.startswith(("#", "-")):
            continue
        match = _PIN.fullmatch(text)
        if match:
            pins.append(text)
        elif _TREE not in text:
            name = text.partition(" ")[0]
            raise ImageError(f"it depends on {name} at an address of its own, which no version pins")
    return tuple(sorted(pins))


def why(said: str) -> str:
    """The telling line of what uv or a build said, with the system package that it lacks where that is known."""
    lines = [re.sub(r"^[^\w(\"'<]+", "", line) for line in said.splitlines()]
    lines = [line for line in lines if line]
    telling = [line for line in lines if re.search(r"(?i)\b(because|error|fatal|failed|not found|cannot)\b", line)]
    sentence = " ".join(" ".join((telling or lines or ["it said nothing"])[:2]).split())[:300]
    lacking = sorted({package for word, package in _SYSTEM.items() if _names(said, word)})
    return f"{sentence}; it needs the Debian packages {', '.join(lacking)}" if lacking else sentence


def _names(said: str, word: str) -> bool:
    """Whether a line that speaks of something missing names this."""
    missing = re.compile(r"(?i)no such file|not found|no package|cannot find|could not find|required")
    named = re.compile(rf"(?<![\w/.-]){re.escape(word)}(?![\w-])")
    return any(missing.search(line) and named.search(line) for line in said.splitlines())
