"""Runs the executable behind the two `command` adapters: its settings, its identity, its sandbox, its last words."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pytest_crab import serialization
from pytest_crab.ecosystems import pyenv
from pytest_crab.ecosystems.messages import telling_line
from pytest_crab.errors import AgentError, ReviewerError
from pytest_crab.formats import format_first
from pytest_crab.program_files import needed_paths, search_path
from pytest_crab.protocols import Checkout, Completed, Workspace
from pytest_crab.redaction import Redactor
from pytest_crab.text import cut, cut_middle, last_line
from pytest_crab.types import SCHEMA, Finding, PullRequest, StrEnum

MOST_OUTPUT = 16 * 1024 * 1024
_VERSION_SECONDS = 60
#: In characters: what of a failed command's streams is kept, and what of its stdout is quoted.
_LONGEST_STREAM, _LONGEST_START = 200_000, 120
#: With which a shell ends that does not find a program: by hand it does, since the sandbox shows less.
_NOT_FOUND = 127
#: What a program says that finds no file, in whichever language it is written.
_LACKING = re.compile(rb"(?i)no such file|\bENOENT\b|file not found|cannot find the file")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class CommandPlace(StrEnum):
    """The place where a command runs: a throw-away clone with the internet, or the instance's environment without."""

    CLONE = "clone"
    WORKSPACE = "workspace"


