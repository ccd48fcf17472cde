"""Certify one instance: prove its oracles as it is, or search an environment in which they prove."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab import diffs, ecosystems
from pytest_crab.curation import code_parts
from pytest_crab.curation.assessment import StateAssessment
from pytest_crab.curation.blame import blamed_pins
from pytest_crab.curation.environment_search import Attempt, Candidate, Checkouts, EnvironmentSearch
from pytest_crab.curation.isolation import isolate
from pytest_crab.curation.last_lines import run_alone
from pytest_crab.curation.missing_modules import Diagnosis, diagnose
from pytest_crab.curation.oracle_forms import nearest
from pytest_crab.curation.pinning import Resolver
from pytest_crab.curation.proposed_environments import PROPOSED, proposed
from pytest_crab.curation.suspects import SUSPECT_RUNS, suspect
from pytest_crab.curation.unproved import assess_unproved, on_one_line, reason_of
from pytest_crab.ecosystems import ecosystem_of, interpreters
from pytest_crab.ecosystems.contract import Ecosystem
from pytest_crab.ecosystems.files_of_tests import may_have_tests_of
from pytest_crab.ecosystems.interpreters import RELEASED
from pytest_crab.errors import Cancelled, CrabError, EngineError, ImageError, SourceUnreachable, WorldError
from pytest_crab.harness import OwnTestsRun
from pytest_crab.instances import own_tests
from pytest_crab.instances.files import oracle_text
from pytest_crab.instances.oracle_needs import outside_needs
from pytest_crab.protocols import FileChange, Snapshot
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.runtimes.tree_diff import put
from pytest_crab.scoring.oracles.audit import audit
from pytest_crab.scoring.oracles.proof import ProvedComment, prove
from pytest_crab.scoring.oracles.states import Role
from pytest_crab.sources import fetcher_for
from pytest_crab.sources.git import GitFetcher
from pytest_crab.trial.context import TrialContext
from pytest_crab.trial.crew import Crew
from pytest_crab.trial.run_context import RunContext
from pytest_crab.types import Comment, Environment, Instance
from pytest_crab.waiting import FOR_A_SLOT, waits_counted

#: Among so many files of a project that are near to an oracle one with tests is looked for.
_MOST_NEAR = 10

#: The tag that says where an environment comes from, and the source on record of an instance that brings its own.
SOURCE, GIVEN = "environment_source", "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The result of certifying."""

    #: The instance with its best environment.
    instance: Instance
    proven: tuple[ProvedComment, ...]
    #: Why oracles lack a proof, by comment.
    problems: dict[str, str]
    environment_source: str | None = None
    #: Whether the environment or an oracle's isolation differs from the file's.
    changed: bool = False
    #: Sentences for the reader.
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    #: The results of unproved oracles on each state, by comment.
    seen: Mapping[str, tuple[StateAssessment, ...]] = field(default_factory=dict)
    #: Why the source cannot be reached.
    skipped: str | None = None
    #: What this machine or network lacks, so that nothing could be proved, whatever the oracles are.
    of_machine: str | None = None
    #: The proposed environment in which the project's own tests run; None: there is none, or it was not asked.
    built: Environment | None = None

    def require_look(self) -> Certificate:
        """Return this one. Raises SourceUnreachable or EngineError where that is why nothing was looked at."""
        if self.skipped is not None:
            raise SourceUnreachable(self.skipped)
        if self.of_machine is not None:
            raise EngineError(self.of_machine)
        return self

    @property
    def outcomes(self) -> dict[str, bool]:
        """By comment that was looked at here, whether its oracle is proved, and sound where it was audited."""
        return {one.comment.id: one.proof is not None for one in self.proven}

    @property
    def runs(self) -> dict[str, int]:
        """By comment whose oracle is proved, how many runs proved it."""
        return {one.comment.id: one.proof.runs for one in self.proven if one.proof is not None}

    @property
    def proved(self) -> int:
        """The number of oracles that are proved, and sound where they were audited."""
        return sum(self.outcomes.values())


