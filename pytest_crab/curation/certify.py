"""Certifies one instance: proves it as it is, or finds an environment in which it proves and writes that down."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from pytest_crab.curation.advice import advice
from pytest_crab.curation.blame import blamed
from pytest_crab.curation.diagnose import NETWORK
from pytest_crab.curation.diagnose import Diagnosis
from pytest_crab.curation.diagnose import diagnose
from pytest_crab.curation.interpreter import RELEASED
from pytest_crab.curation.ladder import Attempt
from pytest_crab.curation.ladder import Ladder
from pytest_crab.curation.ladder import Rung
from pytest_crab.curation.ladder import Sides
from pytest_crab.curation.measuring import Seen
from pytest_crab.curation.measuring import measure
from pytest_crab.curation.resolve import Resolver
from pytest_crab.errors import Cancelled
from pytest_crab.errors import CrabError
from pytest_crab.errors import EngineError
from pytest_crab.errors import ImageError
from pytest_crab.errors import SourceUnreachable
from pytest_crab.protocols import Snapshot
from pytest_crab.runtimes import interpreters
from pytest_crab.runtimes.runs import RunFolder
from pytest_crab.runtimes.trees import put
from pytest_crab.scoring.oracles.audit import audit
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.scoring.oracles.proof import prove
from pytest_crab.sources.git import GitFetcher
from pytest_crab.trial.context import TrialContext
from pytest_crab.trial.crew import Crew
from pytest_crab.trial.world import World
from pytest_crab.types import Environment
from pytest_crab.types import Instance
from pytest_crab.waiting import FOR_A_SLOT
from pytest_crab.waiting import waits_counted

#: The rung of an instance that brings its environment.
GIVEN = "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What certifying found: the instance with the environment that serves best, its proofs, a sentence for each gap.

    ``changed`` is whether the environment is another than the file has; ``notes`` are sentences worth knowing;
    ``seen`` is what oracles without a proof said of each state, by comment; ``skipped`` is why there was nothing to
    prove here: the source cannot be reached from this machine.
    """

    instance: Instance
    rung: str | None
    proven: tuple[ProvedComment, ...]
    problems: dict[str, str]
    changed: bool = False
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    seen: Mapping[str, tuple[Seen, ...]] = field(default_factory=dict)
    skipped: str | None = None

    @property
    def proved_comments(self) -> tuple[str, ...]:
        """The ids of the comments whose oracles are proved, and sound where they were audited."""
        return tuple(one.comment.id for one in self.proven if one.proof is not None)

    @property
    def proved(self) -> int:
        """The number of oracles that are proved, and sound where they were audited."""
        return len(self.proved_comments)


def is_given(environment: Environment) -> bool:
    """Whether an environment says what it is made of; one that does not would be whatever runs this."""
    return bool(environment.packages or environment.install or environment.image or environment.dockerfile != "python")


def certify(instance: Instance, crew: Crew, world: World, notice: Callable[[str], None]) -> Certificate:
    """Prove every oracle of an instance, in an environment of its own making if it has none.

    Never raises for what the instance, its source or its environment do: that is a sentence for each oracle. Raises
    Cancelled when the world was stopped.
    """
    started = time.monotonic()
    with waits_counted(lambda begins: notice(f"diagnosis{FOR_A_SLOT if begins else ''}")) as waited:
        try:
            found = _certify(instance, crew, world, notice)
        except Cancelled:
            raise
        except SourceUnreachable as error:
            found = Certificate(instance=instance, rung=None, proven=(), problems={}, skipped=_sentence(str(error)))
        except CrabError as error:
            problems = {comment.id: _sentence(str(error)) for comment in instance.with_oracles}
            found = Certificate(instance=instance, rung=None, proven=(), problems=problems)
    return dataclasses.replace(found, seconds=round(time.monotonic() - started - waited.seconds, 1))


def _certify(instance: Instance, crew: Crew, world: World, notice: Callable[[str], None]) -> Certificate:
    facts = instance.source.git
    if facts is None or is_given(instance.required_environment):
        return _as_it_is(instance, crew, world, notice)
    if world.no_sandbox is not None:
        raise EngineError(
            f"{instance.id} names no packages, and finding them runs the project's own build, for which there is no "
            f"sandbox here: {world.no_sandbox}"
        )
    return _climbed(instance, crew, world, notice)


def _as_it_is(instance: Instance, crew: Crew, world: World, notice: Callable[[str], None]) -> Certificate:
    context = TrialContext(instance, crew, world, notice)
    if world.unconfined:
        world.permit(instance, crew)
    proven = audit(context, prove(context))
    unproved = [one for one in proven if one.proof is None]
    seen = _seen(context, unproved)
    problems = {one.comment.id: _plain(instance, one, seen) for one in unproved}
    return Certificate(instance=instance, rung=GIVEN, proven=proven, problems=problems, seen=seen)