class Ran(NamedTuple):
    """A command that has run."""

    #: The checkout that it has run in.
    workspace: Workspace
    #: What it printed.
    stdout: str
    exit_code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSettings:
    """An executable and what it may see.

    An argument that is equal to an entry of ``files``, ``readable`` or ``writable`` stands for that path. Their
    relative paths start at ``folder``.
    """

    noun: ClassVar[str]
    failure: ClassVar[type[ReviewerError | AgentError]]
    #: Whether it reaches the internet from a clone.
    network: ClassVar[bool] = True

    command: tuple[str, ...]
    #: Bound read-only. Their contents and the executable's, if it is named by its path, are the fingerprint.
    files: tuple[str, ...] = ()
    #: A command whose output is part of the fingerprint.
    version: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    #: In seconds.
    timeout: float = 600.0
    #: Those of a command that did its work: many linters end with 1 where they found something.
    exit_codes: tuple[int, ...] = (0,)
    place: CommandPlace = field(default=CommandPlace.CLONE, metadata={"key": "in"})
    #: Further paths that it may read.
    readable: tuple[str, ...] = ()
    #: Further paths that it may write.
    writable: tuple[str, ...] = ()
    #: That of crab.yaml.
    folder: str = "."

    def __post_init__(self) -> None:
        faults = [*self._faults(), *self._path_faults()]
        if faults:
            raise ValueError("; ".join(faults))

    def identity(self) -> Mapping[str, Any] | None:
        """Settings and fingerprint; None if neither ``files`` nor ``version`` names one. Raises the family's error."""
        if not self.files and not self.version:
            return None
        settings = serialization.dump(self)
        del settings["folder"]
        own = [self.command[0]] if "/" in self.command[0] and self.place is CommandPlace.CLONE else []
        digests = {name: self._digest(name) for name in (*own, *self.files)}
        return {"adapter": f"command {self.noun}", **settings, "digests": digests, "printed": self.fingerprint()}

    def fingerprint(self) -> str | None:
        """Return what the version command prints; None without one. Raises the family's error."""
        if not self.version:
            return None
        argv = (self.version[0], *self._with_paths(self.version[1:]))
        try:
            return printed_version(argv, self.folder)
        except (OSError, subprocess.SubprocessError) as error:
            raise self.failure(f"version of {self.title()} gave no version: {error}; run it by hand") from error

    @contextmanager
    def ran(self, request: Mapping[str, Any], checkout: Checkout) -> Iterator[Ran]:
        """Run the command on ``request`` in a fresh checkout that lives until the context ends.

        Raises the family's error if it did not end by itself with one of ``exit_codes``. With such an error, also with
        one that is raised within the context, both its streams are kept as a transcript.
        """
        argv, opened = self._open(checkout)
        with opened as workspace:
            stdin = json.dumps({**request, "root": workspace.root}).encode()
            path = {"PATH": search_path(self._program())} if self.place is CommandPlace.CLONE else {}
            env = {**path, **self.env, **self._passed_variables()}
            completed = workspace.run(argv, stdin=stdin, env=env, seconds=self.timeout)
            try:
                yield Ran(workspace, self._stdout(completed), completed.exit_code)
            except self.failure as error:
                raise self._with_streams(error, completed, checkout) from error

    @property
    def free(self) -> bool:
        """True if the command has no key to a model (``pass_env`` is empty), so that without usage it cost nothing."""
        return not self.pass_env

    def bad_output(self, problems: Sequence[str], stdout: str = "") -> Exception:
        """The family's error for output, which is ``stdout``, that is not what the contract asks for."""
        said = format_first(problems)
        start = self._start_of(stdout)
        sentence = f"{self.title()} printed what is no answer: {said}{start}; see docs/reference/command.md"
        return self.failure(sentence)

    # --- settings ----------------------------------------------------------------------------------------------------

    def _faults(self) -> Iterator[str]:
        if not self.command or not self.command[0]:
            yield "command should name an executable"
        if not 0 < self.timeout < float("inf"):
            yield "timeout should be a number of seconds above 0"
        if not self.exit_codes or any(not 0 <= code < 126 for code in self.exit_codes):
            yield "exit_codes should have numbers from 0 to 125; above these a command was not started or was killed"
        for name in (*self.pass_env, *self.env):
            if not _NAME.fullmatch(name):
                yield f"{name!r} is no name of an environment variable"
        for name in sorted(set(self.pass_env) & set(self.env)):
            yield f"{name} is in both env and pass_env; keep one"
        if self.place is CommandPlace.WORKSPACE and (self.files or self.writable):
            yield "in: workspace has the instance's own environment, where files and writable cannot be bound"

    def _path_faults(self) -> Iterator[str]:
        for key in ("files", "readable", "writable"):
            for name in getattr(self, key):
                path = self._path(name)
                if not path.exists():
                    yield f"{key} names {name}, which does not exist"
                elif self._too_wide(path):
                    yield f"{key} names {name}, which holds more than a client may see; name what it needs"
                elif key == "writable" and not path.is_dir():
                    yield f"writable names {name}, which is no folder"

    def _path(self, name: str) -> Path:
        return Path(os.path.abspath(Path(self.folder) / Path(name).expanduser()))  # noqa: PTH100 - links must stay

    def _too_wide(self, path: Path) -> bool:
        """Return True if the path is or holds the home or crab.yaml's folder, beside which instances may lie."""
        real = path.resolve()
        return any(kept.is_relative_to(real) for kept in (Path.home().resolve(), Path(self.folder).resolve()))

    # --- the sandbox -------------------------------------------------------------------------------------------------

    def _open(self, checkout: Checkout) -> tuple[tuple[str, ...], AbstractContextManager[Workspace]]:
        if self.place is CommandPlace.WORKSPACE:
            return self.command, checkout.workspace(readable=[self._path(name) for name in self.readable])
        program = self._program()
        needed = {path: None for path in needed_paths(program) if path == program or not self._too_wide(path)}
        named = [self._path(name) for name in (*self.files, *self.readable)]
        seen = _outermost([*needed, *named])
        argv = (*self.start(program), *self._with_paths(self.command[1:]))
        opened = checkout.clone(
            readable=[path for path in seen if path not in needed],
            libraries=[path for path in seen if path in needed],
            writable=[self._path(name) for name in self.writable],
            network=self.network,
        )
        return argv, opened

    def start(self, program: Path) -> tuple[str, ...]:
        """Return the words that start a program in a clone."""
        return (str(program),)

    def _with_paths(self, arguments: Sequence[str]) -> list[str]:
        paths = {*self.files, *self.readable, *self.writable}
        return [str(self._path(argument)) if argument in paths else argument for argument in arguments]

    def _program(self) -> Path:
        name = self.command[0]
        own = self._path(name)
        found = str(own) if "/" in name or name in self.files else shutil.which(name)
        if found is None or not os.access(found, os.X_OK) or Path(found).is_dir():
            where = f"in {self.folder}" if "/" in name or name in self.files else "on PATH"
            raise self.failure(f"{self.title()} cannot start: there is no executable {name} {where}; install it there")
        program = Path(os.path.abspath(found))  # noqa: PTH100 - a virtual environment is known by its link
        return pyenv.behind_shim(program, self.folder) or program

    def _passed_variables(self) -> dict[str, str]:
        return {name: os.environ[name] for name in self.pass_env if name in os.environ}

    def _redactor(self) -> Redactor:
        return Redactor.of_variables(self.pass_env, os.environ)

    # --- the result --------------------------------------------------------------------------------------------------

    def title(self) -> str:
        """Return what errors call it."""
        return f"the command {self.noun} {self.command[0]}"

    def _stdout(self, completed: Completed) -> str:
        if completed.timed_out:
            raise self._failure(f"did not end within {self.timeout:g} seconds", completed, "raise its timeout")
        if completed.out_of_memory:
            raise self._failure("ran out of memory", completed, "let it use less")
        if completed.too_much_disk:
            raise self._failure("wrote more to the disk than it may", completed, "let it write less")
        if completed.too_much_output or len(completed.stdout) > MOST_OUTPUT:
            raise self._failure("printed more than is read", completed, "print the answer only")
        if completed.exit_code not in self.exit_codes:
            how = _ending(completed.exit_code)
            advice = "run it by hand on such an input"
            if _LACKING.search(completed.stderr):
                advice = (
                    "it runs in a clone of the pull request, and sees of other files those alone that files and "
                    "readable name, at their full paths"
                )
            if completed.exit_code == _NOT_FOUND:
                advice = "if a program that it calls is missing, name that program's folder under readable"
            raise self._failure(how, completed, advice)
        try:
            return self._redactor().document(completed.stdout.decode())
        except UnicodeDecodeError as error:
            problems = [f"it is no UTF-8 ({error.reason} at byte {error.start})"]
            raise self.bad_output(problems, completed.stdout.decode(errors="replace")) from error

    def _failure(self, how: str, completed: Completed, advice: str) -> Exception:
        shown = _printable(telling_line(self._redactor().text(completed.stderr.decode(errors="replace"))))
        words = f"its last line on stderr is {shown!r}" if shown else "it printed nothing on stderr"
        start = self._start_of(completed.stdout.decode(errors="replace"))
        return self.failure(f"{self.title()} {how}; {words}{start}; {advice}")

    def _start_of(self, stdout: str) -> str:
        start = _printable(cut(" ".join(self._redactor().text(stdout).split()), _LONGEST_START))
        return f"; its stdout starts with {start!r}" if start else ""

    def _with_streams(self, error: Any, completed: Completed, checkout: Checkout) -> Exception:
        """The same error with the key of the transcript that its streams are kept as."""
        streams = {"stdout": completed.stdout, "stderr": completed.stderr}
        texts = {
            name: cut_middle(self._redactor().text(text.decode(errors="replace")), _LONGEST_STREAM)
            for name, text in streams.items()
        }
        key = checkout.services.keep(f"command {self.noun}", json.dumps(texts, indent=1))
        return self.failure(f"{error}; both its streams are transcript {key[:12]} in the store", status=error.status)

    def _digest(self, name: str) -> str:
        try:
            return _digest(self._path(name))
        except OSError as error:
            raise self.failure(
                f"{self.title()}: {name} in files cannot be read ({error.strerror}); is it gone?"
            ) from error