def is_given(environment: Environment) -> bool:
    """Return whether an environment names its contents; one that does not depends on the machine that runs it."""
    return bool(
        environment.packages
        or environment.commands
        or environment.image
        or environment.dockerfile != ecosystems.DEFAULT.name
    )


def certify(
    instance: Instance,
    crew: Crew,
    run_context: RunContext,
    notice: Callable[[str], None],
    *,
    likely: str | None = None,
    keeps: bool = False,
) -> Certificate:
    """Prove every oracle of an instance, in an environment of its own making if it has none.

    Of proposed ones those of the ``likely`` version are tried first. ``keeps``: the one in which the project's own
    tests run stays on the disk though no oracle is proved in it, and who asks removes it.
    An instance with an oracle that may be flaky (see ``suspects``) is proved with more runs than the run context says.
    Never raises for what the instance, its source or its environment do: that is a sentence for each oracle. Raises
    Cancelled when the run was stopped.
    """
    started = time.monotonic()
    with contextlib.suppress(OSError):  # the proof says what cannot be read
        if any(suspect(oracle_text(instance, comment)) for comment in instance.with_oracles):
            run_context = dataclasses.replace(run_context, proof_runs=max(run_context.proof_runs, SUSPECT_RUNS))
    with waits_counted(lambda begins: notice(f"diagnosis{FOR_A_SLOT if begins else ''}")) as waited:
        try:
            found = _Certifying(instance, crew, run_context, notice).certify(likely, keeps=keeps)
        except Cancelled:
            raise
        except SourceUnreachable as error:
            found = Certificate(instance=instance, proven=(), problems={}, skipped=on_one_line(str(error)))
        except CrabError as error:
            sentence = on_one_line(str(error))
            here = isinstance(error, WorldError) or (isinstance(error, ImageError) and error.of_machine)
            found = _unproved(instance, sentence, of_machine=sentence if here else None)
    return dataclasses.replace(found, seconds=round(time.monotonic() - started - waited.seconds, 1))


def _unproved(instance: Instance, sentence: str, **more: Any) -> Certificate:
    """Return the certificate of an instance no oracle of which is proved, all for the same reason."""
    problems = {comment.id: sentence for comment in instance.with_oracles}
    return Certificate(instance=instance, proven=(), problems=problems, **more)


