"""The door to git: commands with a fixed small environment and limits, and GitPython to read a repository."""

from __future__ import annotations

import functools
import io
import os
import resource
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, TypeAlias

from pytest_crab.ecosystems import leftover_patterns
from pytest_crab.errors import SourceError
from pytest_crab.scratch import scratch
from pytest_crab.sources.requirements import OLDEST_GIT
from pytest_crab.text import output_lines

_ENVIRON_LOCK = threading.Lock()


@contextmanager
def _without_git_variables(instead: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
    """Hide this process's variables for git from GitPython, which would look for a repository where they say."""
    with _ENVIRON_LOCK:
        before = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("GIT_")}
        os.environ.update(instead)
        try:
            yield
        finally:
            for name in instead:
                del os.environ[name]
            os.environ.update(before)


# So that it does not fail at import where there is no git; a command that needs git reports that.
with _without_git_variables({"GIT_PYTHON_REFRESH": "quiet"}):
    import git
    import git.exc
    from gitdb import OInfo, OStream

Blob: TypeAlias = git.Blob
Commit: TypeAlias = git.Commit
Repo: TypeAlias = git.Repo
Tree: TypeAlias = git.Tree
#: What lies in a tree.
Item: TypeAlias = git.Blob | git.Tree | git.Submodule

_CONFIG = {
    "core.hooksPath": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.autocrlf": "false",
    "core.fileMode": "true",
    "core.symlinks": "true",
    "core.fsmonitor": "false",
    "core.quotePath": "true",
    "core.logAllRefUpdates": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_SETTINGS = tuple(part for name, value in _CONFIG.items() for part in ("-c", f"{name}={value}"))
_ENVIRONMENT = {
    "LC_ALL": "C",
    "LANGUAGE": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "https",
    # The tree without files: whoever knows this variable reads no .gitattributes of the trees that it works on.
    "GIT_ATTR_SOURCE": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
}

#: Whatever a tree's .gitattributes ask for: bytes go in and out as they are, and text is told from binary by content.
_ATTRIBUTES = "* -text -ident !eol !crlf !filter !working-tree-encoding !diff !whitespace\n"

#: One name and one moment for every commit, so that a commit's id is decided by its trees alone.
_WHO = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "pytest-crab"), ("EMAIL", "pytest-crab@example.invalid"), ("DATE", "946684800 +0000"))
}

#: A git command that reads files of a contestant or of a set may use the processor for so many seconds, and so much
#: memory: what such files ask for may be without end. By the clock it may take longer, since a machine can be busy.
PROCESSOR_SECONDS = 60
MEMORY_MIB = 3072
_CLOCK_SECONDS = 600


class GitError(SourceError):
    """A git command failed; ``words`` is the first line in which git says why."""

    def __init__(self, command: str, words: str) -> None:
        super().__init__(f"git {command} failed: {words}")
        self.words = words


class GitSlow(GitError):
    """A git command was not done in time, though it had not used up what it may: the machine is too busy."""


class _Objects(git.GitCmdObjectDB):
    """The objects of a repository for GitPython, read by processes of ``Git``: its own would get our environment."""

    def __init__(self, repository: Git) -> None:
        super().__init__(str(repository.folder / "objects"), git.Git(repository.folder))
        self._repository = repository
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def info(self, binsha: bytes) -> OInfo:
        """Return the type and the size of an object. Raises ValueError if there is none."""
        kind, size, _ = self._ask("--batch-check", binsha)
        return OInfo(binsha, kind, size)

    def stream(self, binsha: bytes) -> OStream:
        """Return the type, the size and the content of an object. Raises ValueError if there is none."""
        kind, size, answer = self._ask("--batch", binsha)
        content = answer.read(size + 1)[:-1]
        if len(content) < size:
            raise ValueError(f"git ended within the object {binsha.hex()}")
        return OStream(binsha, kind, size, io.BytesIO(content))

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.kill()
            process.communicate()

    def _ask(self, mode: str, binsha: bytes) -> tuple[bytes, int, IO[bytes]]:
        process = self._processes.get(mode)
        if process is None:
            process = self._processes[mode] = self._repository.start("cat-file", mode)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(binsha.hex().encode() + b"\n")
        process.stdin.flush()
        head = process.stdout.readline().split()
        if len(head) != 3:
            raise ValueError(f"the object {binsha.hex()} is missing or damaged")
        return head[1], int(head[2]), process.stdout


