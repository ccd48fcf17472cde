"""Measure oracles on changes that they did not see: near misses that they should refuse, right fixes to accept."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from pytest_crab import diffs, serialization, verdict
from pytest_crab.curation.mutation import (
    Mutant,
    changed_spans,
    distinct,
    drafts,
    halves,
    has_code,
    may_hang,
    statement_lines,
)
from pytest_crab.curation.same_code import same_code
from pytest_crab.ecosystems.files_of_tests import is_test
from pytest_crab.errors import DiffRejected
from pytest_crab.formats import today
from pytest_crab.instances.files import diff_text
from pytest_crab.instances.oracle_errors import Measurement, oracle_digest
from pytest_crab.scoring.oracles import keys
from pytest_crab.scoring.oracles.oracle_runs import OracleRequest, run_oracles, tests_pass
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.scoring.oracles.states import company_of, goes_together
from pytest_crab.scoring.steps import Step
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Comment, Ending, OracleError, Run, Verdict

#: The sources of changes, as they are called on record.
MUTANTS = "mutants"
NEAR_MISSES = "near misses"
RIGHT_FIXES = "right fixes"
IN_COMPANY = "right fixes in company"
THOROUGH = "thorough revisions"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTree:
    """One changed tree, under a name."""

    name: str
    tree: str
    #: A sentence on what was changed.
    told: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleAnswer:
    """The answer of an oracle on a change."""

    #: Caught (accepted), missed (refused), or unknown.
    verdict: Verdict
    detail: str | None = None
    #: Whether one of the tests that count ran and failed, as an audit asks of a reject.
    red: bool = False
    #: Whether the process of the project's own tests was built, and ended before they were told of.
    broke_off: bool = False

    @property
    def ran(self) -> bool:
        """Return whether tests were run: of one that does not build or takes too long they say nothing."""
        return self.verdict is Verdict.CAUGHT or self.red or self.broke_off


def broke_off(run: Run) -> bool:
    """Return whether tests of the project were built, and their process ended before it told of them."""
    return any(test.id.endswith(":") and test.exception in ("Crashed", "Exited") for test in run.tests)


class OracleAnswerStep(Step[OracleAnswer]):
    """The step that runs one proved oracle on changed trees, each once: one OracleAnswer for each name."""

    name = "near-miss"
    record = OracleAnswer

    def __init__(self, context: TrialContext, one: ProvedComment, changes: Sequence[ChangedTree]) -> None:
        self._context = context
        self._one = one
        self._trees = {change.name: change.tree for change in changes}

    @override
    def keys(self) -> Mapping[str, str]:
        # The time limit may be another one than the proof's.
        known = {"version": 4, "timeout": self._context.instance.required_environment.timeout}
        return {
            name: serialization.digest({**known, "verdict": keys.verdict(tree, self._one.key)})
            for name, tree in self._trees.items()
        }

    @override
    def run(self, subjects: Sequence[str]) -> Mapping[str, OracleAnswer]:
        asked = {name: OracleRequest(comment=self._one.comment, tree=self._trees[name]) for name in subjects}
        unique = {request.id: request for request in asked.values()}
        runs = run_oracles(self._context, list(unique.values())).runs
        assert self._one.proof is not None
        answers = {}
        for name, request in asked.items():
            run = runs.get(request.id)
            if run is None or run.ending in (Ending.UNSTARTED, Ending.LOST):
                detail = run.detail if run is not None else "it was never run"
                answers[name] = OracleAnswer(verdict=Verdict.UNKNOWN, detail=detail)
            else:
                judgement = verdict.judge(self._one.proof, run)
                answers[name] = OracleAnswer(
                    verdict=judgement.verdict,
                    detail=judgement.detail,
                    red=verdict.not_red(self._one.proof, run) is None,
                    broke_off=broke_off(run),
                )
        return answers

    @override
    def lasts(self, result: OracleAnswer) -> bool:
        return result.verdict is not Verdict.UNKNOWN


def mutated_references(
    context: TrialContext, comment: Comment, most: int, drawn: Collection[ChangedTree] = ()
) -> tuple[ChangedTree, ...]:
    """Return at most so many wrong changes that are made of a comment's reference, others than those drawn before.

    First the reference without one of its places, then mutants of what it changed in statements, evenly picked. What
    it left as it was, such as the other members of a list, is not changed. None may run for ever, and none has the code
    of head, the fault itself. The tests that a fix brings along do not decide whether it is
    right: they are changed only for a comment on a test. Raises EngineError where the extra is missing.
    """
    snapshot = context.snapshot
    tree = _fixed_tree(context, comment)
    lines = diffs.changed_lines(snapshot.diff(tree))
    parts: list[Mutant] = []
    found: list[Mutant] = []
    sources: dict[str, bytes] = {}
    faulty: dict[str, bytes] = {}  # as they are at head
    about_tests = is_test(comment.path)
    for path, changed in sorted(lines.items()):
        source = snapshot.read(tree, path) if is_test(path) == about_tests else None
        if source is None:
            continue
        before, text = snapshot.read(snapshot.head_tree, path), source.decode("utf-8", "replace")
        if before is not None and has_code(path) and not same_code(path, before, source):
            faulty[path] = before
            parts += halves(path, before, source)
        near = statement_lines(path, source, changed) if has_code(path) else changed
        spans = None if before is None else changed_spans(before, source)
        sources[path] = source
        found += [one for one in drafts(path, source, near, spans) if not may_hang(text, one.line)]

    names, trees = {one.name for one in drawn}, {one.tree for one in drawn}

    def is_near(one: Mutant) -> bool:
        if one.name in names:
            return False
        return faulty.keys() != {one.path} or not same_code(one.path, faulty[one.path], one.content)

    halved = [*filter(is_near, parts)][:most]
    left = most - len(halved)
    found = [one for one in found if one.name not in names]  # each that is looked at is compiled
    picked = itertools.islice(filter(is_near, distinct(_evenly(found, left), sources)), left)
    made = (_changed(context, tree, mutant) for mutant in (*halved, *picked))
    return tuple({one.tree: one for one in made if one.tree not in trees}.values())


def _evenly(found: Sequence[Mutant], count: int) -> Iterator[Mutant]:
    """Yield so many of these from everywhere among them, then the others."""
    first = {at * len(found) // count for at in range(count)} if 0 < count < len(found) else set(range(len(found)))
    yield from (found[at] for at in sorted(first))
    yield from (one for at, one in enumerate(found) if at not in first)


def _changed(context: TrialContext, tree: str, mutant: Mutant) -> ChangedTree:
    made = _with_file(context, tree, mutant.path, mutant.content)
    return ChangedTree(name=mutant.name, tree=made, told=mutant.change)


def _fixed_tree(context: TrialContext, comment: Comment) -> str:
    """Return the tree with a comment's own reference, else with that of the instance."""
    if comment.reference is None:
        return context.snapshot.reference_tree
    return context.snapshot.apply(diff_text(context.instance, comment.reference))


