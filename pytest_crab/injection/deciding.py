"""The stage that finds an environment and runs the witnesses in it: which tests see the fault."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from typing_extensions import override

from pytest_crab import diffs, ecosystems
from pytest_crab.curation import code_parts
from pytest_crab.curation.certify import SOURCE, open_search
from pytest_crab.curation.mutation import halves, partly
from pytest_crab.curation.near_misses import broke_off
from pytest_crab.curation.proposed_environments import PROPOSED, proposed
from pytest_crab.curation.publish import SEEN_BY, SEEN_FROM, to_instance
from pytest_crab.curation.stages import CurationContext, Rejection, Stage
from pytest_crab.ecosystems.contract import TestLines
from pytest_crab.ecosystems.interpreters import environment_of
from pytest_crab.errors import DiffRejected, ImageError
from pytest_crab.formats import format_count
from pytest_crab.injection import witnesses
from pytest_crab.injection.fixes import place_of
from pytest_crab.injection.linting import linter_sees
from pytest_crab.injection.proposals import (
    BEFORE,
    HEAD,
    METHOD,
    OPERATOR,
    REFERENCE,
    WITNESSES,
    Method,
    witnesses_of,
)
from pytest_crab.injection.repository import Repository
from pytest_crab.injection.seeded import is_source, subject_of
from pytest_crab.injection.unreadable import rejects_unreadable
from pytest_crab.instances.files import write_files
from pytest_crab.scoring.oracles.oracle_runs import OracleRequest, run_oracles
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.scratch import scratch
from pytest_crab.sources import fetcher_for
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import (
    CandidateComment,
    CommitSource,
    Ending,
    Environment,
    Instance,
    Kind,
    Proof,
    PullCandidate,
    Run,
)
from pytest_crab.verdict import flake_bound

#: The source on record of an environment that was found for another commit of the repository.
SHARED = "shared"

#: The dimension of labels that says what was done: the kind of a seeded fault, else the method.
FAULT = "fault"

#: So many environments of other commits are tried, and so many days lie between two searches that found one; so many
#: searches may find none in these days.
_MOST_SHARED = 3
_DAYS_APART = 120
_MOST_IN_VAIN = 3

#: The tag that says what the tests that see an introduced fault do at the base: ``passes`` or ``fails``.
BASE = "base"

#: The label of a fault that a linter finds by its usual rules.
LINTER = "linter"

_PASSED = "passed"
_FEW = 5
_MOST_CLAIMS = 3
_SECONDS = 300

#: The tag with how many places of a fix are taken back, where the tests do not see all of them.
PLACES = "places"

#: A fix of more places is taken as a whole. With one of them left out its tests end soon, or are not waited for.
_MOST_PLACES = 12
_SHORT_SECONDS = 60

#: Tests that take longer in an environment that is known to work are not waited for.
_LONG_SECONDS = 120

#: After so many seconds a search tries no further environment: others wait for what it finds.
_SEARCH_SECONDS = 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The word of the witnesses."""

    #: The tests that pass on the reference.
    passed: frozenset[str] = frozenset()
    #: Those of ``passed`` that see the fault at head.
    red: frozenset[str] = frozenset()
    #: Those of ``red`` that fail at the base too.
    before: frozenset[str] = frozenset()
    #: Those of ``red`` that fail at the base in the same way.
    older: frozenset[str] = frozenset()
    #: Whether the base came as far as any test.
    based: bool = False
    #: Whether all that ran pass on the reference.
    whole: bool = False
    #: Whether head came as far as any test.
    collected: bool = False
    #: What the run on the reference came to, in a few words.
    told: str = ""
    #: Whether head was built, and its run broke off.
    ended: bool = False

    @property
    def decides(self) -> bool:
        """True if no other environment has to be asked."""
        return bool(self.red) or self.whole


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """An environment that the witnesses ran in."""

    environment: Environment
    #: Where it is from.
    source: str
    #: What the witnesses see in it.
    sight: Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """An environment in which tests of the repository passed."""

    environment: Environment
    #: The day of their commit.
    day: date


