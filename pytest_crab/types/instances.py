"""The instance: one pull request with its environment, comments and oracles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_crab.errors import ImageError
from pytest_crab.types.enums import Category, Isolation, Kind, Provenance, Side
from pytest_crab.types.runs import OraclePart
from pytest_crab.types.trials import SCHEMA

#: Stands for the repository of an instance whose data set does not name it.
UNNAMED_REPOSITORY = "not-in-the-release/unknown"

#: The dimension of labels that says which language an instance is in.
LANGUAGE = "language"

INSTANCE_ID = re.compile(r"[A-Za-z0-9._@-]{1,120}")

#: The kinds of source.
_KINDS = ("git", "commit", "sdist", "tree", "snippet")

_COMMENT_ID = re.compile(r"[A-Za-z0-9._-]{1,40}")
_SHA = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestFacts:
    """Public facts of the pull request; a reviewer sees title, body and the name of the base branch only."""

    number: int
    title: str
    body: str = ""
    base_branch: str = "main"
    url: str | None = None
    merged_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSource:
    """A real pull request: full shas in a public repository."""

    url: str
    #: The merge base.
    base: str
    head: str
    #: The commit that resolves the comments, which oracles are proved on; None where no oracle needs it.
    merged: str | None = None

    def __post_init__(self) -> None:
        for name in ("base", "head", "merged"):
            if not _SHA.fullmatch(getattr(self, name) or self.head):
                raise ValueError(f"{name} is not a full sha of 40 hex digits")


@dataclass(frozen=True, slots=True, kw_only=True)
class SdistSource:
    """A released package and a pull request on it."""

    name: str
    version: str
    sha256: str
    #: A diff from the sdist.
    head: str
    #: A diff from head.
    reference: str

    def __post_init__(self) -> None:
        if not _SHA256.fullmatch(self.sha256):
            raise ValueError("sha256 is not 64 hex digits")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSource:
    """A folder of the instance or of its set (../), and a pull request on it."""

    path: str
    head: str
    #: A diff from head.
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSource:
    """A commit of a public repository, and a pull request on it."""

    url: str
    sha: str
    #: A diff from the commit to the base, such as what takes a test out; None: the commit is the base.
    before: str | None = None
    head: str
    #: A diff from head.
    reference: str

    def __post_init__(self) -> None:
        if not _SHA.fullmatch(self.sha):
            raise ValueError("sha is not a full sha of 40 hex digits")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnippetSource:
    """A piece of one file without its repository: files of the instance that hold it at head and at the reference."""

    head: str
    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The source of the code: exactly one of the five."""

    git: GitSource | None = None
    commit: CommitSource | None = None
    sdist: SdistSource | None = None
    tree: TreeSource | None = None
    snippet: SnippetSource | None = None

    def __post_init__(self) -> None:
        if sum(getattr(self, kind) is not None for kind in _KINDS) != 1:
            raise ValueError("exactly one of git, commit, sdist, tree and snippet is needed")

    @property
    def only(self) -> GitSource | CommitSource | SdistSource | TreeSource | SnippetSource:
        """The kind of source that is set."""
        only = self.git or self.commit or self.sdist or self.tree or self.snippet
        assert only is not None
        return only

    @property
    def key(self) -> str:
        """The key of the kind that is set."""
        return next(kind for kind in _KINDS if getattr(self, kind) is not None)

    @property
    def repository(self) -> str | None:
        """The address of the repository whose commits have the code; None where it comes from elsewhere."""
        of = self.git or self.commit
        return None if of is None else of.url

    @property
    def files(self) -> Mapping[str, str]:
        """The files of the instance that make the pull request, by their key; none where commits do."""
        only = self.only
        if isinstance(only, GitSource):
            return {}
        before = self.commit.before if self.commit is not None else None
        own = {"head": only.head, "reference": only.reference}
        return own if before is None else {"before": before, **own}

    @property
    def diffs(self) -> Mapping[str, str]:
        """Those of them that are diffs, and no whole files."""
        return {} if self.snippet is not None else self.files


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The environment that the code runs in; paths are relative to the tree."""

    dockerfile: str | None = None
    image: str | None = None
    python: str | None = None
    #: The version of node that it is for: packages are npm's, and node or jest runs its oracles.
    node: str | None = None
    #: The ecosystem that it is for and the version of its tools; ``python`` and ``node`` are keys of their own for
    #: these two, and hold what is written so.
    ecosystem: str | None = None
    version: str | None = None
    packages: tuple[str, ...] = ()
    #: The moment as of which packages were chosen (2019-04-11T15:02:59Z): later files are not taken, nor dependencies
    #: added.
    resolved: str | None = None
    system: tuple[str, ...] = ()
    install: tuple[str, ...] = ()
    #: The commands that build the tree: after those of ``install``, and again in each state before anything runs there.
    #: None: there are none, and no part of the digest.
    build: tuple[str, ...] | None = None
    paths: tuple[str, ...] = (".",)
    workdir: str = "/workspace"
    env: Mapping[str, str] = field(default_factory=dict)
    #: The seconds for each oracle with its build, and for the install of a revised tree.
    timeout: int = 120

    def __post_init__(self) -> None:
        if self.ecosystem is not None:
            self._settle(self.ecosystem)
        if (self.dockerfile is None) == (self.image is None):
            raise ValueError("exactly one of dockerfile and image is needed")
        if self.timeout <= 0:
            raise ValueError("timeout should be a number of seconds above 0")

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands that make head's built tree."""
        return (*self.install, *(self.build or ()))

    def _settle(self, ecosystem: str) -> None:
        """Take the ecosystem's own Dockerfile where none is named, and write the version to a key of its own."""
        if self.dockerfile is None and self.image is None:
            object.__setattr__(self, "dockerfile", ecosystem)
        if ecosystem in ("python", "node"):
            own = getattr(self, ecosystem)
            if self.version is not None and own is not None and own != self.version:
                raise ValueError(f"version and {ecosystem} are two; write one of them")
            object.__setattr__(self, ecosystem, own if self.version is None else self.version)
            object.__setattr__(self, "ecosystem", None)
            object.__setattr__(self, "version", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """The executable test of one comment: red on the pull request, green once the comment is resolved."""

    file: str
    #: The test runner: pytest, or one of another ecosystem.
    runner: str = "pytest"
    #: The folder of the tree that its file belongs to, for runners whose tests lie beside the code;
    #: None: the tree's own.
    folder: str | None = None
    isolation: Isolation = Isolation.NONE
    plugins: tuple[str, ...] = ()
    #: The things that the comment asks for, all of which a green oracle has; None: it is one, and no part of the
    #: digest.
    parts: tuple[OraclePart, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A review comment of a human. One without an oracle has no kind, and no oracle scores it."""

    id: str
    path: str
    #: The lines on ``side``, from 1 and inclusive; None: the whole file.
    lines: tuple[int, int] | None = None
    side: Side = Side.RIGHT
    body: str
    url: str | None = None
    #: A dimension of its own, with the closed words of arXiv 2603.23448.
    category: Category | None = None
    #: The same.
    kind: Kind | None = None
    #: The words of any other dimension (severity, context).
    labels: Mapping[str, str] = field(default_factory=dict)
    oracle: Oracle | None = None
    reference: str | None = None
    accepts: tuple[str, ...] = ()
    rejects: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _COMMENT_ID.fullmatch(self.id):
            raise ValueError("id should be 1 to 40 letters, digits, dots, underscores or hyphens")
        if self.lines is not None and not 1 <= self.lines[0] <= self.lines[1]:
            raise ValueError("lines should be [first, last], counted from 1")
        if self.oracle is not None and self.kind is None:
            raise ValueError("kind is missing; it says whether the oracle is behavioral or structural")
        if self.oracle is None and (self.kind or self.reference or self.accepts or self.rejects):
            raise ValueError("oracle is missing; kind, reference, accepts and rejects say something about one")
        if self.labels and (self.category is not None or self.kind is not None):
            doubled = sorted({"category", "kind"} & set(self.labels))
            if doubled:
                raise ValueError(f"labels.{doubled[0]} stands beside {doubled[0]}; write one of them")

    @property
    def dimensions(self) -> dict[str, str]:
        """Every label of the comment, by dimension."""
        own = {"category": self.category, "kind": self.kind}
        return {**{name: word.value for name, word in own.items() if word is not None}, **self.labels}

    @property
    def required_oracle(self) -> Oracle:
        """The oracle; asked only of comments that have one (see Instance.with_oracles)."""
        assert self.oracle is not None
        return self.oracle


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """One pull request with its environment, comments and oracles."""

    schema: int = SCHEMA
    id: str
    #: The folder of its files.
    folder: str
    provenance: Provenance
    repo: str
    language: str = "python"
    license: str
    pull_request: PullRequestFacts
    source: Source
    environment: Environment | None = None
    comments: tuple[Comment, ...]
    #: Whether it is known to have no issue, so that every finding on it is a false alarm.
    clean: bool = False
    #: A command of the project, or the runner of its own tests and files of them.
    pass_to_pass: tuple[str, ...] = ()
    #: Diffs from head of right changes that no comment asks for: oracles must not mind them.
    company: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    #: Keys of the file that benchmarks add (registry.Benchmark.fields), with their values as plain data.
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.schema != SCHEMA:
            raise ValueError(f"schema {self.schema} is not known here; this version reads {SCHEMA}")
        if not INSTANCE_ID.fullmatch(self.id):
            raise ValueError("id should be 1 to 120 letters, digits or any of . _ @ -")
        if not self.comments and not self.clean:
            raise ValueError("an instance without comments measures nothing; one that is known to have none is clean")
        if self.comments and self.clean:
            raise ValueError("clean says that there is no issue; remove the comments or clean")
        ids = [comment.id for comment in self.comments]
        if len(set(ids)) != len(ids):
            raise ValueError("two comments have the same id")
        if self.company and not self.with_oracles:
            raise ValueError("company is there for oracles, and no comment has one")
        if self.environment is None and (self.with_oracles or self.pass_to_pass):
            raise ValueError("environment is missing; oracles and pass_to_pass run in it")
        if self.source.git is not None and self.source.git.merged is None and self.with_oracles:
            raise ValueError("source.git.merged is missing; oracles are proved on it")

    @property
    def required_environment(self) -> Environment:
        """The environment; asked for only where code is run. Raises ImageError where there is none."""
        if self.environment is None:
            raise ImageError(f"{self.id} has no environment, so no code can be run: add `environment` to its file")
        return self.environment

    @property
    def project(self) -> str:
        """The name by which an index of packages is likely to know the project."""
        return self.source.sdist.name if self.source.sdist else self.repo.rsplit("/", 1)[-1]

    @property
    def with_oracles(self) -> tuple[Comment, ...]:
        """The comments that have an oracle, in order; none where the instance is there to be read."""
        return tuple(comment for comment in self.comments if comment.oracle is not None)
