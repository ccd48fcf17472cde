"""Candidates by mutation: a fault in the added lines of a real change whose lines stand unchanged to this day."""

from __future__ import annotations

import difflib
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from typing_extensions import override

from pytest_crab import diffs, pytest_files
from pytest_crab.curation import code_parts
from pytest_crab.curation.collect import CandidateSource
from pytest_crab.curation.mutation import Mutant, changes_code, drafts, may_hang
from pytest_crab.curation.stages import CurationContext, Rejection
from pytest_crab.ecosystems import DEFAULT, grammar_of, of_file
from pytest_crab.ecosystems.files_of_tests import is_test, may_have_tests
from pytest_crab.git_mirror import owner_and_name
from pytest_crab.injection.fault_words import fault_words
from pytest_crab.injection.fixes import OF_BRANCHES, place_of
from pytest_crab.injection.linting import linter_sees
from pytest_crab.injection.proposals import ORIGIN, Method, Proposal, Remark, propose, to_candidate
from pytest_crab.injection.repository import Change, Repository
from pytest_crab.injection.witnesses import conftests_for
from pytest_crab.lazy import lazy
from pytest_crab.parsing.changed_paths import is_dependency_update, is_documentation
from pytest_crab.sources.git import bring
from pytest_crab.types import PullCandidate, PullRequestFacts

#: The tags of a candidate: the change that its fault is put into, the file and the line there, and the mutant.
CHANGE, PATH, LINE, MUTANT = "change", "path", "line", "mutant"

#: A pull request has so many changed lines and files: with fewer the fault is all that there is to see.
_SMALLEST, _LARGEST, _MOST_FILES = 8, 800, 25

#: So many faults are proposed of one change, each for a pull request of its own.
_OF_ONE = 2

#: So many files of tests beside those of the change may see its faults.
_RELATED = 6

#: What says in the name of a file that it is one of tests, and not what they are of.
_OF_TESTS = re.compile(r"^test_|^Test(?=[A-Z])|[._-](?:tests?|specs?)$|(?<=[a-z0-9])Tests?$")


