"""Gives a reviewer up once its first trials all failed, and all for the same cause."""

from __future__ import annotations

import re
import threading
from collections import defaultdict

from pytest_crab.types import Reason, Trial

#: How the sentence begins that trials have for an error that were not run for this reason.
GIVEN_UP = "given up"

_FAILURES = frozenset({Reason.REVIEWER_ERROR, Reason.AGENT_ERROR, Reason.BROKEN})
#: Parts of an error that differ from trial to trial: quoted texts, paths, digests, numbers.
_OWN = re.compile(r"'[^']*'|\"[^\"]*\"|\S*[/@:]\S*|\b[0-9a-f]{7,}\b|\d+")
#: So many characters of an error tell its class.
_TOLD = 80


class GivingUp:
    """Counts, for each reviewer, how many of its first trials failed alike; ``most`` 0: it never gives up."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._failed: defaultdict[str, int] = defaultdict(int)
        self._causes: dict[str, str | None] = {}
        self._sentences: dict[str, str] = {}

    def note(self, trial: Trial) -> bool:
        """Count a trial that ended; return whether it is the one after which its reviewer is given up."""
        return trial.skipped is None and self.note_end(trial.reviewer, cause_of(trial), trial.error)

    def note_end(self, reviewer: str, cause: str | None, error: str | None) -> bool:
        """Count the end of one of a contestant's items; return whether it is given up after it.

        ``cause`` is the class of its failure, None: it measured something.
        """
        if not self._most:
            return False
        with self._guard:
            first = self._causes.setdefault(reviewer, cause)
            if cause is None or cause != first:
                self._causes[reviewer] = None  # for good: it is not this that keeps all trials from being run
                return False
            self._failed[reviewer] += 1
            if self._failed[reviewer] != self._most:
                return False
            first_ones = "first trial failed" if self._most == 1 else f"first {self._most} trials failed alike"
            self._sentences[reviewer] = (
                f"{GIVEN_UP} on {reviewer}: its {first_ones} ({error}); fix the cause and run again, "
                "or go on with --crab-give-up=0"
            )
            return True

    def sentence(self, reviewer: str) -> str | None:
        """Return why no more trials of a reviewer are run; None if they are."""
        return self._sentences.get(reviewer)


def was_given_up(trial: Trial) -> bool:
    """Return whether a trial was not run since its reviewer was given up."""
    return trial.error is not None and trial.error.startswith(GIVEN_UP)


def cause_of(trial: Trial) -> str | None:
    """Return the class of a failure that left a trial without a verdict; None for a trial that measured something."""
    reasons = {result.reason for result in trial.results}
    if len(reasons) > 1 or not reasons <= _FAILURES or trial.error is None:
        return None
    reason = next(iter(reasons), "no review")
    return failure_class(reason, trial.status, trial.error, instance=trial.instance, repo=trial.repo)


def failure_class(reason: str, status: str | None, error: str, *, instance: str, repo: str) -> str:
    """Return the class of a failure: its reason, with the status that a client ended with.

    Without one, the error without what belongs to one trial alone stands for it.
    """
    return f"{reason}: {status or without_own(error, instance, repo)[:_TOLD]}"


def without_own(error: str, instance: str, repo: str) -> str:
    """Return an error without what belongs to one trial alone: its names, paths, quoted texts, digests and numbers."""
    names = "|".join(re.escape(name) for name in (instance, repo) if name)
    return _OWN.sub("#", re.sub(rf"(?<![\w-])(?:{names})(?![\w-])", "#", error) if names else error)
