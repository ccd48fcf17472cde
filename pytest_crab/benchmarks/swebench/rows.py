"""Rows of SWE-bench run here: whether the tests that a row names fail and pass as it states."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_crab import ecosystems, harness, serialization
from pytest_crab.benchmarks.swebench.names import Found, Likeness, find_all
from pytest_crab.curation.proposed_environments import proposed
from pytest_crab.diffs import touched_paths
from pytest_crab.ecosystems.contract import Ecosystem
from pytest_crab.errors import CrabError, DiffRejected, ImageError, SourceError, SourceUnreachable
from pytest_crab.formats import format_count, format_names
from pytest_crab.instances.native import read_lines
from pytest_crab.protocols import Snapshot
from pytest_crab.scratch import scratch
from pytest_crab.sources import drop, fetcher_for
from pytest_crab.trial import Crew, RunContext
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import (
    CommitSource,
    Ending,
    Environment,
    Instance,
    Provenance,
    PullRequestFacts,
    Run,
    Source,
    StrEnum,
    TestOutcome,
)  # fmt: skip

#: Seconds for the tests of one state.
_SECONDS = 900

#: How often what does not agree is run again, to see whether it is flaky.
_AGAIN = 2

#: Under this name the store keeps records; a change of what they are made by is a new number.
STEP, VERSION = "tests", 5

#: Ends of a run that are no doing of the project's: the run says nothing.
_BROKEN = (Ending.UNSTARTED, Ending.LOST)

#: Ends of a run that say nothing of the tests that it did not come to. In others those did not build, or crashed.
_CUT_SHORT = (Ending.TIMEOUT, Ending.MEMORY, Ending.PROCESSES, Ending.OUTPUT, Ending.TAMPERED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowWithTests:
    """One row with its tests."""

    instance_id: str
    repo: str
    base_commit: str
    patch: str
    test_patch: str
    FAIL_TO_PASS: tuple[str, ...]
    PASS_TO_PASS: tuple[str, ...] = ()


#: The fields that some releases have as lists, and some as JSON texts.
_LISTS = ("FAIL_TO_PASS", "PASS_TO_PASS")


def read_rows(file: Path) -> Iterator[RowWithTests]:
    """Yield the rows of a file. After the last, raises BadInput for those that are none."""
    return read_lines(file, RowWithTests, "instance_id", _with_lists)


def _with_lists(row: object) -> object:
    if not isinstance(row, dict):
        return row
    texts = {name: row[name] for name in _LISTS if isinstance(row.get(name), str)}
    try:
        return row | {name: json.loads(text) for name, text in texts.items()}
    except (ValueError, RecursionError):
        return row


class Outcome(StrEnum):
    """The result of a row. Only the first is as the data states; the last three leave it open."""

    AGREES = "agrees"
    FLAKY = "flaky"
    DIFFERS = "differs"
    NAMES = "names not here"
    ENVIRONMENT = "no environment"
    SOURCE = "no source"
    LANGUAGE = "no runner"

    @property
    def ran(self) -> bool:
        """True if the tests ran."""
        return self not in (Outcome.ENVIRONMENT, Outcome.SOURCE, Outcome.LANGUAGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRecord:
    """The result of one row, and how its names were found."""

    id: str
    repo: str
    language: str
    outcome: Outcome
    #: Why it does not agree, in a sentence; empty: it does.
    detail: str = ""
    #: The environment in which the tests ran; None: there is none.
    environment: Environment | None = None
    #: How many names were found in each way.
    found: Mapping[Likeness, int] = field(default_factory=dict)
    #: Names that no test had in either state.
    absent: tuple[str, ...] = ()
    seconds: float = 0.0
    #: True if there was no time for an environment that may have agreed.
    is_open: bool = False

    @property
    def is_final(self) -> bool:
        """True if the row need not be run again: its tests ran, and more time would change nothing."""
        return self.outcome.ran and not self.is_open


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The names of a row beside the tests of a run on either side."""

    found: Mapping[str, Found]
    absent: tuple[str, ...]
    #: The names whose outcomes are not those that the row states.
    differing: tuple[str, ...]
    #: True if the run without the fix was cut short: what it does not tell of may pass.
    cut_short: bool

    @property
    def agrees(self) -> bool:
        """True if every test that was found is as the row states."""
        return not self.differing and not self.cut_short