class _Certifying:
    """The certifying of one instance."""

    def __init__(self, instance: Instance, crew: Crew, run_context: RunContext, notice: Callable[[str], None]) -> None:
        self._instance = instance
        self._crew = crew
        self._run_context = run_context
        self._notice = notice

    def _context(self, instance: Instance) -> TrialContext:
        return TrialContext(instance, self._crew, self._run_context, self._notice)

    def certify(self, likely: str | None, *, keeps: bool) -> Certificate:
        """Return the certificate. Raises CrabError, Cancelled."""
        instance = self._instance
        if instance.source.repository is None or is_given(instance.required_environment):
            found = self._as_given()
        elif (owner := _owner_of_oracles(instance)) is ecosystems.DEFAULT:
            found = self._by_search()
        else:
            found = self._by_proposals(owner, likely, keeps=keeps)
        made, proven, notes = isolate(found.instance, found.proven, self._context)
        changed = found.changed or made != found.instance
        notes += [need for one in proven if one.proof is not None for need in outside_needs(made, one.comment)]
        return dataclasses.replace(found, instance=made, proven=proven, changed=changed, notes=(*found.notes, *notes))

    def _as_given(self) -> Certificate:
        context = self._context(self._instance)
        if self._run_context.unconfined:
            context.require_sandbox()
        proven = audit(context, prove(context))
        unproved = [one for one in proven if one.proof is None]
        seen = assess_unproved(context, unproved)
        problems = {one.comment.id: reason_of(context, one, seen) for one in unproved}
        return Certificate(
            instance=self._instance, environment_source=GIVEN, proven=proven, problems=problems, seen=seen
        )

    def _by_search(self) -> Certificate:
        """Search an environment in which the instance's oracles prove. Raises SourceError, EngineError, Cancelled."""
        instance, run_context = self._instance, self._run_context
        with open_search(instance, self._crew, run_context, self._notice) as search:
            notes = [*GitFetcher().notes(instance, run_context.cache)]
            best = search.search()
            notes += [
                f"{pin} does not install on CPython {on} and is left out: {on_one_line(reason)}"
                for (on, pin), reason in search.dropped.items()
            ]
            lacking = search.lacking
            advice = run_context.runtime.interpreter_advice(lacking) if lacking else ""
            clause = f"; its CPython would be {lacking}, and {advice}" if lacking else ""
            if best is None or best.problem is not None:
                sentence = on_one_line("; ".join(dict.fromkeys(search.problems)) or "no environment could be made")
                return _unproved(instance, f"{sentence}{clause}", notes=tuple(notes))
            certificate = _certificate_of(instance, best, search.problems, notes)
            if not certificate.proved:
                _discard(best, [])
            problems = {name: f"{told}{clause}" for name, told in certificate.problems.items()}
            return dataclasses.replace(certificate, problems=problems)

    def _by_proposals(self, owner: Ecosystem, likely: str | None, *, keeps: bool) -> Certificate:
        """Prove oracles of another ecosystem's own tests in the first environment that it proposes in which they hold.

        None is tried after one in which an oracle's tests, or else the project's, run on the reference: what is left is
        the oracle's own fault.
        Raises SourceError, EngineError, Cancelled, and ImageError where this machine lacks what a proposal needs.
        """
        instance = self._instance
        _require_sandbox(instance, self._run_context)
        tried: list[Attempt] = []
        problems: list[str] = []
        runs = False
        with _proposals(instance, owner, self._run_context, likely) as proposals:
            try:
                for environment in proposals:
                    candidate = Candidate(name=PROPOSED, environment=environment)
                    tried.append(_attempt(instance, self._crew, self._run_context, self._notice, prove, candidate))
                    runs = _runs_on_reference(tried[-1], owner)
                    if tried[-1].whole or runs:
                        break
            except ImageError as error:  # of the proposals; what was tried stands
                if not tried:
                    raise
                problems.append(str(error))
        problems += [one.problem for one in tried if one.problem is not None]
        best = max(tried, key=lambda one: (one.proved, runs and one is tried[-1], one.problem is None), default=None)
        for other in tried:
            if other is not best:
                _discard(other, [] if best is None else [best])
        if best is None or best.problem is not None:
            if any(one.of_machine for one in tried):
                raise ImageError("; ".join(problems), of_machine=True)
            return _unproved(instance, on_one_line("; ".join(dict.fromkeys(problems)) or "no environment was proposed"))
        certificate = _certificate_of(instance, best, problems, [])
        if not certificate.proved and not (runs and keeps):
            _discard(best, [])
        return dataclasses.replace(certificate, built=best.candidate.environment if runs else None)


def _owner_of_oracles(instance: Instance) -> Ecosystem:
    runners = (comment.required_oracle.runner for comment in instance.with_oracles)
    return next(filter(None, map(ecosystems.of_runner, runners)), ecosystems.DEFAULT)


@contextlib.contextmanager
def _proposals(
    instance: Instance, owner: Ecosystem, run_context: RunContext, likely: str | None = None
) -> Iterator[Iterator[Environment]]:
    """Yield the environments that an ecosystem proposes for what a pull request changes and the oracles' own files."""
    snapshot = fetcher_for(instance).fetch(instance, run_context.cache)
    paths = diffs.touched_paths(snapshot.pull_request_diff())
    laid: dict[str, str] = {}
    for comment in instance.with_oracles:
        runner = comment.required_oracle.runner
        if ecosystems.runs_own_tests(runner):
            laid |= own_tests.load(oracle_text(instance, comment), runner, comment.id).texts
    files = sorted(path for path in paths | laid.keys() if ecosystems.of_file(path) is owner)
    with _checkouts(snapshot, run_context.run) as (head, _):
        put(head, [FileChange(path=path, mode="100644", content=text.encode()) for path, text in laid.items()])
        yield proposed(owner, instance, head, files, run_context.cache, likely)


