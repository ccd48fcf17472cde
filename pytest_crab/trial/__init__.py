"""One trial: an instance, a reviewer and an agent, from an empty folder to verdicts."""

from __future__ import annotations

from pytest_crab.trial.crew import Crew
from pytest_crab.trial.crew import CrewSpec
from pytest_crab.trial.run import run_trial
from pytest_crab.trial.run import unmeasured_trial
from pytest_crab.trial.world import World

__all__ = ["Crew", "CrewSpec", "World", "run_trial", "unmeasured_trial"]
