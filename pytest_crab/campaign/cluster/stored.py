"""Trials whose steps are all in the store of pytest: it answers them itself, and no worker is asked."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from typing_extensions import override

from pytest_crab import runtimes
from pytest_crab.campaign.cluster.plan import Place, RunPlan, TrialAnswer, certified_runs_of
from pytest_crab.campaign.trial_pool import TrialWork
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.sources import is_at_hand
from pytest_crab.store import FileStore
from pytest_crab.trial import RunContext
from pytest_crab.trial.run_context import secrets_of, versions_here
from pytest_crab.types import Instance, PullRequest

#: So many looks in a row that end in an error, such as no engine where pytest runs, are enough: each takes its time.
_MOST_FAILURES = 3


class _NotStoredError(Exception):
    """A step is not stored."""


class _StoredOnly(FileStore):
    """A store that what it lacks is not made for."""

    @override
    def lock(self, step: str, key: str, stopped: threading.Event | None = None) -> NoReturn:
        """Raises _NotStoredError: who asks is about to make the object."""
        raise _NotStoredError


class StoredTrials:
    """Answers trials from ``store`` as a worker would whose runtime has a place's settings; for any thread."""

    def __init__(self, plan: RunPlan, store: Path, rootdir: Path) -> None:
        self._plan = plan
        self._store = _StoredOnly(store)
        self._rootdir = rootdir
        self._run = RunFolder()
        self._guard = threading.Lock()
        self._contexts: dict[Place, RunContext] = {}
        self._failures: Counter[Place] = Counter()
        self._at_hand: set[str] = set()
        self._shown: dict[str, PullRequest] = {}

    def answer(self, work: TrialWork, place: Place) -> TrialAnswer | None:
        """Return the answer to a trial that needs nothing made; None: a worker has to run it, or to say what failed."""
        try:
            if self._failures[place] == _MOST_FAILURES or not self._is_at_hand(work.instance):
                return None
            trial = work.kind.perform(
                work.instance, work.crew, self._context(place), repeat=work.repeat, notice=lambda _step: None
            )
        except Exception:  # noqa: BLE001 - adapters of others raise anything
            return None
        if trial.error is not None or trial.skipped is not None:
            self._failures[place] += trial.error is not None
            return None
        self._failures[place] = 0
        return TrialAnswer(trial=trial, shown=self._shown.pop(work.instance.id, None))

    def stop(self) -> None:
        """End what is looked up; whoever asks gets no answer any more."""
        with self._guard:
            for context in self._contexts.values():
                context.stop()

    def close(self) -> None:
        """Give everything back."""
        for context in self._contexts.values():
            context.runtime.close()
        self._run.close()

    def _is_at_hand(self, instance: Instance) -> bool:
        if instance.id not in self._at_hand and is_at_hand(instance, self._store.cache):
            self._at_hand.add(instance.id)
        return instance.id in self._at_hand

    def _context(self, place: Place) -> RunContext:
        with self._guard:
            if place not in self._contexts:
                self._contexts[place] = self._make_context(place)
            return self._contexts[place]

    def _make_context(self, place: Place) -> RunContext:
        plan, store = self._plan, self._store
        settings = replace(plan.runtime, runtime=place.runtime, base_image=place.base_image)
        return RunContext(
            runtime=runtimes.make(settings, rootdir=self._rootdir, cache=store.cache),
            store=store,
            cache=store.cache,
            run=self._run,
            resume=plan.resume,
            proof_runs=plan.proof_runs,
            certified_runs=lambda instance, contents: certified_runs_of(plan, instance, contents),
            fresh=plan.fresh,
            settings=settings,
            attribute=plan.attribute,
            explain=plan.explain,
            seen=self._note_shown,
            versions=versions_here(plan.shard),
            secrets=secrets_of(plan.models),
            retries={},
        )

    def _note_shown(self, instance: Instance, pull_request: PullRequest) -> None:
        self._shown[instance.id] = pull_request
