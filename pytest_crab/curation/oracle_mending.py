"""Judge a proved oracle by changes that a model writes without seeing it, and let it be mended where it is wrong.

The changes of the last round measure the oracle as it stays: it was not mended on them. Those of earlier rounds, and
what it was right on, become its checks.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from typing_extensions import override

from pytest_crab import diffs, serialization
from pytest_crab.clients.prompting import as_data
from pytest_crab.curation.near_misses import ChangedTree, OracleAnswerStep
from pytest_crab.curation.proposals import Proposing, last_json
from pytest_crab.curation.stages import CurationContext
from pytest_crab.ecosystems.files_of_tests import is_test
from pytest_crab.errors import DiffRejected
from pytest_crab.model_access import Services
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.scoring.oracles.states import goes_together
from pytest_crab.text import split_lines
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import ChangeKind, Comment, JudgedChange, Verdict

#: An oracle as its writer has it.
Oracle = TypeVar("Oracle")

#: So many characters of the files of the pull request are shown to who writes changes.
_LONGEST_FILES = 60_000

_DISPUTED = re.compile(r"^disputed: ([a-z0-9][a-z0-9_-]*): (\S.*)$", re.MULTILINE)
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,30}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """The text ``old``, which stands once in the file at ``path``, becomes ``new``."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenChange:
    """One change of an answer."""

    kind: ChangeKind
    name: str
    why: str = ""
    edits: tuple[Edit, ...] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        if self.kind is ChangeKind.IN_COMPANY:
            raise ValueError("kind should be right, near or company")
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"name is {self.name!r}; it should be one word in lower case")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeWriting(Proposing):
    """Asks a model for changes of each kind; the other settings are those of ``single-shot``."""

    role = "write-changes"

    #: How many changes of each kind it asks for.
    number: int = 2

    @override
    def instructions(self) -> str:
        return Proposing.instructions(self).replace("{number}", str(self.number))

    def write(
        self,
        facts: str,
        known: Sequence[JudgedChange],
        context: TrialContext,
        services: Callable[[int], Services],
        curation: CurationContext,
    ) -> tuple[JudgedChange, ...] | str:
        """Return changes that apply, the right ones with the project's tests green, else why there are none.

        Each right fix is there beside each change of the company too, but for two that change the same lines.
        ``facts`` tell of the pull request and the comment, ``known`` are changes of earlier rounds. Raises what
        ``propose`` and runs raise.
        """

        def verify(answer: str, number: int) -> tuple[JudgedChange, ...] | str:
            found, faults = _read(answer, context, known)
            kinds = {one.kind for one in found}
            enough = {ChangeKind.RIGHT, ChangeKind.NEAR} <= kinds and (not faults or number == self.attempts)
            if not enough:
                return "; ".join(faults) or "a right fix and a near miss are needed"
            return (*found, *_pairs(context, found))

        told = [f"- {one.name}: {one.why}" for one in known]
        parts = [facts, *_files(context), *(["Write none of these again:", "\n".join(told)] if told else [])]
        return self.propose(as_data(self.instructions(), "\n\n".join(parts)), verify, services, curation)


def _files(context: TrialContext) -> Iterator[str]:
    """Yield the files that the pull request touches, as they are at its head, as far as there is room.

    Of one that is too long it is what lies near to a change.
    """
    left, snapshot = _LONGEST_FILES, context.snapshot
    changed = diffs.changed_lines(snapshot.pull_request_diff())
    for path in sorted(diffs.touched_paths(snapshot.pull_request_diff())):
        content = snapshot.read(snapshot.head_tree, path)
        text, told = "" if content is None else content.decode("utf-8", "replace"), "The file"
        if len(text) > left:
            text, told = near_to(text, changed.get(path, ())), "What lies near to the changes in"
        if text and len(text) <= left:
            left -= len(text)
            yield f"{told} {path} at the pull request's head:\n{text}"


def near_to(text: str, lines: Collection[int], around: int = 60) -> str:
    """Return what lies so many lines around some lines of a text, with an empty line where some are left out."""
    every = split_lines(text)
    kept = {at for line in lines for at in range(line - 1 - around, line + around)} & {*range(len(every))}
    return "\n".join(("\n" if at - 1 not in kept else "") + every[at] for at in sorted(kept))