@dataclass(frozen=True, slots=True)
class Git:
    """One bare repository, and the index and work tree (if any) that its commands use.

    Commits, trees and files are read through ``reading``, as GitPython's objects; ``run`` is for what has to have exact
    arguments, bytes, an index or a work tree.
    """

    folder: Path
    index: Path | None = None
    work_tree: Path | None = None

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
        seconds: float | None = None,
        fine: Sequence[int] = (0,),
    ) -> bytes:
        """Return what a git command prints; ``fine`` are the exit codes of a success.

        ``seconds`` are for work on whole repositories, and without them the limits for foreign files hold. Raises
        GitError, and SourceError where the repository is gone, which is no matter of what it was asked.
        """
        words = _words_of(arguments, settings)
        try:
            return run(words, stdin=stdin, cwd=cwd or self.folder, env=self._env(env), seconds=seconds, fine=fine)
        except GitError:
            if not (self.folder / "HEAD").is_file():
                raise _folder_gone_error(arguments[0], self.folder) from None
            raise

    def line(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Return the one line that a git command prints."""
        return self.run(*arguments, stdin=stdin, env=env).decode().strip()

    @contextmanager
    def reading(self) -> Iterator[git.Repo]:
        """Yield the repository as GitPython reads it; its processes end with the context. Raises SourceError."""
        objects = _Objects(self)
        try:
            with _without_git_variables():
                repository = git.Repo(self.folder, expand_vars=False)
            repository.odb = objects
            with repository:
                yield repository
        except (git.exc.GitError, git.exc.ODBError, ValueError, OSError) as error:
            if not (self.folder / "HEAD").is_file():
                raise _folder_gone_error("cat-file", self.folder) from None
            raise SourceError(f"{self.folder} cannot be read ({str(error)[:500]})") from error
        finally:
            objects.close()

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a git command within the limits for foreign files. Raises GitError where there is no git."""
        return _start(arguments, self.folder, self._env(None), None)

    def has(self, name: str) -> bool:
        """Return whether the repository has an object."""
        try:
            self.run("cat-file", "-e", name)
        except GitError:
            return False
        return True

    @contextmanager
    def with_index(self, tree: str | None) -> Iterator[Git]:
        """Yield the same repository with a temporary index that holds ``tree``, or nothing."""
        with scratch("index") as folder:
            indexed = replace(self, index=folder / "index")
            if tree is not None:
                (folder / "index").write_bytes(_index_of(self, tree))
            yield indexed

    def commit(self, tree: str, message: str, parent: str | None = None) -> str:
        """Make a commit whose id is decided by its arguments alone. Raises GitError, also if there is no such tree."""
        parents = ["-p", parent] if parent else []
        return self.line("commit-tree", tree, *parents, "-m", message, env=_WHO)

    def point(self, ref: str, commit: str) -> None:
        """Let a ref be a commit. The caller has checked that git takes the name, which becomes a path here as it is.

        Raises OSError.
        """
        file = self.folder / ref
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{commit}\n")

    def pack(self, wanted: Sequence[str], into: Git) -> None:
        """Copy objects and all they hold into another repository; names that start with ^ are there already."""
        target = into.folder / "objects" / "pack" / "pack"
        self.run("pack-objects", "--revs", "--quiet", str(target), stdin="\n".join([*wanted, ""]).encode(), seconds=900)

    def _env(self, more: Mapping[str, str] | None) -> dict[str, str]:
        env = {"GIT_DIR": str(self.folder)}
        if self.index:
            env["GIT_INDEX_FILE"] = str(self.index)
        if self.work_tree:
            env["GIT_WORK_TREE"] = str(self.work_tree)
        return {**env, **(more or {})}


@functools.lru_cache(maxsize=8)
def _index_of(repository: Git, tree: str) -> bytes:
    """Return the content of an index that holds ``tree``: diffs are applied to the same few trees again and again."""
    with scratch("index") as folder:
        replace(repository, index=folder / "index").run("read-tree", tree)
        return (folder / "index").read_bytes()


def run(
    words: Sequence[str],
    *,
    stdin: bytes = b"",
    cwd: Path,
    env: Mapping[str, str],
    seconds: float | None = None,
    fine: Sequence[int] = (0,),
) -> bytes:
    """Return what git prints. Raises GitError, and SourceError where the folder to run it in is gone."""
    command = _command(words)
    process = _start(words, cwd, env, seconds)
    try:
        stdout, stderr = process.communicate(stdin, timeout=seconds or _CLOCK_SECONDS)
    except subprocess.TimeoutExpired:
        raise _late(command, seconds or _CLOCK_SECONDS) from None
    finally:
        if process.returncode is None:  # not poll(): the pipes of a process that ends just now are to be closed too
            process.kill()
            process.communicate()
    if process.returncode not in fine:
        raise _failure(command, process.returncode, stderr, seconds, cwd)
    return stdout


def create(folder: Path) -> Git:
    """Make an empty bare repository that holds nothing of the machine's templates."""
    _initialise(folder, bare=True)
    return Git(folder)


def create_checkout(folder: Path) -> Git:
    """Make an empty repository with a work tree, the folder itself, which must not exist."""
    with _writing(folder):
        folder.mkdir(parents=True)
        _initialise(folder / ".git", bare=False)
        with (folder / ".git" / "config").open("a") as config:  # so that an agent can commit
            config.write("[user]\n\tname = agent\n\temail = agent@example.invalid\n")
        (folder / ".git" / "info" / "exclude").write_text("".join(f"{name}\n" for name in leftover_patterns().names))
    return Git(folder / ".git", work_tree=folder)


def lend(objects: str, to: Git) -> None:
    """Let a repository read the objects of another; a relative path counts from its own objects folder."""
    information = to.folder / "objects" / "info"
    information.mkdir(parents=True, exist_ok=True)
    (information / "alternates").write_bytes(os.fsencode(objects) + b"\n")


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Name the folder in what the system says of a write, which names no file where the disk is full."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, error.filename or str(folder)) from error


def _initialise(folder: Path, *, bare: bool) -> None:
    """Make a repository in a new folder, as git init does without templates; its branch is main."""
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = {str(bare).lower()}\n"
    )
    (folder / "info" / "attributes").write_text(_ATTRIBUTES)


