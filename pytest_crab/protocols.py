"""The seams of the house but those of scorers and models: the promises of an adapter of each family."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pytest_crab.errors import EngineError
from pytest_crab.model_access import ModelAccess, Services
from pytest_crab.types import Finding, Instance, PullRequest, Review, Revision, RevisionCommit

#: Folders inside a sandbox that are the harness's own: no tree lies in one, or around one.
OWN_PLACES = {
    "tmp": "/tmp",  # noqa: S108 - inside the sandbox
    "socket_folder": "/meet",
    "trees": "/opt/crab",
    "models": "/run/pytest-crab",
    "home": "/home/client",
}

# --- sources: where the code comes from ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file of a tree as it should be."""

    path: str
    #: Git's mode (100644, 100755, 120000).
    mode: str
    #: None removes the file.
    content: bytes | None


class Snapshot(Protocol):
    """The trees of one instance on this machine; never inside a sandbox.

    A tree is named by its git tree id.
    """

    #: The commit that the pull request starts from: the first of the two that contestants see as the history.
    base: str
    #: The tree of base.
    base_tree: str
    #: The commit that is reviewed: the second of these two.
    head: str
    #: The tree of head.
    head_tree: str
    #: The tree in which every comment is resolved.
    reference_tree: str

    def pull_request_diff(self) -> str:
        """The pull request as a git diff, base to head."""

    def apply(self, diff: str, onto: str | None = None) -> str:
        """The tree that ``diff`` makes of ``onto`` (head). Raises DiffRejected with git's own words."""

    def changes(self, tree: str) -> tuple[FileChange, ...]:
        """Return the changes that turn the head tree into ``tree``, sorted by path."""

    def diff(self, tree: str, since: str | None = None) -> str:
        """The git diff from the tree ``since`` (head) to ``tree``, which ``apply`` takes."""

    def read(self, tree: str, path: str) -> bytes | None:
        """A file's content in ``tree``; None if there is none."""

    def files_at(self, tree: str, path: str) -> Mapping[str, bytes]:
        """The files at and below a path of ``tree``, by their paths; links are followed within the tree."""

    def links(self, tree: str) -> Mapping[str, str]:
        """Return the target of each symbolic link of ``tree``, by path."""

    def tracked(self) -> frozenset[str]:
        """Return the path of every file of head."""

    @property
    def refs(self) -> frozenset[str]:
        """The names of all refs of a clone."""

    def clone(self, folder: Path) -> None:
        """Put a checkout of head with exactly the two commits into ``folder``, which must not exist.

        The head's branch is checked out; base is there under the names by which tools ask for it, without a remote.
        """

    def record(self, folder: Path, *, left: Collection[str] = ()) -> str:
        """The tree that a checkout's files are now; its own .git is not trusted and not read.

        ``left`` are paths whose content was too much, so that none of them may be of the tree. Raises DiffRejected.
        """

    def damage(self) -> str | None:
        """Read all that this machine keeps of the trees; return what is wrong with it, None if nothing is."""


class Fetcher(Protocol):
    """Brings the trees of instances of one kind of source to this machine."""

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        """Plain data that decides the trees, without reaching anything but the instance's own files."""

    def fetch(self, instance: Instance, cache: Path) -> Snapshot:
        """Bring the trees here. Raises SourceUnreachable or SourceError."""


# --- runtimes: where code runs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a sandbox, sizes in MiB: one profile for oracles, a larger one for clients, one for installs."""

    memory: int = 2048
    processes: int = 128
    cpus: float = 1.0
    disk: int = 1024
    file: int = 256


ORACLE_LIMITS = Limits()
CLIENT_LIMITS = Limits(memory=4096, processes=512, cpus=2.0, disk=4096, file=1024)
#: While an environment is built: a package may be one file of some gigabytes, and a compiler takes memory.
INSTALL_LIMITS = Limits(memory=8192, processes=1024, cpus=2.0, disk=24576, file=8192)
#: Seconds that an install may take.
INSTALL_SECONDS = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command for a sandbox; it ends by itself or with the deadline."""

    argv: Sequence[str]
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    #: ``project`` (owns the tree) or ``oracle`` (another user, who cannot be reached from the project's processes).
    user: str = "project"
    #: Whether it is the first process of its sandbox, where it is the sandbox's main command: the sandbox program's own
    #: one would hold the same streams, and other processes of the user could open them there.
    first: bool = False
    #: Whether it may mount within its sandbox, where the runtime can give that; it hands this right on to nothing.
    mounts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The end of a command."""

    #: None if the deadline, a cap or the end of its sandbox killed it.
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    out_of_memory: bool = False
    too_much_output: bool = False
    #: Set where no file system of its own ends its writing.
    too_much_disk: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An environment that is ready to run: what the harness must know about its inside."""

    #: The digest of everything that it was made of.
    key: str
    reference: str
    #: The pristine built tree.
    tree: str
    #: The path at which the tree is to lie.
    workdir: str
    #: The interpreter.
    interpreter: str
    #: The folders that hold its packages.
    site: tuple[str, ...]
    #: A writable folder.
    scratch: str = "/tmp"  # noqa: S108 - inside the sandbox
    #: Whether a sandbox has a process space of its own, so that everything in it may be killed.
    contained: bool = True
    #: The paths of the modules of the tree that the install compiled.
    compiled: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallResult:
    """The files that the install of a revised tree made otherwise than head's, by path."""

    #: Texts of the project's own distribution.
    metadata: Mapping[str, str] = field(default_factory=dict)
    #: Files of the tree, each compressed by zlib and in base64; None: it is gone.
    compiled: Mapping[str, str | None] = field(default_factory=dict)
    #: Files among the packages, likewise.
    modules: Mapping[str, str | None] = field(default_factory=dict)