def compare(row: RowWithTests, before: Run, after: Run) -> Comparison:
    """Compare two runs with a row: its FAIL_TO_PASS do not pass before, and all pass after (arXiv 2310.06770, 2.1)."""
    told = [{test.id: test.outcome for test in run.tests} for run in (before, after)]
    names = tuple(dict.fromkeys((*row.FAIL_TO_PASS, *row.PASS_TO_PASS)))
    found, differing = find_all(names, first=told[1], others=told[0]), []
    for name, one in found.items():
        passed = [all(outcomes.get(each) == "passed" for each in one.ids) for outcomes in told]
        if passed != [name not in row.FAIL_TO_PASS, True]:
            differing.append(name)
    cut_short = before.ending in _CUT_SHORT
    absent = tuple(name for name in names if name not in found)
    return Comparison(found=found, absent=absent, differing=tuple(differing), cut_short=cut_short)


def key_of(row: RowWithTests, run_context: RunContext) -> str:
    """Return the key of a row's record: what it is made of and by."""
    _, owner = _owners(row)[0]
    by = {"version": VERSION, "harness": harness.VERSION, "tests": owner.own_tests, "runtime": run_context.runtime.name}
    tool = owner.tools.here() if owner.tools is not None else None
    return serialization.digest({"row": serialization.dump(row), **by, "tool": None if tool is None else tool.version})


def see(
    row: RowWithTests,
    crew: Crew,
    run_context: RunContext,
    notice: Callable[[str], None],
    *,
    seconds: float,
    likely: str | None = None,
) -> RowRecord:
    """Run a row's tests in the first of the proposed environments in which they do as the row states.

    One of the likely version is tried before the others. After so many seconds no other environment is begun.
    Where none of the names is found, tests in the next of the languages that the row touches are run.
    Raises EngineError, StoreError, Cancelled.
    """
    started = time.monotonic()
    open_context = functools.partial(TrialContext, crew=crew, run_context=run_context, notice=notice)
    for language, owner in _owners(row):
        with scratch("row") as folder:
            cache, deadline = run_context.cache, started + seconds
            record = _see(row, language, owner, folder, cache, open_context, likely, deadline)
        if record.outcome is not Outcome.NAMES or record.found:
            break
    return dataclasses.replace(record, seconds=round(time.monotonic() - started, 1))


def _owners(row: RowWithTests) -> list[tuple[str, Ecosystem]]:
    """Return the languages that a row touches with their ecosystems, those of most files first, then of most tests.

    Fixtures are often files of another language, so those whose tests cannot be run here come last.
    """
    known, tests = _languages(row.patch, row.test_patch), _languages(row.test_patch)
    found = sorted({*known}, key=lambda one: (-known.count(one), -tests.count(one), one)) or ["unknown"]
    owners = [(language, ecosystems.of_language(language)) for language in found]
    return sorted(owners, key=lambda one: one[1].own_tests is None)


def _languages(*diffs: str) -> list[str]:
    named = (ecosystems.language_of_file(path) for path in _touched(*diffs))
    return [language for language in named if language is not None]


def _touched(*diffs: str) -> list[str]:
    """Return the paths that diffs touch; none of a text that is no diff, which then does not apply."""
    found: set[str] = set()
    for diff in diffs:
        with contextlib.suppress(ValueError):
            found |= touched_paths(diff)
    return sorted(found)