@dataclass(kw_only=True)
class Deciding(Stage):
    """Keeps candidates whose fault is seen by a test, in an environment that several commits share where it holds."""

    repository: Repository
    #: The CPython X.Y to take; None: the project's manifest decides.
    version: str | None = None
    #: Makes further proposals of a candidate, which are tried where the first is left out.
    others: Callable[[PullCandidate, CurationContext], Iterator[PullCandidate]] = lambda _candidate, _context: iter(())
    name: str = "tests"
    _known: list[_Known] = field(default_factory=list)
    _in_vain: list[date] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"version": 17, ecosystems.DEFAULT.name: self.version}

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        for one in itertools.chain([candidate], self.others(candidate, context)):
            found = self._decide(one, context)
            if isinstance(found, PullCandidate):
                break
        return found

    def remember(self, decided: Iterable[PullCandidate]) -> None:
        """Take the environments in which an earlier run kept candidates as known, each once."""
        for one in decided:
            environment = one.environment
            if environment is None or ecosystems.ecosystem_of(environment) is not ecosystems.DEFAULT:
                continue
            if all(environment != known.environment for known in self._known):
                self._known.append(_Known(environment=environment, day=day_of(one)))

    @rejects_unreadable
    def _decide(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        with scratch("inject") as folder:
            trying = Trying(candidate, context, folder, self.version)
            found = self._find(trying)
            if found is None or not found.sight.passed:
                return Rejection(reason="no environment was found in which its tests run", detail=trying.fault)
            if not found.sight.collected:
                if found.sight.ended:
                    return Rejection(reason="the fault ends the run of its tests", detail="no test was told of at head")
                return Rejection(reason="the fault breaks an import or a build", detail="no test could be run at head")
            if not found.sight.red:
                return Rejection(reason="no test sees the fault", detail=f"{len(found.sight.passed)} pass with it")
            try:
                red = self._unpinned(candidate, found.sight.red)
                fault = _objection(candidate, found.sight, red)
                return fault or self._keep(self._narrowed(candidate, trying, found, red), found, red)
            except (DiffRejected, ValueError) as error:
                return Rejection(reason="its tests cannot be taken out of the tree", detail=str(error))

    def _find(self, trying: Trying) -> _Found | None:
        """Return the best environment for the witnesses; None where none could be made."""
        if not trying.is_default:
            return trying.first_proposed()
        tried = tuple(self._known)
        shared = self._share(trying, ())
        if shared is not None and shared.sight.decides:
            return shared
        trying.wait()
        with self._lock:  # a search takes minutes, and what it finds serves others
            later = self._share(trying, tried)
            best = max(filter(None, (shared, later)), key=lambda one: len(one.sight.passed), default=None)
            if later is not None and later.sight.decides:
                return later
            if not may_search(trying.day, [one.day for one in self._known], self._in_vain):
                trying.fault = trying.fault or "none was found for commits of the same time, or it does not hold"
                return best
            searched = trying.search()
            if searched is None:
                self._in_vain.append(trying.day)
            else:
                self._known.append(_Known(environment=searched.environment, day=trying.day))
            return searched or best

    def _share(self, trying: Trying, tried: Collection[_Known]) -> _Found | None:
        """Return the first environment of other commits that decides, else the one in which most tests pass."""
        near = sorted(self._known, key=lambda one: abs((one.day - trying.day).days))[:_MOST_SHARED]
        best: _Found | None = None
        for known in near:
            if known in tried or not trying.fits(known.environment):
                continue
            sight = trying.see(known.environment)
            found = None if sight is None else _Found(environment=known.environment, source=SHARED, sight=sight)
            if found is not None and found.sight.decides:
                return found
            if found is not None and (best is None or len(best.sight.passed) < len(found.sight.passed)):
                best = found
        return best

    def _narrowed(self, candidate: PullCandidate, trying: Trying, found: _Found, red: frozenset[str]) -> PullCandidate:
        """Return the candidate with a fault of those places of the fix alone that these tests see.

        The others are mended in the pull request already: nothing would tell whether a revision mends them. Raises
        DiffRejected.
        """
        base, head, mended = trees_of(self.repository, candidate)
        paths = sorted(filter(is_source, diffs.touched_paths(candidate.files[REFERENCE])))
        before, after = (
            {path: text.encode() for path in paths if (text := self.repository.read(tree, path)) is not None}
            for tree in (head, mended)
        )
        both = [path for path in before if path in after]  # another stays in the fault
        places = [one for path in both for one in halves(path, before[path], after[path])]
        if not 1 < len(places) <= _MOST_PLACES:
            return candidate

        def tree_with(tree: str, texts: Mapping[str, bytes]) -> str:
            return self.repository.with_files(tree, {path: text.decode() for path, text in texts.items()})

        halved = [tree_with(mended, {one.path: one.content}) for one in places]
        ran = trying.outcomes(found.environment, [self.repository.diff(head, tree) for tree in halved])
        unseen = [one for one, own in zip(places, ran, strict=True) if all(own.get(name) for name in red)]
        lines = {path: {one.line for one in unseen if one.path == path} for path in both}
        narrow = tree_with(head, {path: partly(before[path], after[path], own) for path, own in lines.items() if own})
        (own,) = trying.outcomes(found.environment, [self.repository.diff(head, narrow)]) if narrow != head else [{}]
        if red.isdisjoint(own) or any(own.get(name) for name in red):  # with half of a fix a file may not be imported
            return candidate
        shown = self.repository.diff(base, narrow)
        files = {**candidate.files, HEAD: shown, REFERENCE: self.repository.diff(narrow, mended)}
        told = f"{len(places) - len(unseen)} of {len(places)}"
        return dataclasses.replace(candidate, diff=shown, files=files, tags={**candidate.tags, PLACES: told})

    def _keep(self, candidate: PullCandidate, found: _Found, red: frozenset[str]) -> PullCandidate:
        """Return the candidate with these tests that see its fault as an oracle, and out of its trees."""
        texts = witnesses.reduced(witnesses_of(candidate), red)
        own = {path: text for path, text in texts.items() if not witnesses.is_conftest(path)}
        if not own:
            raise ValueError("the tests that see the fault are in no file that they were taken from")
        hidden = hide(self.repository, candidate, witnesses.by_file(red, own))
        oracle = witnesses.oracle_of(own, f"oracles/test_pull_{candidate.tags['change'][:8]}_c0")
        (one,) = candidate.comments
        _, head, mended = trees_of(self.repository, hidden)
        path, lines = place_of(self.repository, head, mended, hidden.diff)
        hard = {SEEN_BY: how_many(red), SEEN_FROM: how_far(path, list(own))}
        labels = {**one.comment.labels, FAULT: candidate.tags[OPERATOR], **hard}
        labels |= {LINTER: "finds it"} if self._linted(head, mended, path) else {}
        claims = dict.fromkeys(line for path, text in own.items() for line in code_parts.of(path).claims_of(text))
        said = [f"- {line}" for line in claims][:_MOST_CLAIMS]
        seeded = candidate.tags.get(METHOD) == Method.SEEDED  # its template says what should be there
        body = one.comment.body if seeded else "\n".join([one.comment.body, "", "What should hold:", "", *said])
        comment = dataclasses.replace(
            one.comment,
            path=path,
            lines=lines,
            body=body,
            kind=Kind.BEHAVIORAL,
            oracle=oracle,
            reference=REFERENCE,
            labels=labels,
        )
        files = {name: text for name, text in hidden.files.items() if not name.startswith(WITNESSES)}
        files |= {f"{WITNESSES}{path}": text for path, text in texts.items()}
        return dataclasses.replace(
            hidden,
            environment=found.environment,
            comments=(dataclasses.replace(one, comment=comment),),
            files={**files, oracle.file: witnesses.oracle_text(texts, red)},
            tags={**hidden.tags, SOURCE: found.source, **_tags_of_base(candidate, found.sight, red)},
        )

    def _unpinned(self, candidate: PullCandidate, red: frozenset[str]) -> frozenset[str]:
        """Return the tests that ask for no wording of a text which the reference brings: another right fix has others.

        Raises ValueError, DiffRejected.
        """
        _, head, mended = trees_of(self.repository, candidate)
        read = self.repository.read
        texts = witnesses_of(candidate)
        owner = witnesses.owner_of(texts)
        paths = [path for path in diffs.touched_paths(candidate.files[REFERENCE]) if ecosystems.of_file(path) is owner]
        wordings = {
            wording
            for path in paths
            for wording in code_parts.of(path).added_texts(read(head, path) or "", read(mended, path) or "")
        }
        for path, text in texts.items() if wordings else ():
            reader = code_parts.of(path)
            pinning, tests = reader.asking(text, (), wordings), reader.tests_of(text)
            red -= {name for name in red if pinning & code_parts.named_in(name, path, tests)}
        return red

    def _linted(self, head: str, mended: str, path: str) -> bool:
        """Return whether a linter sees the fault in a file."""
        texts = [self.repository.read(tree, path) for tree in (head, mended)]
        return None not in texts and bool(linter_sees(path, str(texts[0]), str(texts[1])))


def day_of(candidate: PullCandidate) -> date:
    """Return the day of a candidate's change."""
    return date.fromisoformat(candidate.pull_request.merged_at or "2000-01-01")


def _is_introduced(candidate: PullCandidate) -> bool:
    return candidate.tags.get(METHOD) == Method.INTRODUCED


def _objection(candidate: PullCandidate, sight: Sight, red: frozenset[str]) -> Rejection | None:
    """Return why the tests that see a fault, but for those that pin a wording, make no oracle of it; None: they do."""
    if not red:
        told = "they ask for the wording of a text that only the reference has"
        return Rejection(reason="its tests pin a wording", detail=told)
    if _is_introduced(candidate) and red <= sight.older:
        told = f"red in the same way before it: {format_count(len(red), 'test')}"
        return Rejection(reason="the fault is older than the change", detail=told)
    return None


def _tags_of_base(candidate: PullCandidate, sight: Sight, red: frozenset[str]) -> dict[str, str]:
    """Return whether a change broke what had worked, or brought what never worked; nothing if the base did not run."""
    known = _is_introduced(candidate) and sight.based
    return {BASE: "fails" if sight.before & red else "passes"} if known else {}


def may_search(day: date, found: Collection[date], in_vain: Collection[date]) -> bool:
    """Return whether a search is worth its minutes: none of the same time found an environment, and few found none."""
    near_found, near_in_vain = (
        sum(abs((day - other).days) < _DAYS_APART for other in days) for days in (found, in_vain)
    )
    return not near_found and near_in_vain < _MOST_IN_VAIN


def how_many(tests: Collection[str]) -> str:
    """Return in a word how many tests see a fault."""
    return "one" if len(tests) == 1 else "few" if len(tests) <= _FEW else "many"


def how_far(path: str, tests: Collection[str]) -> str:
    """Return whether a file of tests is called after the file that they see a fault in (near), or none is (far)."""
    name = Path(path).stem.strip("_").lower()
    package = Path(path).parent.name.lower()
    return "near" if {*map(subject_of, tests)} & {name, package, f"{package}_{name}"} else "far"


def hide(repository: Repository, candidate: PullCandidate, tests: Mapping[str, Collection[str]]) -> PullCandidate:
    """Return the candidate with these tests, by file, taken out of base, head and reference alike.

    Raises DiffRejected, ValueError.
    """
    source = candidate.commit
    assert source is not None
    commit = repository.tree(source.sha)
    base, head, reference = trees_of(repository, candidate)
    base, head, reference = (_without(repository, tree, tests) for tree in (base, head, reference))
    before = repository.diff(commit, base)
    diffs = {HEAD: repository.diff(base, head), REFERENCE: repository.diff(head, reference)}
    others = {name: text for name, text in candidate.files.items() if name not in (BEFORE, HEAD, REFERENCE)}
    made: CommitSource = dataclasses.replace(source, before=BEFORE if before else None)
    files = {**others, **diffs, **({BEFORE: before} if before else {})}
    return dataclasses.replace(candidate, commit=made, diff=diffs[HEAD], files=files)


def trees_of(repository: Repository, candidate: PullCandidate) -> tuple[str, str, str]:
    """Return base, head and reference of a candidate whose pull request is diffs. Raises DiffRejected."""
    source = candidate.commit
    assert source is not None
    commit = repository.tree(source.sha)
    base = repository.apply(candidate.files[BEFORE], commit) if source.before is not None else commit
    head = repository.apply(candidate.files[HEAD], base)
    return base, head, repository.apply(candidate.files[REFERENCE], head)


def _without(repository: Repository, tree: str, tests: Mapping[str, Collection[str]]) -> str:
    texts: dict[str, str | None] = {}
    for path, names in tests.items():
        text = repository.read(tree, path)
        if text is not None:
            left = code_parts.of(path).without(text, names)
            texts |= {path: left} if left != text else {}
    return repository.with_files(tree, texts) if texts else tree


class Trying:
    """The runs of one candidate's witnesses in environments, in instances of a scratch folder."""

    def __init__(self, candidate: PullCandidate, context: CurationContext, scratch: Path, version: str | None) -> None:
        self.fault = ""
        self.day = day_of(candidate)
        self._candidate = candidate
        self._notice = context.notice
        self._crew, self._run_context = context.proving()
        self._version = version
        folder = scratch / candidate.id
        (one,) = candidate.comments
        self._texts = witnesses_of(candidate)
        self._owner = witnesses.owner_of(self._texts)
        oracle = witnesses.oracle_of(self._texts, f"test_witness_{candidate.tags['change'][:8]}")
        self._tests: dict[str, Sequence[TestLines]] | None = None
        if not self.is_default:
            self._tests = {path: code_parts.of(path).tests_of(text) for path, text in self._texts.items()}
        comment = dataclasses.replace(one.comment, kind=Kind.BEHAVIORAL, oracle=oracle)
        files = {**candidate.files, oracle.file: witnesses.oracle_text(self._texts, None)}
        write_files(folder, files)
        environment = environment_of(version, timeout=_SECONDS)
        fitted = dataclasses.replace(
            candidate, comments=(CandidateComment(comment=comment),), environment=environment, files=files
        )
        self._instance = to_instance(fitted, folder)

    @property
    def is_default(self) -> bool:
        """Return whether pytest runs the tests, in an environment that takes long to find and serves many commits."""
        return self._owner is ecosystems.DEFAULT

    def wait(self) -> None:
        """Say that another candidate's search may have to end first."""
        self._notice("tests, after the search for another")

    def fits(self, environment: Environment) -> bool:
        """Return whether the candidate's file lies where an environment imports from."""
        path = self._instance.comments[0].path
        return any(root == "." or path.startswith(f"{root}/") for root in environment.paths)

    def see(self, environment: Environment) -> Sight | None:
        """Return what the witnesses see in an environment; None, with a fault, where it cannot be made.

        Raises SourceError, EngineError, StoreError, Cancelled.
        """
        self._notice("tests")
        limit = dataclasses.replace(environment, timeout=min(environment.timeout, _LONG_SECONDS))
        instance = dataclasses.replace(self._instance, environment=limit)
        try:
            return self._sight(self._context(instance))
        except ImageError as error:
            self.fault = str(error)
            return None

    def search(self) -> _Found | None:
        """Search an environment as of the commit; None, with a fault, where there is none.

        Raises SourceError, EngineError, ImageError, StoreError, Cancelled.
        """
        seen: list[tuple[Environment, Sight]] = []

        def prover(context: TrialContext) -> tuple[ProvedComment, ...]:
            sight = self._sight(context)
            seen.append((context.instance.required_environment, sight))
            (comment,) = context.instance.with_oracles
            proof = (
                Proof(comment=comment.id, expected=(), runs=2, flake_bound=flake_bound(2)) if sight.decides else None
            )
            problem = None if proof else f"{len(sight.passed)} of the tests pass"
            return (ProvedComment(comment=comment, key="", proof=proof, problem=problem),)

        with open_search(self._instance, self._crew, self._run_context, self._notice, prover) as search:
            search.search(tests_first=True, seconds=_SEARCH_SECONDS)
            environment, sight = max(
                seen, key=lambda one: (one[1].decides, len(one[1].passed)), default=(None, Sight())
            )
            if environment is None or not sight.passed:
                lack = "; ".join(dict.fromkeys(search.problems)) or "none of its tests passes in any"
                self.fault = " ".join(lack.split())
                return None
            name = next(one.candidate.name for one in search.attempts if one.candidate.environment == environment)
            return _Found(environment=environment, source=name, sight=sight)

    def first_proposed(self) -> _Found | None:
        """Return the first environment that the ecosystem proposes in which the tests decide, else the best.

        None, with a fault, where there is none. Raises SourceError, EngineError, StoreError, Cancelled.
        """
        cache, checkout = self._run_context.cache, Path(self._instance.folder, "tree")
        fetcher_for(self._instance).fetch(self._instance, cache).clone(checkout)
        best: _Found | None = None
        try:
            for environment in proposed(self._owner, self._instance, checkout, sorted(self._texts), cache):
                sight = self.see(environment)
                if sight is not None and not sight.passed:
                    self.fault = f"none of its tests passed on the reference in the one that was made: {sight.told}"
                if sight is not None and (best is None or len(best.sight.passed) < len(sight.passed)):
                    best = _Found(environment=environment, source=PROPOSED, sight=sight)
                if best is not None and best.sight.decides:
                    break
        except ImageError as error:
            self.fault = str(error)
        return best

    def outcomes(self, environment: Environment, changes: Iterable[str]) -> list[dict[str, bool]]:
        """Return of each test that ran on head with each of these diffs whether it passed, in a known environment.

        Raises SourceError, EngineError, StoreError, Cancelled, DiffRejected.
        """
        quick = dataclasses.replace(environment, timeout=min(environment.timeout, _SHORT_SECONDS))
        context = self._context(dataclasses.replace(self._instance, environment=quick))
        (comment,) = context.instance.with_oracles
        requests = [OracleRequest(comment=comment, tree=context.snapshot.apply(change)) for change in changes]
        runs = run_oracles(context, list({request.id: request for request in requests}.values())).runs
        said = [_outcomes_of(runs.get(request.id), self._tests) for request in requests]
        return [{name: word == _PASSED for name, (word, _) in one.items()} for one in said]

    def _context(self, instance: Instance) -> TrialContext:
        return TrialContext(instance, self._crew, self._run_context)

    def _sight(self, context: TrialContext) -> Sight:
        (comment,) = context.instance.with_oracles
        snapshot = context.snapshot
        base = [snapshot.base_tree] if _is_introduced(self._candidate) else []
        trees = [snapshot.head_tree, snapshot.reference_tree, *base]
        requests = [OracleRequest(comment=comment, tree=tree) for tree in trees]
        runs = run_oracles(context, requests).runs
        head, reference, before = ([*(_outcomes_of(runs.get(request.id), self._tests) for request in requests), {}])[:3]
        passed = frozenset(name for name, (word, _) in reference.items() if word == _PASSED)
        red = seeing(passed, {name: word == _PASSED for name, (word, _) in head.items()})
        collected = any(not name.startswith("::") for name in head)
        whole = bool(reference) and len(passed) == len(reference)
        return Sight(
            passed=passed,
            red=red,
            before=frozenset(name for name in red if before.get(name, ("", None))[0] != _PASSED),
            older=red & failed_alike(head, before),
            based=bool(before),
            whole=whole,
            collected=collected,
            told=_run_words(runs.get(requests[1].id)),
            ended=(first := runs.get(requests[0].id)) is not None and broke_off(first),
        )


def seeing(passed: Collection[str], head: Mapping[str, bool]) -> frozenset[str]:
    """Return the tests that pass on the reference and not at head.

    One that head lacks counts only if head has no other case of its function: a parameter may be the time of day.
    """
    functions = {name.partition("[")[0] for name in head}
    return frozenset(
        name for name in passed if not head.get(name, name not in head and name.partition("[")[0] in functions)
    )


def _outcomes_of(run: Run | None, tests: Mapping[str, Sequence[TestLines]] | None) -> dict[str, tuple[str, str | None]]:
    """Return of each test of the project its outcome, and the name of its failure where that is told."""
    if run is None or run.ending is not Ending.COMPLETED:
        return {}
    named = ((witnesses.name_in(test.id, tests), test) for test in run.tests)
    return {name: (test.outcome, test.exception) for name, test in named if name is not None}


def failed_alike(head: Mapping[str, tuple[str, str | None]], before: Mapping[str, tuple[str, str | None]]) -> set[str]:
    """Return the tests that failed with the same exception in both; where none is told, nothing says so."""
    return {name for name, said in head.items() if said[1] is not None and before.get(name) == said}


def _run_words(run: Run | None) -> str:
    """Return in a few words what a run came to."""
    if run is None or run.ending is not Ending.COMPLETED:
        return "it was not run" if run is None else run.detail or str(run.ending)
    words = [f"{test.id} {test.exception or test.outcome}" for test in run.tests]
    return ", ".join(words[:_MOST_CLAIMS]) or "no test was told of"