def _read(
    answer: str, context: TrialContext, known: Sequence[JudgedChange]
) -> tuple[tuple[JudgedChange, ...], list[str]]:
    """Return the changes of an answer that can be used, and a sentence on each other one."""
    try:
        items = last_json(answer)
    except ValueError as error:
        return (), [str(error)]
    if not isinstance(items, list):
        return (), ["the answer has no array in a block that begins with ```json"]
    found: list[JudgedChange] = []
    faults: list[str] = []
    trees = {context.snapshot.head_tree, *(context.snapshot.apply(one.diff) for one in known)}
    names = {one.name for one in known}
    for item in items:
        written = serialization.read(WrittenChange, item, faults)
        if written is None:
            continue
        made = _make(written, context)
        if isinstance(made, str):
            faults.append(f"{written.name}: {made}")
        elif made.tree in trees or written.name in names:
            faults.append(f"{written.name}: it is there already")
        else:
            trees.add(made.tree)
            names.add(written.name)
            found.append(
                JudgedChange(
                    kind=written.kind, name=written.name, why=written.why, diff=context.snapshot.diff(made.tree)
                )
            )
    return tuple(found), faults


def _make(written: WrittenChange, context: TrialContext) -> ChangedTree | str:
    """Return the tree that a change makes, else what is wrong with it, in words for its author."""
    snapshot = context.snapshot
    tree = snapshot.head_tree
    for edit in written.edits:
        content = snapshot.read(tree, edit.path)
        before = "" if content is None else content.decode("utf-8", "surrogateescape")
        if (content is None) != (not edit.old):
            return (
                f"{edit.path} {'is not there' if content is None else 'is there, so that old should be a text of it'}"
            )
        if edit.old and before.count(edit.old) != 1:
            return f"in {edit.path} the text old stands {before.count(edit.old)} times; it should stand there once"
        after = before.replace(edit.old, edit.new) if edit.old else edit.new
        try:
            changed = diffs.of_file(edit.path, content or b"", after.encode("utf-8", "surrogateescape"))
            tree = snapshot.apply(changed, tree)
        except (DiffRejected, ValueError) as error:
            return str(error)
    if written.kind is not ChangeKind.NEAR and not _leaves_green(context, tree):
        return "the project's own tests fail with it; change a test that asks for what the comment is against"
    return ChangedTree(name=written.name, tree=tree)


def _leaves_green(context: TrialContext, tree: str) -> bool:
    """Return whether the project's own tests pass on a tree, as they are or as the fix changes them.

    The tests of the pull request may ask for just what its comment is against. Raises EngineError, Cancelled.
    """
    if goes_together(context, tree):
        return True
    snapshot = context.snapshot
    own = {path for path in diffs.touched_paths(snapshot.pull_request_diff()) if is_test(path)}
    parts = diffs.split_files(snapshot.diff(snapshot.reference_tree))
    tests = "".join(part.text for part in parts if not own.isdisjoint({part.old, part.new}))
    try:
        return bool(tests) and goes_together(context, snapshot.apply(tests, tree))
    except DiffRejected:
        return False


def judge(context: TrialContext, one: ProvedComment, asked: Sequence[JudgedChange]) -> tuple[JudgedChange, ...]:
    """Return the changes with whether the oracle is right on each.

    Two that break the project's own tests together are no right change: such pairs are left out. Raises EngineError,
    StoreError, Cancelled.
    """
    trees = {change.name: context.snapshot.apply(change.diff) for change in asked}
    changes = [ChangedTree(name=name, tree=tree) for name, tree in trees.items()]
    answers = context.perform(OracleAnswerStep(context, one, changes))
    found = []
    for change in asked:
        verdict = answers[change.name].verdict
        held = None if verdict is Verdict.UNKNOWN else (verdict is Verdict.CAUGHT) == change.kind.resolves
        if change.kind is not ChangeKind.IN_COMPANY or held or _leaves_green(context, trees[change.name]):
            found.append(dataclasses.replace(change, held=held))
    return tuple(found)


def _pairs(context: TrialContext, written: Sequence[JudgedChange]) -> Iterator[JudgedChange]:
    snapshot = context.snapshot
    for name, (fix, other) in _couples(written).items():
        try:
            tree = snapshot.apply(other.diff, snapshot.apply(fix.diff))
        except DiffRejected:
            continue
        why = f"{fix.why} With it: {other.why}"
        yield JudgedChange(kind=ChangeKind.IN_COMPANY, name=name, why=why, diff=snapshot.diff(tree))


def _couples(changes: Sequence[JudgedChange]) -> dict[str, tuple[JudgedChange, JudgedChange]]:
    """Return each right fix with each change of the company, by the name that both have together."""
    fixes, company = ([one for one in changes if one.kind is kind] for kind in (ChangeKind.RIGHT, ChangeKind.COMPANY))
    return {f"{fix.name}-with-{other.name}": (fix, other) for fix in fixes for other in company}