def _see(
    row: RowWithTests,
    language: str,
    owner: Ecosystem,
    folder: Path,
    cache: Path,
    open_context: Callable[[Instance], TrialContext],
    likely: str | None,
    deadline: float,
) -> RowRecord:
    blank = RowRecord(id=row.instance_id, repo=row.repo, language=language, outcome=Outcome.LANGUAGE)
    if language == "unknown":
        return dataclasses.replace(blank, detail="its patches touch no file in a language that is known here")
    if owner.own_tests is None:
        return dataclasses.replace(blank, detail=f"nothing here runs a project's own tests in {language}")
    files = tuple(_touched(row.test_patch))
    try:
        instance, snapshot = _sources(row, language, folder, cache)
        checkout = folder / "tree"
        snapshot.clone(checkout)
        proposals = proposed(owner, instance, checkout, files, cache, likely)
    except (SourceError, SourceUnreachable, DiffRejected) as error:
        return dataclasses.replace(blank, outcome=Outcome.SOURCE, detail=str(error))
    contexts = (open_context(dataclasses.replace(instance, environment=each)) for each in proposals)
    return _search(row, owner, files, contexts, blank, deadline)


def _search(
    row: RowWithTests,
    owner: Ecosystem,
    files: Sequence[str],
    contexts: Iterator[TrialContext],
    blank: RowRecord,
    deadline: float,
) -> RowRecord:
    """Return the record of the first environment in which a row's tests do not differ, else of the best."""
    best = dataclasses.replace(blank, outcome=Outcome.ENVIRONMENT)
    faults: list[str] = []
    of_machine = False
    try:
        for context in contexts:
            if time.monotonic() > deadline:
                faults.append("the time for further environments was up")
                best = dataclasses.replace(best, is_open=True)
                break
            try:
                seen = _seen_in(row, owner, files, context, blank)
            except ImageError as error:
                faults.append(f"{owner.name} {owner.version(context.instance.required_environment)}: {error}")
                of_machine = of_machine or error.of_machine
                continue
            finally:
                with contextlib.suppress(CrabError, OSError):  # prune removes what is left
                    context.discard_image()
            if seen.outcome is not Outcome.DIFFERS:
                return seen
            if best.environment is None or sum(seen.found.values()) > sum(best.found.values()):
                best = seen
    except ImageError as error:  # of the proposals
        faults.append(str(error))
        of_machine = True
    detail = "; ".join(filter(None, [best.detail, *faults])) or "no environment was proposed"
    return dataclasses.replace(best, outcome=Outcome.ENVIRONMENT if of_machine else best.outcome, detail=detail)


def _sources(row: RowWithTests, language: str, folder: Path, cache: Path) -> tuple[Instance, Snapshot]:
    """Return a row as an instance whose head has tests and fix, and whose reference is without the fix, and its trees.

    The environment is made of head, so that it has what the fix needs. Raises SourceError, SourceUnreachable,
    DiffRejected.
    """
    url = f"https://github.com/{row.repo}"
    try:
        source = CommitSource(url=url, sha=row.base_commit, head="tests.diff", reference="fix.diff")
    except ValueError as error:
        raise SourceError(f"base_commit is {row.base_commit[:60]!r}: {error}") from error
    (folder / "tests.diff").write_text(row.test_patch, "utf-8", newline="")
    (folder / "fix.diff").write_text(row.patch, "utf-8", newline="")
    instance = Instance(
        id=row.instance_id,
        folder=str(folder),
        provenance=Provenance.GITHUB,
        repo=row.repo,
        language=language,
        license="unknown",
        pull_request=PullRequestFacts(number=1, title=row.instance_id),
        source=Source(commit=source),
        comments=(),
        clean=True,
    )
    first = fetcher_for(instance).fetch(instance, cache)
    drop(instance, cache, first)
    back = first.diff(first.head_tree, first.reference_tree)
    (folder / "tests.diff").write_text(
        first.diff(first.reference_tree, first.base_tree), "utf-8", "surrogateescape", ""
    )
    (folder / "fix.diff").write_text(back, "utf-8", "surrogateescape", "")
    return instance, fetcher_for(instance).fetch(instance, cache)


