"""Runs git: exact arguments, a fixed small environment, no configuration, hooks or prompts of the machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_crab.errors import SourceError

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

#: Whatever a tree's .gitattributes ask for: bytes go in and out as they are, and text is told from binary by content.
_ATTRIBUTES = "* -text -ident !eol !crlf !filter !working-tree-encoding !diff !whitespace\n"

#: One name and one moment for every commit, so that a commit's id is decided by its trees alone.
_WHO = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "pytest-crab"), ("EMAIL", "pytest-crab@example.invalid"), ("DATE", "946684800 +0000"))
}


class GitError(SourceError):
    """A git command failed; ``words`` is the first line in which git says why."""

    def __init__(self, command: str, words: str) -> None:
        super().__init__(f"git {command} failed: {words}")
        self.words = words


@dataclass(frozen=True, slots=True)
class Git:
    """One bare repository, and the index and work tree (if any) that its commands use."""

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
        seconds: float = 300,
        fine: Sequence[int] = (0,),
    ) -> bytes:
        """Return what a git command prints; ``fine`` are the exit codes of a success.

        Raises GitError, and SourceError where the repository is gone, which is no matter of what it was asked.
        """
        extra = [part for name, value in (settings or {}).items() for part in ("-c", f"{name}={value}")]
        argv = ["git", *_SETTINGS, *extra, *arguments]
        full = {**self._env(), **(env or {})}
        try:
            return run(argv, stdin=stdin, cwd=cwd or self.folder, env=full, seconds=seconds, fine=fine)
        except GitError:
            if not (self.folder / "HEAD").is_file():
                raise _gone(arguments[0], self.folder) from None
            raise

    def line(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Return the one line that a git command prints."""
        return self.run(*arguments, stdin=stdin, env=env).decode().strip()

    def has(self, name: str) -> bool:
        """Whether an object is here."""
        try:
            self.run("cat-file", "-e", name)
        except GitError:
            return False
        return True

    @contextmanager
    def with_index(self, tree: str | None) -> Iterator[Git]:
        """The same repository with an index of its own that holds ``tree``, gone afterwards."""
        with TemporaryDirectory(prefix="crab-index-") as folder:
            git = replace(self, index=Path(folder, "index"))
            git.run("read-tree", tree or "--empty")
            yield git

    def commit(self, tree: str, message: str, parent: str | None = None) -> str:
        """Make a commit whose id is decided by its arguments alone."""
        parents = ["-p", parent] if parent else []
        return self.line("commit-tree", tree, *parents, "-m", message, env=_WHO)

    def pack(self, wanted: Sequence[str], into: Git) -> None:
        """Copy objects and all they hold into another repository; names that start with ^ are there already."""
        target = into.folder / "objects" / "pack" / "pack"
        self.run("pack-objects", "--revs", "--quiet", str(target), stdin="\n".join([*wanted, ""]).encode(), seconds=900)

    def _env(self) -> dict[str, str]:
        env = {"GIT_DIR": str(self.folder)}
        if self.index:
            env["GIT_INDEX_FILE"] = str(self.index)
        if self.work_tree:
            env["GIT_WORK_TREE"] = str(self.work_tree)
        return env


def run(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    cwd: Path,
    env: Mapping[str, str],
    seconds: float,
    fine: Sequence[int] = (0,),
) -> bytes:
    """Run git with nothing of this process's environment but the search path.

    Raises GitError, and SourceError where the folder to run it in is gone.
    """
    fixed = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOW_PROTOCOL": "https",
    }
    command = next(part for part in argv[1:] if part != "-c" and "=" not in part)
    try:
        done = subprocess.run(
            argv, input=stdin, cwd=cwd, env={**fixed, **env}, capture_output=True, timeout=seconds, check=False
        )
    except (FileNotFoundError, NotADirectoryError):
        if not cwd.is_dir():
            raise _gone(command, cwd) from None
        raise GitError(command, "there is no git on the search path; git 2.30 or later should be installed") from None
    except subprocess.TimeoutExpired:
        raise GitError(command, f"it took longer than {seconds:g} seconds") from None
    if done.returncode not in fine:
        raise GitError(command, _words(done.stderr) or f"it ended with {done.returncode}")
    return done.stdout


def create(folder: Path) -> Git:
    """Make an empty bare repository that holds nothing of the machine's templates."""
    initialise(folder, "--bare")
    _settle_attributes(folder)
    return Git(folder)


def create_checkout(folder: Path) -> Git:
    """Make an empty repository with a work tree, the folder itself, which must not exist."""
    initialise(folder)
    _settle_attributes(folder / ".git")
    return Git(folder / ".git", work_tree=folder)


def lend(objects: str, to: Git) -> None:
    """Let a repository read the objects of another; a relative path counts from its own objects folder."""
    information = to.folder / "objects" / "info"
    information.mkdir(parents=True, exist_ok=True)
    (information / "alternates").write_bytes(os.fsencode(objects) + b"\n")


def initialise(folder: Path, *options: str) -> None:
    """Run git init without templates, on the branch main."""
    folder.mkdir(parents=True)
    argv = ["git", *_SETTINGS, "init", "--quiet", "--template=", "--initial-branch=main", *options, str(folder)]
    run(argv, cwd=folder, env={}, seconds=60)


def _settle_attributes(folder: Path) -> None:
    (folder / "info").mkdir(exist_ok=True)
    (folder / "info" / "attributes").write_text(_ATTRIBUTES)


def _gone(command: str, folder: Path) -> SourceError:
    return SourceError(
        f"git {command} cannot run since {folder} is gone: run again, and remove nothing there while a run lasts"
    )


def _words(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("error:", "fatal:"))]
    return (telling or lines or [""])[0][:500]
