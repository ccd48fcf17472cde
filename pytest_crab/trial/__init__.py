"""One trial: an instance, a reviewer and an agent, from an empty folder to verdicts."""

from __future__ import annotations

from pytest_crab.trial.crew import Crew, CrewSpec
from pytest_crab.trial.record import unmeasured_trial
from pytest_crab.trial.run import run_trial
from pytest_crab.trial.run_context import RunContext

__all__ = ["Crew", "CrewSpec", "RunContext", "run_trial", "unmeasured_trial"]
