"""The Python API: measure reviewers, read the reports of runs and compare them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_crab.adapters import AdapterSpec, Family
from pytest_crab.agents import AGENTS
from pytest_crab.campaign.batch import run_batch
from pytest_crab.gate.baseline import rule_on_baselines
from pytest_crab.gate.compared_runs import compare_runs
from pytest_crab.gate.terms import MARGIN, GateTerms
from pytest_crab.instances import load_instances
from pytest_crab.instances.pull_requests import subject_of, write_subject
from pytest_crab.option_table import FIELDS
from pytest_crab.results.files import TrialLog, read_trials
from pytest_crab.results.kept_runs import commit_of, new_run, show_run
from pytest_crab.results.loading import TRIALS, lacks_beside_shown, load_summary, trials_file
from pytest_crab.results.oracle_rows import COLUMNS, oracle_rows
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import RuntimeSettings, choose
from pytest_crab.runtimes.hidden_paths import hide_set
from pytest_crab.settings import Settings, Variant, load_settings
from pytest_crab.show.notebook import Report, RunComparison
from pytest_crab.show.transcripts import write_transcripts
from pytest_crab.show.write_report import remake
from pytest_crab.trial import Crew, CrewSpec, run_trial as _run_trial
from pytest_crab.trial.session import open_run_context
from pytest_crab.types import CONTROL, Instance, PullRequest, Trial

if TYPE_CHECKING:
    import pandas

__all__ = ["compare", "load_frame", "load_instances", "load_report", "load_trials", "run", "run_trial"]

#: The trials at a time, and the failures alike after which a reviewer is given up, as in a pytest run.
JOBS: int = FIELDS["jobs"].default
GIVE_UP: int = FIELDS["give_up"].default


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
    place = RuntimeSettings(runtime=runtime, allow_unconfined=allow_unconfined)
    with open_run_context(place, Path(store), settings) as run_context:
        return _run_trial(instance, crew, run_context)


def run(
    instances: Path | str | Iterable[Instance],
    reviewers: str | Sequence[str],
    agent: str = "simulated",
    *,
    repeats: int = 1,
    runtime: str = "auto",
    jobs: int = JOBS,
    store: Path | str = ".crab",
    report: Path | str | None = None,
    budget: float | None = None,
    give_up: int = GIVE_UP,
    allow_unconfined: bool = False,
) -> Report:
    """Measure reviewers on instances, or on all below a folder, and return the report, as a pytest run writes it.

    Reviewers and the agent are built in or entries of the current folder's crab.yaml. Without ``report`` the run is
    kept in the store, as each run. ``budget`` is US dollars, ``give_up`` as --crab-give-up. The caller vouches
    for the instances: their Dockerfiles and installs run without a question. Raises BadInput for names and settings
    that are wrong, CrabError where the runtime cannot be had, and OSError; what the world does is in the records. An
    interrupt ends what runs; finished steps and records are kept.
    """
    names = [reviewers] if isinstance(reviewers, str) else list(reviewers)
    found = load_instances(Path(instances)) if isinstance(instances, (str, Path)) else list(instances)
    settings = load_settings(Path.cwd())
    acts = _spec(AGENTS, agent, settings.agents, settings)
    crews = [
        Crew.build(
            CrewSpec(
                reviewer=name,
                reviewer_spec=_spec(REVIEWERS, name, settings.reviewers, settings),
                agent=agent,
                agent_spec=acts,
                control=name == "none",
                variant=CONTROL if name == "none" else None,
            )
        )
        for name in dict.fromkeys(names)
    ]
    kept, folder = Path(store).absolute(), None if report is None else Path(report)
    folder = new_run(kept, commit_of(Path.cwd()), "+".join(names)) if folder is None else folder
    planned = [(instance, crew, repeat) for instance in found for crew in crews for repeat in range(1, repeats + 1)]
    place = RuntimeSettings(runtime=runtime, allow_unconfined=allow_unconfined)
    place = choose(place) if any(one.with_oracles for one in found) else replace(place, runtime="local")
    with open_run_context(place, kept, settings, budget=budget) as run_context:
        for instance in found:
            hide_set(instance)
        seen = replace(run_context, seen=lambda instance, pull: _note_subject(folder, instance, pull))
        with TrialLog(folder / TRIALS) as log, closing(run_batch(planned, seen, jobs=jobs, give_up=give_up)) as trials:
            for trial in trials:
                log.append(trial)
                write_transcripts(folder, run_context.store, trial.transcripts)
    summary = remake(folder, errors_as_misses=False)
    ids, sets = {one.id for one in found}, {Path(one.folder).parent for one in found}
    if report is None and not lacks_beside_shown(kept, ids, sets, is_complete=summary.is_complete):
        show_run(kept, folder)
    return Report(folder, summary)


def _spec(family: Family, name: str, variants: Mapping[str, Variant], settings: Settings) -> AdapterSpec:
    """Return the spec of an entry of crab.yaml, or of a built-in name. Raises BadInput."""
    variant = variants.get(name)
    use, own = (name, {}) if variant is None else (variant.use, variant.settings)
    return family.spec(use, own, settings.folder, entries=variants, others=() if variant else variants)


def _note_subject(folder: Path, instance: Instance, pull_request: PullRequest) -> None:
    """Write what an instance is about beside the records; a report can do without."""
    with suppress(OSError):
        write_subject(folder, subject_of(instance, pull_request.diff))


def load_report(path: Path | str = ".crab") -> Report:
    """Return the report of an earlier run: a report's folder, or the one that a store shows. Raises BadInput."""
    return Report(trials_file(Path(path)).parent, load_summary(Path(path)))


def compare(
    before: Path | str | Report,
    after: Path | str | Report,
    *,
    reviewers: Sequence[str] = (),
    margin: float | None = None,
    unit: Literal["pull request", "repository"] = "pull request",
) -> RunComparison:
    """Compare each reviewer of a run with its counterpart in an earlier one, as ``pytest-crab compare`` does.

    ``reviewers`` are those to compare (none: all), NAME or BEFORE=AFTER; ``margin`` is in points (None: no gate is
    asked for), and ``unit`` is whom the intervals speak for. Raises BadInput.
    """
    was, now = (one.folder if isinstance(one, Report) else Path(one) for one in (before, after))
    terms = GateTerms(margin=MARGIN if margin is None else margin, unit=unit, gated=margin is not None)
    against = compare_runs([was], now, terms, names=reviewers).against
    return RunComparison(tuple(against), tuple(rule_on_baselines(against)))


def load_trials(path: Path | str) -> Iterator[Trial]:
    """Yield the records of a trials.jsonl, or of the one in a report's folder or a store. Raises BadInput."""
    return read_trials(trials_file(Path(path)))


def load_frame(path: Path | str) -> pandas.DataFrame:
    """Return the records as a data frame, one row per oracle and trial, with the columns of oracles.csv.

    What was not measured is missing. Needs pandas. Raises BadInput, ImportError.
    """
    import pandas

    return pandas.DataFrame(list(oracle_rows(load_trials(path))), columns=list(COLUMNS))
