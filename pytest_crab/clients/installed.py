"""The lookup of clients, first in the folder of installed ones, then on PATH; and their installation."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.clients.client_kind import ClientKind
from pytest_crab.clients.known import KINDS
from pytest_crab.ecosystems import pyenv
from pytest_crab.errors import CrabError
from pytest_crab.scratch import scratch
from pytest_crab.text import cut, last_line

#: The environment variable that names the folder of installed clients.
VARIABLE = "CRAB_CLIENTS"
_DEFAULT = Path("~/.cache/pytest-crab/clients")
_VERSION_SECONDS = 60
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


#: Variables that installers are given, whatever their case; the others may be keys, and what is installed may run code.
_GIVEN = frozenset(
    (
        *("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYENV_ROOT", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    )
)
#: And all that begin like these: the settings of pip and npm.
_INDEXES = ("PIP_", "NPM_CONFIG_")


#: What lines of npm and pip say that tell a cause, which of them go first, and which tell nothing.
_TELLING = re.compile(r"(?i)error|failed|refused|no matching|not found|no space|denied|cannot")
_NETWORK = re.compile(
    r"(?i)refused|resol|certificate|timed out|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|unreachable|reset by peer"
)
_EMPTY = re.compile(
    r"(?i)complete log|npm help|'proxy' config|\[notice\]|^npm error\W*(code|syscall|errno|address|type|port|at)\b"
)


class ClientMissing(CrabError):
    """A client is not on this machine; the sentence says how to install it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A client on this machine."""

    kind: ClientKind
    #: The path of its program.
    program: Path
    #: The trees that a sandbox must show for it to run.
    trees: tuple[Path, ...]

    @property
    def version(self) -> str:
        """The installed version. Raises ClientMissing if the client does not run."""
        return _printed_version(self.program) if self.kind.native else _packaged_version(self)


def folder() -> Path:
    """The folder of installed clients: one folder for each, of its name."""
    return Path(os.environ.get(VARIABLE) or _DEFAULT).expanduser().absolute()


def find(name: str) -> Installed:
    """A client of this machine. Raises ClientMissing."""
    kind = KINDS[name]
    own = folder() / name
    found = next(_native(own / "node_modules", kind), None) if kind.native else _if_program(own / "bin" / kind.program)
    found = found or _on_path(kind)
    if found is None:
        raise ClientMissing(
            f"{name} is neither in {own} nor on PATH; install it with pytest-crab doctor --install-client {name}, "
            f"or name the folder of clients in {VARIABLE}"
        )
    return Installed(kind=kind, program=found, trees=_trees(found, kind))


def is_there(name: str) -> bool:
    """Return whether a client is found; it may still fail to run."""
    try:
        find(name)
    except ClientMissing:
        return False
    return True


def install(name: str) -> Installed:
    """Install a client's pinned packages into the folder of clients. Raises ClientMissing with what the tool said."""
    kind = KINDS[name]
    own = folder() / name
    own.mkdir(parents=True, exist_ok=True)
    for command in _commands(kind, own):
        try:
            done = subprocess.run(
                command, cwd=own, env=installer_environment(os.environ), capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise ClientMissing(
                f"{name} could not be installed: {command[0]} does not run ({error.strerror})"
            ) from error
        if done.returncode != 0:
            tool = "pip" if "pip" in command else Path(command[0]).name
            raise ClientMissing(f"{name} could not be installed: {tool} said {_cause(done.stderr, done.stdout)!r}")
    return find(name)


def installer_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of an environment that installers need: of the network and the index, and no keys."""
    return {
        name: value for name, value in environ.items() if name.upper() in _GIVEN or name.upper().startswith(_INDEXES)
    }


def _cause(*outputs: str) -> str:
    """Return the line of an installer's output that tells why it failed: first what kept it from the network."""
    lines = [line.strip() for text in outputs for line in text.split("\n")]
    told = [line for line in lines if _TELLING.search(line) and not _EMPTY.search(line)]
    first = next((line for line in told if _NETWORK.search(line)), None) or next(iter(told), None)
    return last_line(*outputs) if first is None else cut(first, 300)


def _commands(kind: ClientKind, own: Path) -> Iterator[Sequence[str]]:
    if kind.native:
        options = ("--no-audit", "--no-fund", "--ignore-scripts", "--include=optional")
        yield ("npm", "install", "--prefix", str(own), *options, *kind.packages)
        return
    yield (_python(kind), "-m", "venv", str(own))
    yield (str(own / "bin" / "python"), "-m", "pip", "install", "--quiet", *kind.packages)


def _python(kind: ClientKind) -> str:
    """The newest CPython on this machine that the client runs on. Raises ClientMissing."""
    oldest = tuple(map(int, kind.python.split(".")))
    for version in ("3.13", "3.12", "3.11", "3.10"):
        if tuple(map(int, version.split("."))) < oldest:
            continue
        found = next(iter(pyenv.programs(version)), None) or shutil.which(f"python{version}")
        if found:
            return found
    raise ClientMissing(
        f"{kind.name} needs CPython {kind.python} or later, and there is none on PATH or in pyenv's folder"
    )


def _native(modules: Path, kind: ClientKind) -> Iterator[Path]:
    for pattern in kind.native:
        yield from sorted(path for path in modules.glob(pattern) if os.access(path, os.X_OK))


def _if_program(path: Path) -> Path | None:
    return path if os.access(path, os.X_OK) else None


def _on_path(kind: ClientKind) -> Path | None:
    """The client's own program behind the name on PATH, which npm makes a launcher for node."""
    place = shutil.which(kind.program)
    if place is None:
        return None
    if not kind.native:
        return Path(place).resolve() if Path(place).is_symlink() else Path(place).absolute()  # a link by pipx or uv
    real = Path(place).resolve()
    for above in real.parents:
        own = next(_native(above if above.name == "node_modules" else above / "node_modules", kind), None)
        if own is not None:
            return own
    with real.open("rb") as file:
        return real if file.read(4) == b"\x7fELF" else None


def _trees(program: Path, kind: ClientKind) -> tuple[Path, ...]:
    if kind.native:
        beside = program.parents[kind.tree - 1] if kind.tree and len(program.parents) > kind.tree else program.parent
        return (beside,) if "node_modules" in program.parts else (program,)
    venv = program.parent.parent
    return (venv, *_base_of(venv))


def _base_of(venv: Path) -> Iterator[Path]:
    """The interpreter that a virtual environment was made of, as far as a sandbox does not show it anyhow."""
    for interpreter in sorted((venv / "bin").glob("python3.*")):
        real = interpreter.resolve()
        prefix = real.parent.parent
        if prefix == Path("/usr"):
            yield from (path for path in (real, prefix / "lib" / real.name) if path.exists())
        else:
            yield from (path for path in (prefix / "bin", prefix / "lib") if path.exists())
        return


@functools.cache
def _printed_version(program: Path) -> str:
    """Return the version that the program prints. It runs outside of a sandbox, so it gets no variables of the user."""
    try:
        with scratch("home") as home:
            done = subprocess.run(
                [program, "--version"], capture_output=True, text=True, check=True, timeout=_VERSION_SECONDS,
                stdin=subprocess.DEVNULL, cwd="/", env={"PATH": os.defpath, "HOME": str(home), "LANG": "C.UTF-8"},
            )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise ClientMissing(f"{program} --version failed: {error}; install it again") from error
    found = _VERSION.search(done.stdout)
    return found[0] if found else done.stdout.strip()[:60]


def _packaged_version(client: Installed) -> str:
    name = re.split(r"[=<>@]", client.kind.packages[0])[0].replace("-", "_")
    found = sorted(client.program.parent.parent.glob(f"lib/python3*/site-packages/{name}-*.dist-info"))
    if not found:
        raise ClientMissing(f"{client.program} belongs to no installed {name}; install it again")
    return found[0].name.removeprefix(f"{name}-").removesuffix(".dist-info")