def request(pull_request: PullRequest, findings: Sequence[Finding] | None = None) -> dict[str, Any]:
    """Return the JSON that a command gets on stdin, without ``root``; ``findings`` are for agents only."""
    told = {"schema": SCHEMA, **serialization.dump(pull_request)}
    return told if findings is None else {**told, "findings": serialization.dump(findings)}


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _ending(exit_code: int | None) -> str:
    if exit_code is None:
        return "was killed"
    return f"ended with exit code {exit_code}" + (f" (signal {exit_code - 128})" if 128 < exit_code < 192 else "")


def _outermost(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The paths without those that lie in another one, since a link in a folder that is seen must stay a link."""
    kept = dict.fromkeys(paths)
    return tuple(path for path in kept if not any(other in path.parents for other in kept))


@functools.cache
def printed_version(argv: tuple[str, ...], folder: str) -> str:
    """Return what a command prints, which is given no key. Raises OSError, SubprocessError."""
    env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    done = subprocess.run(
        argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_VERSION_SECONDS
    )
    if done.returncode:
        raise subprocess.SubprocessError(f"it ended with {done.returncode}: {last_line(done.stderr) or 'no word'}")
    text = done.stdout.decode(errors="replace").strip()
    if not text:
        raise subprocess.SubprocessError("it printed nothing on stdout")
    return text


def _digest(path: Path) -> str:
    """The digest of a file, or of all files below a folder with their names; Python's caches do not count."""
    if not path.is_dir():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return serialization.digest({str(file.relative_to(path)): _digest(file) for file in files})