@dataclass(kw_only=True)
class SeededSource(CandidateSource):
    """The faults that can be put into changes of a repository, the newest first.

    A change is innocent where its lines still stand as it wrote them. It brings tests of its own: they are the
    witnesses, and where they see nothing others of the same files and modules.
    """

    repository: Repository
    #: Where others find the repository.
    url: str
    #: A day: only changes from then on.
    since: str | None = None
    #: The number of faults that are proposed.
    most: int = 400
    kind: str = ORIGIN

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "url": self.url, "method": Method.SEEDED.value, "version": 7}

    @lazy
    def _steps(self) -> dict[str, tuple[Change, dict[str, str]]]:
        pairs = zip(self.repository.line, self.repository.changed, strict=True)
        return {change.commit: (change, own) for change, own in pairs}

    @override
    def list_candidates(self) -> Iterator[PullCandidate]:
        """Yield one for each fault. Raises SourceError, and EngineError where the extra is missing."""
        repo = owner_and_name(self.url)
        standing = self._standing()
        used: Counter[str] = Counter()
        for change in self.repository.line:
            lines = standing.get(change.commit)
            if lines is None or (self.since is not None and change.day < self.since) or self._unfit(change):
                continue
            for mutant in self._chosen(change, lines, used):
                yield PullCandidate(
                    id=f"{repo.replace('/', '__')}-{change.commit[:10]}-{mutant.name.rpartition('-')[2]}",
                    origin=self.kind,
                    repo=repo,
                    pull_request=PullRequestFacts(number=change.number or 1, title=change.texts[0]),
                    tags={CHANGE: change.commit, PATH: mutant.path, LINE: f"{mutant.line}", MUTANT: mutant.name},
                )
            if used.total() >= self.most:
                return

    @override
    def complete(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        """Return the candidate with its proposal: the tests that the change brought may see it. Raises SourceError."""
        return self._complete(candidate, context, wide=False)

    def propose_others(self, candidate: PullCandidate, context: CurationContext) -> Iterator[PullCandidate]:
        """Yield the candidate with all tests of the change's files and of the faulty module. Raises SourceError."""
        found = self._complete(candidate, context, wide=True)
        if isinstance(found, PullCandidate) and found.files != candidate.files:
            yield found

    def _complete(self, candidate: PullCandidate, context: CurationContext, *, wide: bool) -> PullCandidate | Rejection:
        commit, path = candidate.tags[CHANGE], candidate.tags[PATH]
        if commit not in self._steps:
            raise self.repository.missing(commit)
        change, _ = self._steps[commit]
        source = (self.repository.read(change.tree, path) or "").encode()
        known = drafts(path, source, {int(candidate.tags[LINE])})
        mutant = next((one for one in known if one.name == candidate.tags[MUTANT]), None)
        if mutant is None:
            return Rejection(reason="the fault is not known", detail=f"{path} has no {candidate.tags[MUTANT]} now")
        try:
            proposal = self._proposal(change, mutant, wide=wide)
        except ValueError as error:
            return Rejection(reason="a file of it cannot be read", detail=str(error))
        bring(self.url, proposal.commit, self.repository.folder, context.folder)
        return to_candidate(candidate, proposal)

    # --- changes ------------------------------------------------------------------------------------------------------

    def _standing(self) -> dict[str, dict[str, set[int]]]:
        """Return by step of the main line and by file, as it was then, the lines of source that still stand."""
        found: dict[str, dict[str, set[int]]] = {}
        for path in self.repository.paths(self.repository.line[0].tree):
            if is_source(path):
                for one in self.repository.blame(self.repository.line[0].commit, path, (), main_line=True):
                    found.setdefault(one.commit, {}).setdefault(one.path, set()).add(one.line)
        return found

    def _unfit(self, change: Change) -> bool:
        """Return whether a change is no pull request that one would review, or brings no tests of its own."""
        title, _ = change.texts
        files = self._steps[change.commit][1]
        tests = [path for path in files if may_have_tests(path) and files[path] in "AM"]
        if not title or OF_BRANCHES.match(title) or not tests or len(files) > _MOST_FILES:
            return True
        if is_dependency_update(change.author, title, list(files)):
            return True
        return not _SMALLEST <= sum(diffs.counts(self.repository.diff(change.parent, change.commit))) <= _LARGEST

    def _chosen(self, change: Change, standing: Mapping[str, set[int]], used: Counter[str]) -> Iterator[Mutant]:
        """Yield the faults of a change: in functions of their own, and of the kinds that were used the least so far.

        What a linter finds needs no review, and is left out.
        """
        added = diffs.changed_lines(self.repository.diff(change.parent, change.commit, sorted(standing)))
        own = {path: lines & added.get(path, set()) for path, lines in standing.items()}
        changed = self._steps[change.commit][1]
        found: list[tuple[str, str, Mutant]] = []  # by kind and digest
        sources: dict[str, str] = {}
        for path, lines in own.items():
            if not lines or not any(changed[test] in "AM" and _may_see(test, path) for test in changed):
                continue
            source = self.repository.read(change.tree, path)
            if source is not None:
                sources[path] = source
                every = drafts(path, source.encode(), lines)
                found += [
                    (kind, one.name.rpartition("-")[2], one) for one in every if one.scope and (kind := _kind(one))
                ]
        taken: set[tuple[str, str]] = set()
        while found and len(taken) < _OF_ONE:
            chosen = min(found, key=lambda each: (used[each[0]], each[1]))
            found.remove(chosen)
            kind, _, one = chosen
            source = sources[one.path]
            if (one.path, one.scope) in taken or may_hang(source, one.line):
                continue
            if not _removed(source, one) <= own[one.path] or not changes_code(one, source.encode()):
                continue
            if linter_sees(one.path, one.content.decode(), source):
                continue
            used[kind] += 1
            taken.add((one.path, one.scope))
            yield one

    # --- one proposal -------------------------------------------------------------------------------------------------

    def _proposal(self, change: Change, mutant: Mutant, *, wide: bool) -> Proposal:
        repository = self.repository
        words = fault_words(mutant)
        assert words is not None
        head = repository.with_files(change.tree, {mutant.path: mutant.content.decode()})
        shown = repository.diff(change.parent, head)
        path, lines = place_of(repository, head, change.tree, shown)
        return propose(
            repository,
            self.url,
            change,
            method=Method.SEEDED,
            head=shown,
            reference=repository.diff(head, change.tree),
            remark=Remark(path=path, lines=lines, body=words.body, category=words.category),
            operator=words.kind,
            witnesses=self._witnesses(change, mutant, wide=wide),
        )

    def _witnesses(self, change: Change, mutant: Mutant, *, wide: bool) -> dict[str, str]:
        """Return the tests that a change added or changed, with what they need.

        ``wide``, or where there are none: all tests of its files, and those of the module that a fault is in, which may
        take minutes. Raises ValueError.
        """
        tree, read = change.tree, self.repository.read
        files = self._steps[change.commit][1]
        own = [path for path in files if files[path] in "AM" and _may_see(path, mutant.path)]
        found = {path: text for path in own if (text := read(tree, path)) is not None}
        if wide:
            tests = (path for path in self.repository.paths(tree) if _may_see(path, mutant.path))
            related = [path for path in _related(mutant.path, list(tests)) if path not in own]
            found |= {path: text for path in related[:_RELATED] if (text := read(tree, path)) is not None}
        else:
            added = diffs.changed_lines(self.repository.diff(change.parent, change.commit, own))
            kept = {path: code_parts.tests_at(path, text, added.get(path, ())) for path, text in found.items()}
            found = {
                path: reader.without(text, {one.name for one in reader.tests_of(text)} - set(kept[path]))
                for path, text in found.items()
                for reader in [code_parts.of(path)]
                if kept[path]
            } or self._witnesses(change, mutant, wide=True)
        return found | conftests_for(found, lambda name: read(tree, name))


def is_source(path: str) -> bool:
    """Return whether a file is source that a fault may be put into."""
    place = PurePosixPath(path)
    known = grammar_of(path) is not None and place.name not in pytest_files.SCRIPTS
    return known and not is_test(path) and not is_documentation(path)


def _may_see(test: str, path: str) -> bool:
    """Return whether a file is one of tests that may see a fault in a file of source: of its language, or pytest's."""
    owner = of_file(path)
    own = owner is not None and owner.tests_runner is not None
    return may_have_tests(test) and of_file(test) is (owner if own else DEFAULT)


def _kind(mutant: Mutant) -> str:
    words = fault_words(mutant)
    return "" if words is None else words.kind


def _removed(source: str, mutant: Mutant) -> set[int]:
    """Return the lines that a mutant takes out or changes, from 1."""
    old, new = source.split("\n"), mutant.content.decode().split("\n")
    same = _alike(old, new)
    last = _alike(old[:same:-1], new[:same:-1])
    matcher = difflib.SequenceMatcher(None, old[same : len(old) - last], new[same : len(new) - last], autojunk=False)
    return {
        same + line + 1
        for tag, first, end, _, _ in matcher.get_opcodes()
        if tag != "equal"
        for line in range(first, end)
    }


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return with how many same lines two texts begin."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _related(path: str, tests: Sequence[str]) -> Iterator[str]:
    """Yield the files of tests that are called after a module, those with exactly its name first."""
    stem = PurePosixPath(path).stem.strip("_").lower()
    names = {test: subject_of(test) for test in tests}
    exact = [test for test, name in names.items() if name == stem]
    yield from exact
    yield from (test for test, name in names.items() if stem in name and test not in exact and stem)


def subject_of(test: str) -> str:
    """Return in small letters the name that a file of tests is called after: cart of cart.test.ts and CartTest.java."""
    return _OF_TESTS.sub("", PurePosixPath(test).stem).lower()
