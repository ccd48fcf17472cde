"""Draft an instance's pull request from a repository, a release or a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path

from pytest_crab import diffs
from pytest_crab.curation import licences
from pytest_crab.curation.locations import Location, hunk_locations
from pytest_crab.curation.template import draft_comments, language_of
from pytest_crab.ecosystems import DEFAULT, DEFAULT_RUNNER, of_language
from pytest_crab.ecosystems.interpreters import environment_of, running_version
from pytest_crab.errors import BadInput
from pytest_crab.git_mirror import owner_and_name
from pytest_crab.instances.files import LINK, pristine
from pytest_crab.instances.placeholders import PLACEHOLDER
from pytest_crab.sources.authored_diffs import author_diffs, unpacked_release
from pytest_crab.sources.git import GitFetcher
from pytest_crab.sources.pull_request import PullRequestQuery, find_pull
from pytest_crab.text import split_lines
from pytest_crab.types import (
    Environment,
    GitSource,
    Instance,
    Provenance,
    PullRequestFacts,
    SdistSource,
    Side,
    Source,
    TreeSource,
)

HEAD, REFERENCE = "head.diff", "reference.diff"
_TIMEOUT = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestDraft:
    """The facts of a new instance."""

    id: str
    repo: str
    provenance: Provenance
    facts: PullRequestFacts
    source: Source
    diff: str
    #: Returns a file at head.
    read: Callable[[str], bytes | None]
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    #: Comment lines by key.
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Sentences for who makes it.
    warnings: tuple[str, ...] = ()

    def instance(self, folder: Path, places: Sequence[Location]) -> Instance:
        """Return the instance with a comment at each place, else at the first hunk. Raises BadInput."""
        language = language_of(sorted(diffs.touched_paths(self.diff)) or [place.path for place in places])
        where = list(places) or list(hunk_locations(self.diff))[:1] or [Location(path="README.md", lines=None)]
        problems = [problem for place in places if (problem := self._fault(place)) is not None]
        if problems:
            raise BadInput("--comment", problems)
        runner, environment = self._draft(language)
        return Instance(
            id=folder.name,
            folder=str(folder.absolute()),
            provenance=self.provenance,
            repo=self.repo,
            language=language,
            license=licences.detect_licence(self.read),
            pull_request=self.facts,
            source=self.source,
            environment=replace(environment, timeout=_TIMEOUT),
            comments=draft_comments(where, language, runner),
        )

    def _fault(self, place: Location) -> str | None:
        content = self.read(place.path)
        if content is None:
            return f"{place.path} is no file at head"
        length = len(split_lines(content))
        if place.side is Side.RIGHT and place.lines is not None and place.lines[1] > length:
            return f"{place} points behind the end: the file has {length} lines at head"
        return None

    def _draft(self, language: str) -> tuple[str, Environment]:
        ecosystem = of_language(language)
        if ecosystem.tools is not None:
            return ecosystem.draft(language, lambda path: (self.read(path) or b"").decode("utf-8", "replace"))
        if self.source.git is not None:
            return DEFAULT_RUNNER, environment_of(None)
        pytest = f"pytest=={metadata.version('pytest')}"
        paths = tuple(dict.fromkeys([".", *(["src"] if self._has_src else [])]))
        return DEFAULT_RUNNER, environment_of(running_version(), packages=(pytest,), paths=paths)

    @property
    def _has_src(self) -> bool:
        return any(path.startswith("src/") for path in diffs.touched_paths(self.diff))


def from_repository(wanted: PullRequestQuery, cache: Path) -> PullRequestDraft:
    """Draft a real pull request. Raises SourceUnreachable, SourceError."""
    pull = find_pull(wanted, cache)
    source = GitSource(url=wanted.url, base=pull.base, head=pull.head, merged=pull.merged)
    repo = owner_and_name(wanted.url)
    number = wanted.number or 1
    facts = PullRequestFacts(
        number=number,
        title=pull.title or PLACEHOLDER,
        body=pull.body,
        url=f"{wanted.url}/pull/{number}" if wanted.number else None,
        merged_at=pull.merged_at,
    )
    told = [f"  {sha[:12]} {subject[:80]}" for sha, subject in pull.commits]
    notes = {
        "source": ["The pull request's commits; head is the one that was commented on:", *told],
        "environment": [
            f"pytest-crab set certify finds packages of {DEFAULT.name} where none is named: docs/how-to/certify.md;",
            "in another language this is taken as it is, and what a lock file does not bring is written here, as the",
            "page on the language says that docs/index.md names.",
        ],
    }
    origin = PullRequestDraft(
        id=f"{repo.replace('/', '__')}-{number}@{pull.head[:7]}",
        repo=repo,
        provenance=Provenance.GITHUB,
        facts=facts,
        source=Source(git=source),
        diff="",
        read=lambda _: None,
        notes=notes,
    )
    changed = Location(path=pull.paths[0], lines=None)  # what is commented on must be in the trees, and this is
    instance = replace(
        origin.instance(Path(origin.id), []), comments=draft_comments([changed], DEFAULT.name, DEFAULT_RUNNER)
    )
    fetcher = GitFetcher()
    snapshot = fetcher.fetch(instance, cache)
    return replace(
        origin,
        diff=snapshot.pull_request_diff(),
        read=lambda path: snapshot.read(snapshot.head_tree, path),
        warnings=fetcher.notes(instance, cache),
    )


@contextmanager
def from_release(
    name: str, version: str, head: Path | None, reference: Path | None, cache: Path
) -> Iterator[PullRequestDraft]:
    """Draft a pull request on a release. Raises SourceUnreachable, SourceError."""
    with unpacked_release(name, version, cache) as (folder, sha256), author_diffs(folder, head, reference) as made:
        info = folder / "PKG-INFO"
        told = info.read_text("utf-8", "replace") if info.is_file() else ""
        needs = re.findall(r"^Requires-Dist: (.+)$", told, re.MULTILINE)
        home = re.search(r"https://github\.com/([\w.-]+/[\w.-]+)", told)
        yield PullRequestDraft(
            id=f"{name}-{version}",
            repo=home[1].removesuffix(".git") if home else f"{name}/{name}",
            provenance=Provenance.AUTHORED,
            facts=PullRequestFacts(number=1, title=PLACEHOLDER, body=PLACEHOLDER),
            source=Source(sdist=SdistSource(name=name, version=version, sha256=sha256, head=HEAD, reference=REFERENCE)),
            diff=made.head,
            read=made.read,
            files={HEAD: made.head, REFERENCE: made.reference},
            notes={"environment": _needs(needs)},
        )


@contextmanager
def from_folder(folder: Path, into: Path, head: Path | None, reference: Path | None) -> Iterator[PullRequestDraft]:
    """Draft a pull request on a folder: one of the set is referred to, any other is copied. Raises SourceError."""
    real, home = folder.resolve(), into.resolve()
    shared = real != home and real.is_relative_to(home)
    with author_diffs(folder, head, reference) as made:
        files: dict[str, str | bytes] = {HEAD: made.head, REFERENCE: made.reference}
        if not shared:
            files |= _copy_files(folder)
        path = f"../{real.relative_to(home).as_posix()}" if shared else "tree"
        yield PullRequestDraft(
            id=real.name,
            repo=f"{home.name or 'local'}/{real.name}",
            provenance=Provenance.AUTHORED,
            facts=PullRequestFacts(number=1, title=PLACEHOLDER, body=PLACEHOLDER),
            source=Source(tree=TreeSource(path=path, head=HEAD, reference=REFERENCE)),
            diff=made.head,
            read=made.read,
            files=files,
        )


def _copy_files(folder: Path) -> dict[str, bytes]:
    entries = pristine(folder)
    links = [entry.path for entry in entries if entry.mode == LINK]
    if links:
        raise BadInput(str(folder), [f"{links[0]} is a link; put the folder into the set, where it is used as it is"])
    return {f"tree/{entry.path}": (folder / entry.path).read_bytes() for entry in entries}


def _needs(needs: Sequence[str]) -> list[str]:
    return ["It says that it needs the following; pin what its code and tests use:", *needs] if needs else []