class Workspace(Protocol):
    """One isolated checkout of the pull request's head that lives until its context ends."""

    #: The path at which commands see the tree.
    root: str
    #: The gateway's address for commands (http://127.0.0.1:PORT); None if the workspace has no models.
    models_url: str | None
    #: A client's home, if opened with models: empty at first, outside TMPDIR, gone with the workspace.
    home: str | None
    #: The same tree on the host, where there is such a place.
    folder: Path | None

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float
    ) -> Completed:
        """Run a command in the tree; a time-out ends it with all its descendants. Raises EngineError, Cancelled."""

    def diff(self, since: str = "") -> str:
        """Everything that changed since head with the diff ``since``, as a git diff.

        What commands left running may be ended first.
        """

    def series(self, diff: str) -> tuple[RevisionCommit, ...]:
        """The commits behind ``diff``, which this object's ``diff`` returned, as the workspace's own history has them.

        Together they are ``diff``: what is in no commit is one last commit without a finding. What they claim is the
        contestant's word. None where ``diff`` is empty; one where the history cannot be read as such a series.
        Raises EngineError, Cancelled.
        """


class Clone(Workspace, Protocol):
    """A workspace on the host, whose files can be changed without a command."""

    def apply(self, diff: str) -> None:
        """Apply a git diff to the tree as it is now. Raises DiffRejected, and then nothing has changed."""


def refuse_unconfined() -> None:
    """Raise EngineError: nothing is permitted without a sandbox."""
    raise EngineError("this command needs a sandbox, and there is none on this host")


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneRequest:
    """The settings of a clone on the host."""

    #: Trees that its commands see at the same paths.
    readable: Sequence[Path] = ()
    #: Trees that they see and may write, at the same paths.
    writable: Sequence[Path] = ()
    #: Programs of the system that they do not see.
    masked: Sequence[Path] = ()
    #: What its commands may use.
    limits: Limits = CLIENT_LIMITS
    #: Whether they reach the internet, though nothing of this machine.
    network: bool = False
    #: Its way to the models; None: it reaches none.
    models: ModelAccess | None = None
    #: Called before anything runs without a sandbox; it raises EngineError where that is not allowed.
    require_sandbox: Callable[[], None] = refuse_unconfined


class Runtime(Protocol):
    """A maker of sandboxes: no network, not root, limits on memory, processes, CPU, disk and time."""

    name: str

    def has_interpreter(self, version: str) -> bool:
        """Return whether environments of CPython X.Y can be made here. Raises EngineError, ImageError, Cancelled."""

    def interpreter_advice(self, version: str) -> str:
        """Return what is missing for CPython X.Y, of which no environment can be made here, and the ways to have it."""

    def identity(self, instance: Instance, source: Mapping[str, Any]) -> Mapping[str, Any]:
        """Plain data that decides the image and how it is run, without building it."""

    def prepare(self, instance: Instance, snapshot: Snapshot, source: Mapping[str, Any]) -> Image:
        """Find or build the image, one builder per digest on a machine. Raises ImageError, EngineError, Cancelled."""

    def discard(
        self, instance: Instance, source: Mapping[str, Any], keep: Sequence[tuple[Instance, Mapping[str, Any]]]
    ) -> None:
        """Remove an instance's environment if nothing else uses it, but for what it shares with those of ``keep``.

        Raises ImageError, EngineError, OSError.
        """

    def execute(
        self, image: Image, commands: Sequence[Command], *, limits: Limits, seconds: float
    ) -> tuple[Completed, ...]:
        """Run commands beside each other in one fresh sandbox; it and all in it are gone afterwards.

        Raises EngineError, Cancelled.
        """

    def reinstall(self, image: Image, instance: Instance, snapshot: Snapshot, tree: str) -> InstallResult:
        """Run the install on a revised tree in a sandbox of its own, without network and with nothing of head's built.

        Raises InstallFailed, EngineError, Cancelled.
        """

    def workspace(
        self,
        image: Image,
        snapshot: Snapshot,
        *,
        limits: Limits,
        readable: Sequence[Path] = (),
        models: ModelAccess | None = None,
    ) -> AbstractContextManager[Workspace]:
        """A checkout of head inside a sandbox, with git's two commits, no network but for the gateway's socket."""

    def clone(self, snapshot: Snapshot, request: CloneRequest) -> AbstractContextManager[Clone]:
        """A throw-away clone of head on the host, whose commands are the host's own programs.

        They run in a sandbox, or without one where there is none and ``request.require_sandbox`` allows it. Nothing is
        asked or started before the first command: files can be read, changed and compared on any host.
        """

    def stop(self) -> None:
        """End everything that this object started, from any thread; what waits for it raises Cancelled."""

    def sweep(self) -> Sequence[str]:
        """Remove what dead runs left behind; the names of what was removed."""

    def close(self) -> None:
        """Give back connections and scratch folders; nothing of this run is left."""