def _with_file(context: TrialContext, tree: str, path: str, content: bytes) -> str:
    """Return the tree with another content of one file."""
    before = context.snapshot.read(tree, path)
    assert before is not None
    return context.snapshot.apply(diffs.of_file(path, before, content), tree)


def read_diff(file: Path) -> str:
    """Return the text of a diff; bytes that are not UTF-8 become surrogates, which apply takes."""
    return file.read_bytes().decode("utf-8", "surrogateescape")


def changes_of(context: TrialContext, folder: Path, pattern: str) -> tuple[ChangedTree, ...]:
    """Return the changes of the diffs below ``folder`` that the pattern matches, each a diff from head.

    Each is named by its path there. Raises DiffRejected, which names the file, for one that does not apply.
    """
    found = []
    for file in sorted(folder.glob(pattern)):
        name = file.relative_to(folder).with_suffix("").as_posix()
        try:
            found.append(ChangedTree(name=name, tree=context.snapshot.apply(read_diff(file))))
        except DiffRejected as error:
            raise DiffRejected(f"{file} does not apply to head: {error}") from error
    return tuple(found)


def in_company(
    context: TrialContext, comment: Comment, changes: Sequence[ChangedTree], others: Mapping[str, str]
) -> tuple[ChangedTree, ...]:
    """Return the changes, each beside each other comment's reference and each of the instance's ``company``.

    ``others``, diffs from head by name, are more company. Left out are pairs that change the same lines.
    """
    company = {name: diff_text(context.instance, name) for name in company_of(context.instance, comment)}
    found = []
    for change, (name, diff) in itertools.product(changes, {**company, **others}.items()):
        try:
            tree = context.snapshot.apply(diff, change.tree)
        except DiffRejected:
            continue
        found.append(ChangedTree(name=f"{change.name} with {name}", tree=tree))
    return tuple(found)


def damaging(context: TrialContext, changes: Iterable[ChangedTree], names: Collection[str]) -> frozenset[str]:
    """Return the names, of these, of changes with which the project's own tests fail. Raises EngineError, Cancelled."""
    named = (change for change in changes if change.name in names)
    return frozenset(change.name for change in named if not goes_together(context, change.tree))


def without(measurement: Measurement, names: Collection[str]) -> Measurement:
    """Return the measurement without these of its errors: a pair that damages the project is no right change."""
    wrong = tuple(name for name in measurement.wrong if name not in names)
    return dataclasses.replace(measurement, wrong=wrong, total=measurement.total - len(names))


def measure(
    context: TrialContext, one: ProvedComment, changes: Sequence[ChangedTree], error: OracleError, *, sure: bool
) -> tuple[Measurement, Mapping[str, OracleAnswer]]:
    """Run a proved oracle on changes and count its errors; the answers, by name, are for messages.

    ``sure``: whoever made the changes says that they are wrong (or right, for false rejects). Otherwise an accepted one
    is an error if the project's own tests, pass_to_pass, fail on it, and undecided if not; and one with which no test
    came to its end, since it does not build, cannot be imported or takes too long, says nothing and is not counted.
    Raises EngineError, StoreError, Cancelled.
    """
    answers = dict(context.perform(OracleAnswerStep(context, one, changes)))
    accepting = error is OracleError.FALSE_ACCEPT
    bad = Verdict.CAUGHT if accepting else Verdict.MISSED
    suspects = [change for change in changes if answers[change.name].verdict is bad]
    if sure:
        wrong = {change.name for change in suspects}
    else:
        wrong = set(_broken(context, one.comment, suspects)) if accepting else set()
    return (
        Measurement(
            error=error,
            total=sum(answer.verdict is not Verdict.UNKNOWN and (sure or answer.ran) for answer in answers.values()),
            wrong=tuple(change.name for change in suspects if change.name in wrong),
            undecided=tuple(change.name for change in suspects if change.name not in wrong),
            oracle=oracle_digest(context.instance, one.comment),
            date=today(),
        ),
        answers,
    )


def _broken(context: TrialContext, comment: Comment, changes: Iterable[ChangedTree]) -> Iterator[str]:
    """Yield the changes on which the project's own tests fail, where they pass on the comment's reference."""
    if not context.instance.pass_to_pass:
        return
    pending = list(changes)
    if not pending:
        return
    if not tests_pass(context, _fixed_tree(context, comment)):
        return
    yield from (change.name for change in pending if not tests_pass(context, change.tree))
