"""Run git through GitPython with exact arguments, a fixed small environment and limits; see ``Git``."""

from __future__ import annotations

import functools
import os
import resource
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from pytest_crab.ecosystems import LEFTOVERS
from pytest_crab.errors import SourceError
from pytest_crab.scratch import scratch
from pytest_crab.sources.requirements import OLDEST_GIT
from pytest_crab.text import output_lines


@contextmanager
def _quiet_import() -> Iterator[None]:
    """Keep GitPython from failing at import where there is no git; a command that needs git reports that."""
    variable = "GIT_PYTHON_REFRESH"
    before = os.environ.get(variable)
    os.environ[variable] = "quiet"
    try:
        yield
    finally:
        del os.environ[variable]
        os.environ.update({variable: before} if before is not None else {})


with _quiet_import():
    import git
    import git.exc

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


class _Commands(git.cmd.Git):
    """GitPython's commands, given nothing of this process's environment but the search path, and within limits."""

    #: None: the limits for files of a contestant or a set; else seconds of the processor, and any memory.
    seconds: float | None = None

    def execute(self, command: Any, *_rest: Any, env: Mapping[str, str] | None = None, **_options: Any) -> Any:
        """Start a command and return its process, which is what GitPython's readers ask for too.

        GitPython itself would add this process's whole environment. Raises GitError where there is no git.
        """
        own = {"PATH": os.environ.get("PATH", os.defpath), **_ENVIRONMENT, **self.environment(), **(env or {})}
        argv = ["git", *_SETTINGS, *command[1:]]
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(argv, cwd=self.working_dir, env=own, stdin=pipe, stdout=pipe, stderr=pipe)
        except FileNotFoundError as error:
            if error.filename != argv[0]:
                raise  # the folder is gone
            missing = f"there is no git on the search path; git {OLDEST_GIT} or later should be installed"
            raise GitError(_command(command[1:]), missing) from None
        self._limit(process.pid)
        return git.cmd.Git.AutoInterrupt(process, argv)

    def _limit(self, process: int) -> None:
        processor = int(PROCESSOR_SECONDS if self.seconds is None else self.seconds)
        limits = {resource.RLIMIT_CPU: processor, resource.RLIMIT_CORE: 0}
        if self.seconds is None:
            limits[resource.RLIMIT_AS] = MEMORY_MIB << 20
        for kind, most in limits.items():
            _, hard = resource.prlimit(process, kind)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)  # noqa: PLW2901 - what is allowed
            resource.prlimit(process, kind, (most, hard))


class _Repository(git.Repo):
    """GitPython's repository, whose commands are ours, made without a look at this process's environment."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self.git_dir = self.working_dir = str(folder)
        self._common_dir = ""
        self._working_tree_dir = None
        self._bare = True
        self.git = _Commands(folder)
        self.git.update_environment(**env)
        self.odb = git.GitCmdObjectDB(str(folder / "objects"), self.git)


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
        repository = _Repository(self.folder, self._env(None))
        try:
            yield repository
        except (git.exc.GitError, git.exc.ODBError, ValueError, OSError) as error:
            if not (self.folder / "HEAD").is_file():
                raise _folder_gone_error("cat-file", self.folder) from None
            raise SourceError(f"{self.folder} cannot be read ({str(error)[:500]})") from error
        finally:
            repository.close()

    def has(self, name: str) -> bool:
        """Return whether the repository has an object."""
        try:
            self.run("cat-file", "-e", name)
        except GitError:
            return False
        return True

    @contextmanager
    def with_index(self, tree: str | None) -> Iterator[Git]:
        """Yield the same repository with a temporary index that holds ``tree``."""
        with scratch("index") as folder:
            indexed = replace(self, index=folder / "index")
            (folder / "index").write_bytes(_index_of(self, tree))
            yield indexed

    def commit(self, tree: str, message: str, parent: str | None = None) -> str:
        """Make a commit whose id is decided by its arguments alone."""
        parents = ["-p", parent] if parent else []
        return self.line("commit-tree", tree, *parents, "-m", message, env=_WHO)

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
def _index_of(repository: Git, tree: str | None) -> bytes:
    """Return the content of an index that holds ``tree``: diffs are applied to the same few trees again and again."""
    with scratch("index") as folder:
        replace(repository, index=folder / "index").run("read-tree", tree or "--empty")
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
    started = _start(words, cwd, env, seconds)
    process = started.proc
    assert process is not None
    try:
        stdout, stderr = process.communicate(stdin, timeout=seconds or _CLOCK_SECONDS)
    except subprocess.TimeoutExpired:
        raise _late(command, seconds or _CLOCK_SECONDS) from None
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    if process.returncode not in fine:
        raise _failure(command, process.returncode, stderr, seconds, cwd)
    return bytes(stdout)


def create(folder: Path) -> Git:
    """Make an empty bare repository that holds nothing of the machine's templates."""
    initialise(folder, folder, "--bare")
    return Git(folder)


def create_checkout(folder: Path) -> Git:
    """Make an empty repository with a work tree, the folder itself, which must not exist."""
    initialise(folder, folder / ".git")
    with (folder / ".git" / "config").open("a") as config:  # so that an agent can commit
        config.write("[user]\n\tname = agent\n\temail = agent@example.invalid\n")
    (folder / ".git" / "info" / "exclude").write_text("".join(f"{name}\n" for name in LEFTOVERS.names))
    return Git(folder / ".git", work_tree=folder)


def lend(objects: str, to: Git) -> None:
    """Let a repository read the objects of another; a relative path counts from its own objects folder."""
    information = to.folder / "objects" / "info"
    information.mkdir(parents=True, exist_ok=True)
    (information / "alternates").write_bytes(os.fsencode(objects) + b"\n")


def initialise(folder: Path, own: Path, *options: str) -> None:
    """Run git init without templates in a new folder; ``own`` is the repository in it, whose branch is main."""
    folder.mkdir(parents=True)
    run(["init", "--quiet", "--template=", *options, str(folder)], cwd=folder, env={})
    (own / "HEAD").write_text("ref: refs/heads/main\n")  # git 2.25 knows no --initial-branch
    (own / "info").mkdir(exist_ok=True)
    (own / "info" / "attributes").write_text(_ATTRIBUTES)


def _start(words: Sequence[str], cwd: Path, env: Mapping[str, str], seconds: float | None) -> Any:
    """Start a git command, which changes into ``cwd`` itself: GitPython would stay where it is if that is gone."""
    commands = _Commands("/")
    commands.seconds = seconds
    return commands.execute(["git", "-C", str(cwd.absolute()), *words], env=env)


def _words_of(arguments: Sequence[str], settings: Mapping[str, str] | None) -> list[str]:
    return [*(part for name, value in (settings or {}).items() for part in ("-c", f"{name}={value}")), *arguments]


def _command(words: Sequence[str]) -> str:
    """Return the name of the git command: the first word that is no option, setting or folder."""
    return next(word for word in words if not word.startswith("-") and not {"=", "/"} & set(word))


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