# --- contestants -----------------------------------------------------------------------------------------------------


class Checkout(Protocol):
    """The code for one reviewer or agent: file trees and commands in them, gone when their context ends."""

    #: The services of the step that this checkout was made for.
    services: Services

    @property
    def ecosystem(self) -> str | None:
        """The name of the ecosystem that the instance's environment is for; None: it has no environment."""

    def base_files(self, path: str) -> Mapping[str, bytes]:
        """The files at and below a path of the base, which the pull request has not touched yet, by their paths."""

    def clone(
        self,
        *,
        readable: Sequence[Path] = (),
        writable: Sequence[Path] = (),
        libraries: Sequence[Path] = (),
        network: bool = False,
        models: ModelAccess | None = None,
    ) -> AbstractContextManager[Clone]:
        """A throw-away clone on the host, whose commands run confined and see only it and the paths named.

        ``libraries`` are what programs need: they may hold places that no contestant may see, which look empty then.
        """

    def workspace(
        self, *, readable: Sequence[Path] = (), models: ModelAccess | None = None
    ) -> AbstractContextManager[Workspace]:
        """A checkout inside the instance's own environment, without network but for the gateway.

        ``readable`` trees are found at the same paths inside, read-only.
        """


class Reviewer(Protocol):
    """A contestant: reads a pull request, returns findings.

    ``identity`` is plain data that decides the review besides the pull request (settings, client version); None means
    that nothing is known to, so a review is reused only to resume an interrupted run.
    """

    def identity(self) -> Mapping[str, Any] | None:
        """Plain data that decides the review besides the pull request; None if the review belongs to one run."""

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """Review the pull request. Raises ReviewerError, ModelError, Cancelled."""


class Agent(Protocol):
    """A coding agent: acts on findings, returns a diff from head. ``simulated``: it understands no finding."""

    @property
    def simulated(self) -> bool:
        """True if every report must say that this agent is simulated."""

    def identity(self) -> Mapping[str, Any] | None:
        """Plain data that decides the revision besides pull request and findings; None if it belongs to one run."""

    def revise(self, pull_request: PullRequest, findings: Sequence[Finding], checkout: Checkout) -> Revision:
        """Revise the code. Raises AgentError, ModelError, Cancelled."""


class PrivilegedReviewer(Protocol):
    """Makes a reviewer that is shown the answer: an upper bound or a smoke test, and labelled as such.

    One whose class says ``leaky = True`` is bound like this to learn where the public pull request is, and no more.
    """

    def bind(self, instance: Instance) -> Reviewer:
        """The reviewer for this instance."""


class PrivilegedAgent(Protocol):
    """Makes an agent that is shown the answer, and labelled as such."""

    @property
    def simulated(self) -> bool:
        """True if every report must say that this agent is simulated."""

    def bind(self, instance: Instance) -> Agent:
        """The agent for this instance."""


# --- memory ----------------------------------------------------------------------------------------------------------


class Store(Protocol):
    """Content-addressed memory of finished steps: written aside, then renamed; nothing is ever half-read."""

    def get(self, step: str, key: str) -> Any | None:
        """The plain value that was put, or None. A damaged object is moved aside and counts as absent."""

    def get_all(self, step: str, keys: Iterable[str]) -> dict[str, Any]:
        """The values that ``get`` returns of these objects of one step, by key."""

    def put(self, step: str, key: str, value: Any) -> None:
        """Keep a plain value, durably, before returning, and drop its notes. Raises StoreError."""

    def lock(self, step: str, key: str, stopped: threading.Event | None = None) -> AbstractContextManager[None]:
        """Hold the right to make this one object, across threads and processes.

        Raises Cancelled once ``stopped`` is set while another process holds it.
        """

    def forget(self, step: str, key: str) -> None:
        """Drop one object, if it is there."""

    def note(self, step: str, key: str, value: Any) -> None:
        """Keep a part of an object that is being made, in case this process is killed. Raises StoreError."""

    def notes(self, step: str, key: str) -> list[Any]:
        """The parts that were noted of an object, in their order. Raises StoreError."""

    def drop_notes(self, step: str, key: str) -> None:
        """Drop the parts of an object, if there are any. Raises StoreError."""