def _start(words: Sequence[str], cwd: Path, env: Mapping[str, str], seconds: float | None) -> subprocess.Popen[bytes]:
    """Start a git command, given nothing of this process's environment but the search path, and within limits.

    git changes into ``cwd`` itself, so that one that is gone is git's to tell.
    """
    own = {"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT, **env}
    argv = ["git", *_SETTINGS, "-C", str(cwd.absolute()), *words]
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(argv, cwd="/", env=own, stdin=pipe, stdout=pipe, stderr=pipe)
    except FileNotFoundError:
        missing = f"there is no git on the search path; git {OLDEST_GIT} or later should be installed"
        raise GitError(_command(words), missing) from None
    _limit(process.pid, seconds)
    return process


def _limit(process: int, seconds: float | None) -> None:
    """Hold a process to these seconds of the processor; None: to the limits for files of a contestant or a set."""
    limits = {resource.RLIMIT_CPU: int(PROCESSOR_SECONDS if seconds is None else seconds), resource.RLIMIT_CORE: 0}
    if seconds is None:
        limits[resource.RLIMIT_AS] = MEMORY_MIB << 20
    for kind, most in limits.items():
        _, hard = resource.prlimit(process, kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)  # noqa: PLW2901 - what is allowed
        resource.prlimit(process, kind, (most, hard))


def _words_of(arguments: Sequence[str], settings: Mapping[str, str] | None) -> list[str]:
    return [*(part for name, value in (settings or {}).items() for part in ("-c", f"{name}={value}")), *arguments]


def _command(words: Sequence[str]) -> str:
    """Return the name of the git command: the first word that is no option or setting."""
    return next(word for word in words if not word.startswith("-") and "=" not in word)


def _failure(command: str, code: int, stderr: bytes, seconds: float | None, cwd: Path) -> SourceError:
    """Return the error that says why a command failed."""
    words = _words(stderr)
    if not cwd.is_dir():
        return _folder_gone_error(command, cwd)
    if code == -signal.SIGXCPU:
        most = PROCESSOR_SECONDS if seconds is None else seconds
        return GitError(command, f"it used the processor for more than {most:g} seconds")
    if seconds is None and ("Out of memory" in words or "mmap failed: Cannot allocate memory" in words):
        return GitError(command, f"{words}; it may use {MEMORY_MIB} MiB")
    return GitError(command, words or f"it ended with {code}")


def _late(command: str, seconds: float) -> GitSlow:
    return GitSlow(command, f"it took longer than {seconds:g} seconds")


def _folder_gone_error(command: str, folder: Path) -> SourceError:
    return SourceError(
        f"git {command} cannot run since {folder} is gone: run again, and remove nothing there while a run lasts"
    )


def _words(stderr: bytes) -> str:
    lines = [line.strip() for line in output_lines(stderr.decode("utf-8", "replace")) if line.strip()]
    telling = [line for line in lines if line.startswith(("error:", "fatal:"))]
    return (telling or lines or [""])[0][:500]