def lack_of_proposals(instance: Instance, owner: Ecosystem, run_context: RunContext) -> str | None:
    """Return why an ecosystem proposes no environment for an instance; None: it proposes one.

    Raises SourceError, and ImageError where this machine is to blame.
    """
    try:
        with _proposals(instance, owner, run_context) as proposals:
            return None if next(proposals, None) is not None else "none is proposed"
    except ImageError as error:
        if error.of_machine:
            raise
        return str(error)


def _runs_on_reference(attempt: Attempt, owner: Ecosystem) -> bool:
    """Return whether a test of an oracle that is not proved came to a verdict on the reference, or else a test near it.

    Such a test is of the project itself: where it runs, an oracle that does not build is at fault, and no toolchain.
    """
    unproved = [one for one in attempt.proven if one.proof is None]
    seen = assess_unproved(attempt.context, unproved)
    ran = any(state.ran for states in seen.values() for state in states if state.role is Role.REFERENCE)
    return ran or any(_runs_near(attempt.context, owner, one.comment) for one in unproved)


def _runs_near(context: TrialContext, owner: Ecosystem, comment: Comment) -> bool:
    """Return whether a test of the project that is near to an oracle runs on the reference."""
    oracle, snapshot = comment.required_oracle, context.snapshot
    places = [*own_tests.load(oracle_text(context.instance, comment), oracle.runner, comment.id).files]
    others = [path for path in snapshot.tracked() if may_have_tests_of(owner, path) and path not in places]
    near = [(path, _tests_in(snapshot, path)) for path in nearest(others, places[0])[:_MOST_NEAR]]
    if not near:
        return False
    path, names = next((one for one in near if one[1]), near[0])  # a nearer one may only help others
    own = OwnTestsRun(
        id="near",
        state=snapshot.reference_tree,
        seconds=context.instance.required_environment.timeout,
        ecosystem=owner.name,
        files=(path,),
        names=names,
    )
    with contextlib.suppress(ImageError, EngineError):
        (run,) = run_alone(context, own).runs
        return any(test.outcome in ("passed", "failed") for test in run.tests)
    return False


