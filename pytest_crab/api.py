"""The Python API: load instances, run one trial, read a report's records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_crab.agents import AGENTS
from pytest_crab.instances import load_instances
from pytest_crab.results.files import read_trials
from pytest_crab.results.loading import trials_file
from pytest_crab.results.tables import COLUMNS, oracle_rows
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.settings import load_settings
from pytest_crab.trial import Crew, CrewSpec, run_trial as _run_trial
from pytest_crab.trial.session import open_run_context
from pytest_crab.types import Instance, Trial

if TYPE_CHECKING:
    import pandas

__all__ = ["load_frame", "load_instances", "load_trials", "run_trial"]


def run_trial(
    instance: Instance,
    reviewer: str,
    agent: str = "simulated",
    *,
    runtime: str = "local",
    store: Path | str = ".crab",
    reviewer_settings: Mapping[str, Any] | None = None,
    agent_settings: Mapping[str, Any] | None = None,
    allow_unconfined: bool = False,
) -> Trial:
    """Measure one reviewer on one instance, as one item of a pytest run does; finished steps come from the store.

    Names and settings are those of crab.yaml, and relative paths in settings start at the current folder, whose
    crab.yaml says how models are asked. Raises BadInput for names and settings that are wrong; what the world does is
    in the record.
    """
    here = Path.cwd()
    crew = Crew.build(
        CrewSpec(
            reviewer=reviewer,
            reviewer_spec=REVIEWERS.spec(reviewer, reviewer_settings or {}, here),
            agent=agent,
            agent_spec=AGENTS.spec(agent, agent_settings or {}, here),
            control=reviewer == "none",
        )
    )
    settings = load_settings(here)
    with open_run_context(runtime, Path(store), settings, allow_unconfined=allow_unconfined) as run_context:
        return _run_trial(instance, crew, run_context)


def load_trials(path: Path | str) -> Iterator[Trial]:
    """Yield the records of a trials.jsonl, or of the one in a report's folder or a store. Raises BadInput."""
    return read_trials(trials_file(Path(path)))


def load_frame(path: Path | str) -> pandas.DataFrame:
    """Return the records as a data frame, one row per oracle and trial, with the columns of oracles.csv.

    What was not measured is missing. Needs pandas. Raises BadInput, ImportError.
    """
    import pandas

    return pandas.DataFrame(list(oracle_rows(load_trials(path))), columns=list(COLUMNS))