def _seen(context: TrialContext, unproved: Sequence[ProvedComment]) -> Mapping[str, tuple[Seen, ...]]:
    """What the oracles that have no proof say of every state: a proof only says that something is wrong."""
    return measure(context, [one.comment for one in unproved]) if unproved else {}


def _plain(instance: Instance, one: ProvedComment, seen: Mapping[str, tuple[Seen, ...]]) -> str:
    """Why an oracle has no proof, in words for who wrote it.

    What is wrong with the workspace itself goes first; a second look that finds nothing leaves what the proof said.
    """
    problem = _sentence(one.problem).removeprefix(f"{instance.id}: ")
    around = f"{instance.id} is not proved: "
    told = advice(seen.get(one.comment.id, ()))
    if problem.startswith(around):
        return "; ".join([problem.removeprefix(around), *told])
    return _sentence("; ".join(told)) if told else problem


def _climbed(instance: Instance, crew: Crew, world: World, notice: Callable[[str], None]) -> Certificate:
    source = GitFetcher()
    snapshot = source.fetch(instance, world.cache)
    head_date, merged_date = source.commit_times(instance, world.cache)
    left_out = source.missing_files(instance, world.cache)
    notes = [f"the mirror lacks the content of {', '.join(left_out)}, which the trees leave out"] if left_out else []

    def attempt(rung: Rung) -> Attempt:
        tried = dataclasses.replace(instance, environment=rung.environment)
        context = TrialContext(tried, crew, world, lambda step: notice(f"{rung.name}, {step}"))
        try:
            return Attempt(rung=rung, context=context, proven=prove(context))
        except ImageError as error:
            reason = str(error).removeprefix(f"{instance.id}: ")
            return Attempt(
                rung=rung, context=context, problem=reason, blamed=blamed(error.log, rung.environment.packages)
            )

    with _checkouts(snapshot, world.run) as (head, merged):
        sides = Sides(head=head, merged=merged, head_date=head_date, merged_date=merged_date)
        at_hand = tuple(version for version in RELEASED if interpreters.find(version) is not None)
        resolver = Resolver(world.run, world.cache, world.cancelled)
        ladder = Ladder(instance, sides, resolver, at_hand, attempt, _diagnosis, notice)
        best = ladder.climb()
        notes += [
            f"{pin} does not install on CPython {on} and is left out: {_sentence(reason)}"
            for (on, pin), reason in ladder.dropped.items()
        ]
        if best is None or best.problem is not None:
            sentence = _sentence("; ".join(dict.fromkeys(ladder.problems)) or "no environment could be made")
            problems = {comment.id: sentence for comment in instance.with_oracles}
            return Certificate(instance=instance, rung=None, proven=(), problems=problems, notes=tuple(notes))
        proven = audit(best.context, best.proven)
        unproved = [one for one in proven if one.proof is None]
        seen = _seen(best.context, unproved)
        cause = _cause(_diagnosis(best), ladder.problems) if unproved else ""
    found = dataclasses.replace(
        instance,
        environment=best.rung.environment,
        tags={**instance.tags, "rung": best.rung.name} if best.proved else instance.tags,
    )
    return Certificate(
        instance=found if best.proved else instance,
        rung=best.rung.name if best.proved else None,
        proven=proven,
        problems={one.comment.id: _sentence(f"{_plain(instance, one, seen)}{cause}") for one in unproved},
        changed=bool(best.proved),
        notes=tuple(notes),
        seen=seen,
    )


@contextlib.contextmanager
def _checkouts(snapshot: Snapshot, run: RunFolder) -> Iterator[tuple[Path, Callable[[], Path]]]:
    """Checkouts of head and, when asked for, of the reference, to read and build manifests in; gone afterwards."""
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


def _diagnosis(attempt: Attempt) -> Diagnosis:
    """What is seen of all the oracles that an attempt left without a proof."""
    seen = [diagnose(attempt.context, one.comment) for one in attempt.proven if one.proof is None]
    return Diagnosis(
        missing=tuple(dict.fromkeys(name for one in seen for name in one.missing)),
        vain=tuple(dict.fromkeys(name for one in seen for name in one.vain)),
        kinds=frozenset(kind for one in seen for kind in one.kinds),
    )


def _cause(diagnosis: Diagnosis, problems: list[str]) -> str:
    """What more can be said of oracles that no rung proved."""
    if diagnosis.kinds & NETWORK:
        return "; it reaches for the network, which no oracle has"
    if "circular import" in diagnosis.kinds:
        return "; the project's modules import one another in a circle, which the oracle enters at the wrong place"
    if diagnosis.missing:
        return f"; {', '.join(diagnosis.missing[:3])} cannot be imported" + "".join(f"; {one}" for one in problems[:1])
    return "".join(f"; {one}" for one in problems[:1])


def _sentence(text: str | None) -> str:
    """One line, whatever it was."""
    return " ".join((text or "").split())