def _tests_in(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    text = (snapshot.read(snapshot.reference_tree, path) or b"").decode("utf-8", "replace")
    with contextlib.suppress(EngineError, ValueError):  # its tests cannot be told
        return tuple(sorted({each.name for each in code_parts.of(path).tests_of(text)}))
    return ()


def interpreters_of(instances: Iterable[Instance]) -> tuple[str, ...]:
    """Return the CPythons X.Y of which these instances may need environments; none if one needs the docker runtime."""
    found: dict[str, None] = {}
    for each in instances:
        environment = each.required_environment
        ecosystem = ecosystem_of(environment)
        if environment.image or environment.system or environment.dockerfile != ecosystem.name:
            return ()
        if ecosystem.tools is None:
            searched = each.source.repository is not None and not is_given(environment)
            free = searched and ecosystem.version(environment) is None
            found.update(dict.fromkeys(RELEASED if free else [interpreters.version_of(environment)]))
    return tuple(found)


@contextlib.contextmanager
def open_search(
    instance: Instance,
    crew: Crew,
    run_context: RunContext,
    notice: Callable[[str], None],
    prover: Callable[[TrialContext], tuple[ProvedComment, ...]] = prove,
) -> Iterator[EnvironmentSearch]:
    """Yield the search of an environment for a pull request of a git repository, with checkouts of both its sides.

    ``prover`` says which oracles of the instance hold in an environment. Raises SourceError, EngineError, Cancelled.
    """
    _require_sandbox(instance, run_context)
    fetcher = GitFetcher()
    snapshot = fetcher_for(instance).fetch(instance, run_context.cache)
    head_date, merged_date = fetcher.commit_times(instance, run_context.cache)
    with _checkouts(snapshot, run_context.run) as (head, merged):
        checkouts = Checkouts(head=head, merged=merged, head_date=head_date, merged_date=merged_date)
        at_hand = tuple(version for version in RELEASED if run_context.runtime.has_interpreter(version))
        resolver = Resolver(run_context.run, run_context.cache, run_context.cancelled)
        attempt = functools.partial(_attempt, instance, crew, run_context, notice, prover)
        yield EnvironmentSearch(instance, checkouts, resolver, at_hand, attempt, diagnosis_of, notice, _discard)


def _require_sandbox(instance: Instance, run_context: RunContext) -> None:
    if run_context.no_sandbox is not None:
        raise EngineError(
            f"{instance.id} names no packages, and finding them runs the project's own build, for which there is no "
            f"sandbox here: {run_context.no_sandbox}"
        )


def _discard(attempt: Attempt, kept: Sequence[Attempt]) -> None:
    """Remove an attempt's environment; a proof does not depend on it, and prune removes what is left."""
    with contextlib.suppress(CrabError, OSError):
        attempt.context.discard_image([one.context for one in kept])


def _attempt(
    instance: Instance,
    crew: Crew,
    run_context: RunContext,
    notice: Callable[[str], None],
    prover: Callable[[TrialContext], tuple[ProvedComment, ...]],
    candidate: Candidate,
) -> Attempt:
    """Prove the instance's oracles in a candidate environment. Raises SourceError, EngineError, Cancelled."""
    tried = dataclasses.replace(instance, environment=candidate.environment)
    context = TrialContext(tried, crew, run_context, lambda step: notice(f"{candidate.name}, {step}"))
    try:
        return Attempt(candidate=candidate, context=context, proven=prover(context))
    except ImageError as error:
        reason = str(error).removeprefix(f"{instance.id}: ")
        pins = blamed_pins(error.log, candidate.environment.packages)
        return Attempt(candidate=candidate, context=context, problem=reason, blamed=pins, of_machine=error.of_machine)


def _certificate_of(
    instance: Instance, best: Attempt, search_problems: Sequence[str], notes: Sequence[str]
) -> Certificate:
    """Audit the best attempt; the instance gets its environment if any oracle was proved there."""
    proven = audit(best.context, best.proven)
    unproved = [one for one in proven if one.proof is None]
    seen = assess_unproved(best.context, unproved)
    problems = {one.comment.id: reason_of(best.context, one, seen, search_problems) for one in unproved}
    if not best.proved:
        return Certificate(instance=instance, proven=proven, problems=problems, notes=tuple(notes), seen=seen)
    tags = {**instance.tags, SOURCE: best.candidate.name}
    return Certificate(
        instance=dataclasses.replace(instance, environment=best.candidate.environment, tags=tags),
        environment_source=best.candidate.name,
        proven=proven,
        problems=problems,
        changed=True,
        notes=tuple(notes),
        seen=seen,
    )


@contextlib.contextmanager
def _checkouts(snapshot: Snapshot, run: RunFolder) -> Iterator[tuple[Path, Callable[[], Path]]]:
    """Yield temporary checkouts of head and, made on demand, of the reference, to read and build manifests in."""
    with run.scratch() as folder:
        head = folder / "head"
        snapshot.clone(head)

        @functools.cache
        def merged() -> Path:
            place = folder / "merged"
            snapshot.clone(place)
            put(place, snapshot.changes(snapshot.reference_tree))
            return place

        yield head, merged


def diagnosis_of(attempt: Attempt) -> Diagnosis:
    """Return one diagnosis for all oracles that an attempt left unproved."""
    seen = [diagnose(attempt.context, one.comment) for one in attempt.proven if one.proof is None]
    return Diagnosis(
        missing=tuple(dict.fromkeys(name for one in seen for name in one.missing)),
        vain=tuple(dict.fromkeys(name for one in seen for name in one.vain)),
        kinds=frozenset(kind for one in seen for kind in one.kinds),
    )