def disputed_in(answer: str, failed: Sequence[JudgedChange]) -> dict[str, str]:
    """Return why its author says that some of these changes are not what they are called, by name."""
    names = {one.name for one in failed}
    return {name: why for name, why in _DISPUTED.findall(answer) if name in names}


def dispute(changes: Sequence[JudgedChange], disputed: Mapping[str, str]) -> tuple[JudgedChange, ...]:
    """Return the changes with what an oracle's author says against some; it holds for them in company too."""
    against = {name: disputed.get(fix.name, "") for name, (fix, _) in _couples(changes).items()} | {**disputed}
    return tuple(dataclasses.replace(one, disputed=against.get(one.name) or one.disputed) for one in changes)


def describe_failures(failed: Sequence[JudgedChange]) -> str:
    """Return what an oracle is wrong on, in words for its author."""
    verbs = {True: "refuses a right fix", False: "accepts a change that does not resolve the comment"}
    parts = [f"It {verbs[one.kind.resolves]}, {one.name}: {one.why}\n{one.diff}" for one in failed]
    return "\n".join(["This oracle is red at head and green at merged, and it is wrong on other changes.", *parts])


def strengthen(
    found: Oracle,
    rounds: int,
    write: Callable[[int, Sequence[JudgedChange]], tuple[JudgedChange, ...] | str],
    answer: Callable[[Oracle, Sequence[JudgedChange]], tuple[JudgedChange, ...]],
    mend: Callable[
        [Oracle, int, Sequence[JudgedChange], Sequence[JudgedChange]], tuple[Oracle, Mapping[str, str]] | str
    ],
) -> tuple[Oracle, tuple[JudgedChange, ...], str]:
    """Return the oracle after at most so many mends, every change that it was judged by, and what remains.

    ``write`` makes changes that differ from those that are known, ``answer`` judges an oracle by them. ``mend`` gets
    those that it is wrong on, and all; it makes one that is right on all, but for those that it disputes, by name: on
    them it is judged anew. What remains is a sentence, empty where nothing does.
    """
    known: tuple[JudgedChange, ...] = ()
    for number in range(1, rounds + 2):
        written = write(number, known)
        if isinstance(written, str):
            return found, known, f"no changes to judge it by: {written}" if number == 1 else ""
        judged = answer(found, written)
        failed = [one for one in judged if one.held is False]
        if not failed:
            return found, (*known, *judged), ""
        wrong = f"its oracle {_sentence(failed)}"
        if number > rounds:
            break
        mended = mend(found, number, failed, (*known, *judged))
        if isinstance(mended, str):
            break
        found, disputed = mended
        after = dispute((*known, *judged), disputed)
        contested = [one for one in after if one.disputed]
        known = (
            *(dataclasses.replace(one, fresh=False) for one in after if not one.disputed),
            *(answer(found, contested) if contested else ()),
        )
    return found, (*known, *judged), wrong


def _sentence(failed: Sequence[JudgedChange]) -> str:
    names: dict[str, list[str]] = {}
    for one in failed:
        names.setdefault("refuses" if one.kind.resolves else "accepts", []).append(one.name)
    return " and ".join(f"{verb} {', '.join(own)}" for verb, own in names.items())


def doubts(changes: Sequence[JudgedChange]) -> Iterator[str]:
    """Yield a sentence on each change that the oracle's author disputes."""
    for one in changes:
        if one.disputed:
            verb = "may accept" if one.held is None else "accepts" if one.held is one.kind.resolves else "refuses"
            yield f"its oracle {verb} {one.name}, which its author disputes: {one.disputed}"


def checks_of(changes: Sequence[JudgedChange]) -> list[JudgedChange]:
    """Return the changes on which an oracle must stay right: those that it was mended on, and was right on."""
    return [one for one in changes if one.held is not None and (one.held or not one.fresh) and not one.disputed]


def with_checks(comment: Comment, checks: Sequence[JudgedChange]) -> tuple[Comment, dict[str, str]]:
    """Return a comment that is checked on these changes, and their files."""
    names = {one.name: f"checks/{comment.id}-{one.name}.diff" for one in checks}
    sides = {side: tuple(names[one.name] for one in checks if one.kind.resolves is side) for side in (True, False)}
    files = {names[one.name]: one.diff for one in checks}
    return dataclasses.replace(comment, accepts=sides[True], rejects=sides[False]) if checks else comment, files


def settings_of(stage: Proposing, number: int) -> dict[str, Any]:
    """Return the settings of who writes changes for a stage that asks a model."""
    shared = ("model", "provider", "api", "timeout", "max_tokens", "token_limit", "options", "folder", "attempts")
    return {**{name: getattr(stage, name) for name in shared}, "number": number}
