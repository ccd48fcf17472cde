"""Forecasts the needs of a run: trials, time, money, disk and memory; printed before a run and by --crab-plan."""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_crab.formats import format_size
from pytest_crab.runtimes.environment_stock import Stock, typical
from pytest_crab.scoring.judges.votes import JUDGEMENT
from pytest_crab.text import split_lines
from pytest_crab.trial import Crew, RunContext
from pytest_crab.trial.plan import OPEN, RUNS, SHARED, TrialPlan, nothing_stored, plan_contestants, plan_trial
from pytest_crab.types import NO_RUNTIME, Instance, TrialId

#: Seconds for looking trials up, and bytes of an earlier run's records that are read, at most.
SECONDS, TAIL = 0.25, 2**20
#: Refuse the run if free space is below this fraction of the estimate.
PLAIN = 0.25


#: The steps of a trial, in their order.
STEPS = ("proof", "review", "revision", "verdict", "explanation")
#: Those that may ask a model.
PAID = ("review", "revision")

#: One trial to come.
PlannedTrial = tuple[Instance, Crew, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskNeed:
    """The disk that environments need."""

    #: Environments that are there.
    there: int
    #: Environments to build.
    to_build: int
    #: Base images to pull.
    pulled: Sequence[str]
    #: The best guess of what that takes if all of it is needed.
    bytes: float
    #: What it takes at the least.
    least: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerNeed:
    """The steps of one reviewer's trials that are to be made, and what they may cost."""

    #: By step; of the step of judges each vote counts.
    steps: Mapping[str, int]
    #: The cost of those that a model makes, by what stored ones cost; None: a step is to be made of which no priced one
    #: is stored, or none is.
    usd: float | None
    #: Steps that are not in ``steps``, since how many are to be made depends on what earlier ones give.
    open: tuple[str, ...] = ()
    #: Whether no step of it asks a model.
    free: bool = False

    @property
    def unpriced(self) -> bool:
        """Return True if a step is to be made that may cost money, and what it costs is not known."""
        return self.usd is None and any(self.steps.get(step) for step in (*PAID, JUDGEMENT))


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The needs of a run: steps, seconds, money, disk and memory."""

    trials: int
    instances: int
    #: Reviews to be made.
    reviews: int
    #: Revisions to be made.
    revisions: int
    #: Reviews and revisions that need not be made.
    stored: int
    #: Whether every trial was looked up.
    exact: bool
    reviewers: Mapping[str, ReviewerNeed]
    #: None where a step to come was not measured.
    seconds: float | None
    disk: DiskNeed | None
    free: int | None
    jobs: int
    #: The number of full sandboxes that the memory holds, if fewer than ``jobs``.
    slots: int | None
    #: The trials that were looked up.
    plans: Mapping[TrialId, TrialPlan]

    @property
    def share(self) -> float:
        """The part of all reviews and revisions that is not stored."""
        made = self.reviews + self.revisions
        return made / (made + self.stored) if made else 0.0


def forecast(
    trials: Sequence[PlannedTrial],
    run_context: RunContext,
    *,
    stock: Stock | None,
    records: Path,
    runtime: str,
    jobs: int,
    whole: bool = False,
) -> Forecast:
    """Say what these trials will need, by the store, by what is built and by the ``records`` of an earlier run.

    Unless ``whole``, reviews and revisions of a random part are looked up for a quarter of a second and the rest is
    taken to be like them; nothing is fetched, built or run. ``whole`` looks up every step of every trial, and fetches
    sources for that. ``stock`` None: what is built is not known.
    """
    plans = share_reviews(trials, _plans(trials, run_context, whole=whole))
    share = len(trials) / len(plans) if plans else 0.0
    made = {step: round(share * sum(one.runs(step) for one in plans.values())) for step in PAID}
    instances = {instance.id: instance for instance, _, _ in trials}
    told = Forecast(
        trials=len(trials),
        instances=len(instances),
        reviews=made["review"],
        revisions=made["revision"],
        stored=2 * len(trials) - sum(made.values()),
        exact=len(plans) == len(trials),
        reviewers=_needs(plans, share, {crew.spec.reviewer for _, crew, _ in trials if crew.free}),
        seconds=None,
        disk=None,
        free=None if stock is None else stock.free,
        jobs=jobs,
        slots=memory_for(run_context.settings.oracle_limits.memory, jobs),
        plans=plans,
    )
    built = {name: instance for name, instance in instances.items() if instance.environment is not None}
    disk = None if stock is None else disk_need(built, stock, runtime, told.share)
    seconds = duration(read_times(records, runtime), trials, told, 0 if disk is None else disk.to_build)
    return replace(told, disk=disk, seconds=seconds)


def _plans(trials: Sequence[PlannedTrial], run_context: RunContext, *, whole: bool) -> dict[TrialId, TrialPlan]:
    if whole:
        return {_id(trial): plan_trial(*trial[:2], run_context, repeat=trial[2]) for trial in trials}
    steps = Path(getattr(run_context.store, "folder", "")) / "steps"
    if not any((steps / "review").glob("*")):
        return {_id(trial): nothing_stored(trial[1], run_context.explain) for trial in trials}
    until = time.monotonic() + SECONDS
    of_review: dict[TrialId, list[PlannedTrial]] = {}  # trials of one review are asked together: it is made once
    for trial in trials:
        of_review.setdefault(_review_id(trial), []).append(trial)
    order = list(of_review.values())
    random.Random(0).shuffle(order)  # noqa: S311 - a sample, no secret
    plans: dict[TrialId, TrialPlan] = {}
    for group in order:
        plans |= {_id(trial): contestants_plan(trial, run_context) for trial in group}
        if time.monotonic() > until:
            break
    return plans


def share_reviews(trials: Iterable[PlannedTrial], plans: Mapping[TrialId, TrialPlan]) -> dict[TrialId, TrialPlan]:
    """Return the plans with each review that several trials share made for the first of them alone."""
    found, asked = dict(plans), set()
    for trial in trials:
        plan, review = plans.get(_id(trial)), _review_id(trial)
        if plan is None or plan.steps.get("review") != RUNS:
            continue
        if review in asked:
            found[_id(trial)] = replace(plan, steps={**plan.steps, "review": SHARED})
        asked.add(review)
    return found


def contestants_plan(trial: PlannedTrial, run_context: RunContext) -> TrialPlan:
    """Look up a trial's review and revision alone; nothing is fetched, and an adapter's fault is for its trial."""
    instance, crew, repeat = trial
    try:
        return plan_contestants(instance, crew, run_context, repeat=repeat)
    except Exception:  # noqa: BLE001 - adapters of others raise anything
        return nothing_stored(crew, run_context.explain)


def _review_id(trial: PlannedTrial) -> TrialId:
    instance, crew, repeat = trial
    return crew.spec.review_id(instance.id, repeat)


def _id(trial: PlannedTrial) -> TrialId:
    instance, crew, repeat = trial
    return TrialId(instance.id, crew.spec.reviewer, repeat)


def _needs(plans: Mapping[TrialId, TrialPlan], share: float, free: Collection[str]) -> dict[str, ReviewerNeed]:
    found: dict[str, ReviewerNeed] = {}
    for reviewer in dict.fromkeys(trial.reviewer for trial in plans):
        own = [plan for trial, plan in plans.items() if trial.reviewer == reviewer]
        known_steps = [step for step in STEPS if any(step in plan.steps for plan in own)]
        steps = {
            step: round(share * sum(plan.steps.get(step, "").startswith(RUNS) for plan in own)) for step in known_steps
        }
        paid_steps = [step for step in PAID if step in steps]
        costs = {step: [plan.costs[step] for plan in own if step in plan.costs] for step in paid_steps}
        known = {step: steps[step] * statistics.fmean(paid) for step, paid in costs.items() if paid}
        if any(JUDGEMENT in plan.steps for plan in own):
            steps[JUDGEMENT] = round(share * sum(plan.missing_votes for plan in own))
            votes = [cost for plan in own for cost in plan.vote_costs]
            known |= {JUDGEMENT: steps[JUDGEMENT] * statistics.fmean(votes)} if votes else {}
        whole = bool(known) and all(step in known for step in (*paid_steps, JUDGEMENT) if steps.get(step))
        depends = {step for plan in own for step, state in plan.steps.items() if state == OPEN}
        unknown = tuple(step for step, count in steps.items() if not count and step in depends)
        found[reviewer] = ReviewerNeed(
            steps={step: count for step, count in steps.items() if step not in unknown},
            usd=0.0 if reviewer in free else sum(known.values()) if whole else None,
            open=unknown,
            free=reviewer in free,
        )
    return found


@dataclass(slots=True)
class StepTimes:
    """The times of the steps that an earlier run did not take from the store."""

    #: By step and by its contestant or ``""``.
    seconds: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    proved: set[str] = field(default_factory=set)

    def mean(self, step: str, contestant: str = "") -> float | None:
        """Return the mean of a step's seconds; None: not measured."""
        found = self.seconds.get((step, contestant))
        return statistics.fmean(found) if found else None


def disk_need(instances: Mapping[str, Instance], stock: Stock, runtime: str, share: float) -> DiskNeed:
    """Guess what the environments take that are not there: as others of the repository, of all, of the kind.

    ``share`` is the part of the run's steps that are not stored, since what is stored needs no environment.
    """
    known: dict[str, list[int]] = {}
    for name, above in stock.there.items():
        if above is not None and name in instances:
            known.setdefault(instances[name].repo, []).append(above)
    everything = [above for sizes in known.values() for above in sizes]
    missing = [instance for name, instance in instances.items() if name not in stock.there]
    guess = float(sum(stock.pulled.values()))
    for instance in missing:
        alike = known.get(instance.repo) or everything
        guess += statistics.fmean(alike) if alike else typical(instance.required_environment, runtime)
    return DiskNeed(
        there=len(instances) - len(missing),
        to_build=len(missing),
        pulled=tuple(stock.pulled),
        bytes=guess,
        least=guess * PLAIN * share,
    )


def lack_of_disk(stock: Stock, need: DiskNeed, budget: int | None) -> str | None:
    """Return why the disk is plainly too small, in a sentence; None if it may do, or the free space is not known."""
    least = need.least if budget is None else min(need.least, budget)
    if stock.free is None or least <= stock.free:
        return None
    advice = "free some space, or run a part with --crab-shard"
    advice += "" if budget is not None else ", or let --crab-disk-budget remove images as it goes"
    return (
        f"the {need.to_build:,} environments that are not there will take {format_size(least)} or more, and only "
        f"{format_size(stock.free)} are free in {stock.place}: {advice}"
    )


def read_times(records: Path, runtime: str) -> StepTimes:
    """Read the times of steps in this runtime, or in none, from an earlier run; none if there is no such file."""
    found = StepTimes()
    for trial in _last(records):
        if isinstance(trial, dict) and trial.get("runtime") in (runtime, NO_RUNTIME):
            with suppress(KeyError, TypeError, AttributeError):  # not a record
                _add_times(found, trial)
    return found


def _add_times(found: StepTimes, trial: Mapping[str, Any]) -> None:
    for step in trial.get("steps", ()):
        if step["step"] == "proof":
            found.proved.add(trial["instance"])
        if not step["reused"]:
            reviewer = trial.get("review_by") or trial["reviewer"]
            asked = {"review": reviewer, "revision": trial["agent"]}
            contestant = asked.get(step["step"], "")
            found.seconds.setdefault((step["step"], contestant), []).append(float(step["seconds"]))


def duration(known: StepTimes, trials: Sequence[PlannedTrial], told: Forecast, to_build: int) -> float | None:
    """Return the seconds that a run may take; None where a step that it will make was not measured."""
    if not trials or not told.reviews + told.revisions:
        return None
    unproved = len({instance.id for instance, _, _ in trials} - known.proved)
    parts = [
        (to_build, [known.mean("image")]),
        (unproved, [known.mean("proof")]),
        (told.reviews, [known.mean("review", crew.spec.review_name) for _, crew, _ in trials]),
        (told.revisions, [known.mean("revision", crew.spec.agent) for _, crew, _ in trials]),
        (told.revisions, [known.mean("verdict")]),
    ]
    total = 0.0
    for count, means in parts:
        seen = [mean for mean in means if mean is not None]
        if count and len(seen) < len(means):
            return None
        total += count * statistics.fmean(seen) if count else 0.0
    return total / told.jobs


def memory_for(sandbox: int, jobs: int) -> int | None:
    """Return how many sandboxes of so many MiB this machine's memory holds, if fewer than ``jobs``; else None."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    slots = max(int(total / sandbox + 0.1), 1)  # a machine of 4 GB has a little less to give
    return slots if slots < jobs else None


def _last(records: Path) -> Iterator[object]:
    """Yield the last records of a file, as many as are read quickly."""
    try:
        with records.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - TAIL, 0))
            lines: Iterable[bytes] = split_lines(file.read())[1 if size > TAIL else 0 :]
    except OSError:
        return
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:  # a killed run left it half-written
            continue