def _seen_in(
    row: RowWithTests, owner: Ecosystem, files: Sequence[str], context: TrialContext, blank: RowRecord
) -> RowRecord:
    """Run a row's tests on both sides in one environment, again where they are not as stated although they built.

    Raises ImageError, EngineError, Cancelled.
    """
    if context.run_context.unconfined:
        context.require_sandbox()
    runs = _run(row, owner, files, context)
    compared, fault = compare(row, *runs), _early_end("with", runs[1]) or _error_words(runs[1])
    again: list[Comparison] = []
    wanting = not compared.agrees or not {*compared.absent}.isdisjoint(row.FAIL_TO_PASS)
    repeats = 0 if is_unbuilt(runs[1]) else _AGAIN
    while wanting and len(again) < repeats:
        again.append(compare(row, *_run(row, owner, files, context)))
        if again[-1].agrees:
            break
    flaky = any(dataclasses.replace(each, found=compared.found) != compared for each in again)
    found = Counter(one.likeness for one in compared.found.values())
    seen = dataclasses.replace(
        blank,
        outcome=Outcome.AGREES,
        environment=context.instance.required_environment,
        found=dict(found),
        absent=compared.absent,
    )
    told = _count_names(compared.differing or compared.absent)
    unbuilt = _error_words(runs[0])
    without = _early_end("without", runs[0]) or (unbuilt and f"without the fix {unbuilt}")
    detail = "; ".join(filter(None, [without, fault, told]))
    if flaky:
        return dataclasses.replace(seen, outcome=Outcome.FLAKY, detail=detail)
    if not compared.agrees or (compared.absent and fault):
        return dataclasses.replace(seen, outcome=Outcome.DIFFERS, detail=detail)
    if any(name in row.FAIL_TO_PASS for name in compared.absent):
        return dataclasses.replace(seen, outcome=Outcome.NAMES, detail=_count_names(compared.absent))
    return seen


def _run(row: RowWithTests, owner: Ecosystem, files: Sequence[str], context: TrialContext) -> tuple[Run, Run]:
    """Run a row's tests on the tree without its fix, then with it. Raises ImageError where they do not run."""
    trees = (context.snapshot.reference_tree, context.snapshot.head_tree)
    states = {tree: context.snapshot.changes(tree) for tree in trees}
    names = (*row.FAIL_TO_PASS, *row.PASS_TO_PASS)
    job = harness.Job(
        image=context.image,
        environment=context.instance.required_environment,
        states=states,
        runs=[
            harness.OwnTestsRun(
                id=side, state=tree, seconds=_SECONDS, ecosystem=owner.name, files=tuple(files), names=names
            )
            for side, tree in zip(("before", "after"), trees, strict=True)
        ],
    )
    before, after = harness.parse(job, context.execute(harness.commands(job), seconds=job.seconds)).runs
    for run in (before, after):
        if run.ending in _BROKEN:
            raise ImageError(f"the tests were not run: {run.detail or run.ending.value}", of_machine=True)
    return before, after


def _early_end(side: str, run: Run) -> str:
    """Return what ended a run before all its tests were told; empty: nothing did."""
    if run.ending is Ending.COMPLETED:
        return ""
    return f"{side} the fix the tests ended in {run.ending.value}: {run.detail or 'nothing was told'}"


def is_unbuilt(run: Run) -> bool:
    """Return whether tests of a run are not told since they did not build, and none since their process broke."""
    errors = {test.exception for test in _errors(run)}
    return run.ending is Ending.UNINSTALLED or (bool(errors) and not {"Crashed", "Exited"} & errors)


def _error_words(run: Run) -> str:
    """Return why tests of a run are not told, and where; empty: all are."""
    found = (f"{test.exception} in {test.id.rstrip(':')} {test.where or ''}".rstrip() for test in _errors(run))
    return "; ".join(sorted({*found}))


def _errors(run: Run) -> list[TestOutcome]:
    return [test for test in run.tests if test.outcome == "error" and test.exception]


def _count_names(names: Sequence[str]) -> str:
    return f"{format_count(len(names), 'name')}: {format_names(names, 3)}" if names else ""
