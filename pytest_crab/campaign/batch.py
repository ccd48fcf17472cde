"""Several trials in one process without pytest: at most so many at a time, in order, ended together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor

from pytest_crab.campaign.giving_up import GivingUp
from pytest_crab.campaign.trial_pool import Notice, TrialPool, TrialWork, costs_of_run
from pytest_crab.trial import Crew, unmeasured_trial
from pytest_crab.trial.run_context import RunContext
from pytest_crab.types import Instance, Reason, Trial, TrialId


def run_batch(
    planned: Sequence[tuple[Instance, Crew, int]], run_context: RunContext, *, jobs: int, give_up: int
) -> Generator[Trial, None, None]:
    """Yield the trial of each instance, crew and repeat, in this order, running ``jobs`` of them at a time.

    The rest of a reviewer whose first ``give_up`` trials failed alike are not run (0: all are). What runs is ended when
    the iterator is closed.
    """

    def perform(work: TrialWork, notice: Notice) -> Trial:
        trial: Trial = work.kind.perform(work.instance, work.crew, run_context, repeat=work.repeat, notice=notice)
        return trial

    def note(trial: Trial) -> None:
        if giving_up.note(trial):
            pool.drop(lambda key: isinstance(key, TrialId) and key.reviewer == trial.reviewer)

    giving_up = GivingUp(give_up)
    executor = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="crab")
    pool: TrialPool[Trial] = TrialPool(executor, run_context.stop, costs_of_run, note)
    ids = [TrialId(instance.id, crew.spec.reviewer, repeat) for instance, crew, repeat in planned]
    try:
        for key, (instance, crew, repeat) in zip(ids, planned, strict=True):
            if giving_up.sentence(key.reviewer) is None:
                pool.submit(key, TrialWork(instance=instance, crew=crew, repeat=repeat, here=perform))
        for key, (instance, crew, repeat) in zip(ids, planned, strict=True):
            trial = pool.result(key, lambda _progress: None)
            why = giving_up.sentence(key.reviewer) or "the run ended before it"
            yield trial or unmeasured_trial(instance, crew, Reason.NOT_RUN, why, repeat=repeat)
    finally:
        pool.stop()
