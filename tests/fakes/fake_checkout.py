"""A checkout for the tests of reviewers and agents: real git clones in a folder, and commands that run unconfined."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab.clients.services import StepServices
from pytest_crab.errors import DiffRejected
from pytest_crab.model_access import ModelAccess, Models
from pytest_crab.protocols import Completed
from pytest_crab.runtimes.gateway_relay import relay_here
from pytest_crab.sources.branches import make_branches
from pytest_crab.sources.git_cli import Git, GitError, create_checkout
from pytest_crab.sources.git_trees import files_at
from pytest_crab.types import PullRequest, RevisionCommit

_WHO = {
    "GIT_AUTHOR_NAME": "pytest-crab",
    "GIT_AUTHOR_EMAIL": "crab@example.org",
    "GIT_AUTHOR_DATE": "2001-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "pytest-crab",
    "GIT_COMMITTER_EMAIL": "crab@example.org",
    "GIT_COMMITTER_DATE": "2001-01-01T00:00:00Z",
}


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The arguments with which a contestant opened a checkout; ``place`` is clone or workspace."""

    place: str
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    libraries: tuple[Path, ...] = ()
    network: bool = False
    models: ModelAccess | None = None


@dataclass(kw_only=True)
class FakeWorkspace:
    """A clone of the head; its commands see the whole machine, and of the environment what is named."""

    root: str
    folder: Path | None
    base: str
    models_url: str | None = None
    home: str | None = None
    environments: list[dict[str, str]] = field(default_factory=list)

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float
    ) -> Completed:
        """Run a command in the tree; a time-out kills its process group."""
        self.environments.append(dict(env or {}))
        process = subprocess.Popen(
            list(argv),
            cwd=self.root,
            env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        with process:
            try:
                stdout, stderr = process.communicate(stdin, timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                stdout, stderr = process.communicate()
                return Completed(exit_code=None, stdout=stdout, stderr=stderr, timed_out=True)
        code = process.returncode
        return Completed(exit_code=128 - code if code < 0 else code, stdout=stdout, stderr=stderr)

    def diff(self, since: str = "") -> str:
        """Return everything that changed since the head with the diff ``since``, new files too, as a git diff."""
        folder, before = Path(self.root), self.base
        if since:
            _git(folder, "read-tree", self.base)
            _git(folder, "apply", "--cached", "--whitespace=nowarn", "-", stdin=since.encode(errors="surrogateescape"))
            before = _git(folder, "write-tree").decode().strip()
        _git(folder, "add", "--all", "--force")
        return _git(folder, "diff", "--cached", "--binary", before).decode(errors="surrogateescape")

    def series(self, diff: str) -> tuple[RevisionCommit, ...]:
        """Return the diff as one commit that names no finding."""
        return (RevisionCommit(diff=diff),) if diff else ()

    def apply(self, diff: str) -> None:
        """Apply a git diff to the tree as it is now. Raises DiffRejected."""
        try:
            _git(Path(self.root), "apply", "--whitespace=nowarn", "-", stdin=diff.encode(errors="surrogateescape"))
        except GitError as error:
            raise DiffRejected(error.words) from error


class FakeCheckout:
    """A pull request of two commits in ``folder``, which must not exist; ``base`` and ``head`` map paths to contents.

    ``origin`` is the repository, ``openings`` lists the requests for checkouts, ``workspaces`` the checkouts, ``kept``
    the transcripts by their keys. ``gateway`` gives access to models; without one there is none.
    """

    def __init__(
        self,
        folder: Path,
        head: Mapping[str, bytes],
        base: Mapping[str, bytes] | None = None,
        gateway: Models | None = None,
        ecosystem: str | None = "python",
    ) -> None:
        self.ecosystem = ecosystem
        self.kept: dict[str, str] = {}
        self.services = StepServices(gateway, self._keep, trial="a test", step="a step")
        self.openings: list[Opening] = []
        self.workspaces: list[FakeWorkspace] = []
        self._folder = folder
        self.origin = folder / "origin"
        create_checkout(self.origin)
        self._base = self._commit(base or {}, "base")
        self._head = self._commit(head, "head")

    def base_files(self, path: str) -> Mapping[str, bytes]:
        """Return the files at and below a path of the base, by their paths."""
        return files_at(Git(self.origin / ".git"), self._base, path)

    def pull_request(self, *, title: str = "Change it", body: str = "") -> PullRequest:
        """Return this pull request as contestants are shown it."""
        diff = _git(self.origin, "diff", "--binary", self._base, self._head).decode(errors="surrogateescape")
        return PullRequest(
            repo="example/project",
            language="python",
            title=title,
            body=body,
            base=self._base,
            head=self._head,
            diff=diff,
        )

    @contextmanager
    def clone(
        self,
        *,
        readable: Sequence[Path] = (),
        writable: Sequence[Path] = (),
        libraries: Sequence[Path] = (),
        network: bool = False,
        models: ModelAccess | None = None,
    ) -> Iterator[FakeWorkspace]:
        """Open a clone that is removed afterwards; nothing confines its commands."""
        paths = {"readable": tuple(readable), "writable": tuple(writable), "libraries": tuple(libraries)}
        with self._open(Opening(place="clone", network=network, models=models, **paths)) as workspace:
            yield workspace

    @contextmanager
    def workspace(self, *, readable: Sequence[Path] = (), models: ModelAccess | None = None) -> Iterator[FakeWorkspace]:
        """Open a clone likewise, since a fake has no environment of its own."""
        with self._open(Opening(place="workspace", readable=tuple(readable), models=models)) as workspace:
            yield workspace

    def _keep(self, step: str, key: str, value: Any) -> None:
        del step
        self.kept[key] = value["text"]

    @contextmanager
    def _open(self, asked: Opening) -> Iterator[FakeWorkspace]:
        folder = self._folder / f"checkout-{len(self.openings)}"
        self.openings.append(asked)
        shutil.copytree(self.origin, folder, symlinks=True)
        make_branches(Git(folder / ".git"), self._base, self._head, "main")
        workspace = FakeWorkspace(root=str(folder), folder=folder, base=self._head)
        self.workspaces.append(workspace)
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, folder)
            if asked.models is not None:
                home = folder.with_name(f"{folder.name}-home")
                home.mkdir()
                stack.callback(shutil.rmtree, home)
                workspace.home = str(home)
                workspace.models_url = stack.enter_context(relay_here(asked.models))
            yield workspace

    def commit(self) -> None:
        """Commit whatever now lies in ``origin`` as the head."""
        self._head = self._commit_all("head")

    def _commit(self, files: Mapping[str, bytes], message: str) -> str:
        _git(self.origin, "rm", "-r", "--quiet", "--force", "--ignore-unmatch", ".")
        for name, content in files.items():
            path = self.origin / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return self._commit_all(message)

    def _commit_all(self, message: str) -> str:
        _git(self.origin, "add", "--all", "--force")
        _git(self.origin, "commit", "--quiet", "--allow-empty", f"--message={message}")
        return _git(self.origin, "rev-parse", "HEAD").decode().strip()


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    return Git(folder / ".git", work_tree=folder).run(*arguments, stdin=stdin, cwd=folder, env=_WHO)
