"""Makes and registers the small plugins of a run, each only if it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_crab.option_table import Options
from pytest_crab.plugin.attachments import Attachments
from pytest_crab.plugin.contestants import Contestants, build_contestants
from pytest_crab.plugin.experiments import collect_set
from pytest_crab.plugin.forecast import Forecaster
from pytest_crab.plugin.items import Items
from pytest_crab.plugin.kinds import Kind, Run
from pytest_crab.plugin.one_kind import OneKind
from pytest_crab.plugin.options import named_experiment, read_options, runs_items, runs_trials
from pytest_crab.plugin.output import Header, Outcomes, RecordedAgreement
from pytest_crab.plugin.progress import WorkersProgress
from pytest_crab.plugin.recorder import RunRecorder
from pytest_crab.plugin.resources import Resources, SharedDecisions
from pytest_crab.plugin.run_file import RunFile
from pytest_crab.plugin.run_keeper import RunKeeper, place_run
from pytest_crab.plugin.runner import Runner
from pytest_crab.plugin.selection import Shards, Since, SoundOracles
from pytest_crab.plugin.trust import SetsOnly, require_trust, settings_places
from pytest_crab.settings import Settings, find_settings

if TYPE_CHECKING:
    from pytest_crab.plugin.gate import RunGate


def register(config: pytest.Config) -> None:
    """Register the plugins of a run that names reviewers. Raises CrabError, pytest.UsageError.

    pytest calls the hooks of the last one first: at the end trials are stopped, then the record is completed, then the
    results are printed.
    """
    settings = find_settings(settings_places(config), config.rootpath)
    asked = _options(config, settings)
    is_worker = hasattr(config, "workerinput")
    measures = runs_trials(asked, config)
    records = measures and not is_worker
    options = place_run(asked, config) if records else asked
    if options.plan and hasattr(config.option, "dist"):
        config.option.dist = "no"  # a plan needs what this process collects, and under pytest-xdist workers collect
    contestants = build_contestants(options, settings, config)
    resources = Resources(options, settings, config, run_code=bool(contestants.by_reviewer))
    run = Run(options, settings, resources, tuple(contestants.by_reviewer))
    kinds = [one for one in config.hook.pytest_crab_make_kind(run=run, config=config) if one is not None]
    resources.run_code = resources.run_code or any(kind.run_code for kind in kinds)
    if records:
        _refuse_forked(config)
        if resources.run_code:
            require_trust(config, options.store, trust=options.trust)
        resources.chosen  # noqa: B018 - decided now, so that a runtime that cannot work is a usage error
    gate = None if is_worker else _gate(options, contestants, kinds, config)
    shards = None if options.shard is None else Shards(options.shard)
    recorder = RunRecorder(options, contestants, resources, gate, shards, config) if records else None
    keeper = None if recorder is None else RunKeeper(options, recorder)
    others = [(kind.work, one) for kind in kinds if kind.work is not None for one in kind.contestants]
    runner = Runner(options, contestants, resources, config, others) if measures else None
    described = filter(None, [contestants.description(), *(kind.description for kind in kinds)])
    workers = _workers_progress(options, recorder, config)
    foresees = not is_worker and runs_items(config) and (options.plan or options.cluster is None)
    plugins: dict[str, object | None] = {
        "items": _items(options, contestants, config),
        "sets-only": SetsOnly(config),
        "shared-decisions": SharedDecisions(resources),
        "header": None if is_worker else Header(options, "; ".join(described), resources, runner, config),
        "forecaster": Forecaster(asked, contestants, resources, recorder, config) if foresees else None,
        "gate": gate,
        "one-kind": None if recorder is None else OneKind(recorder),
        **_selections(options),
        "shards": shards,
        "disk": _disk(options, resources, recorder, config),
        **_outputs(options, contestants, recorder, keeper, config),
        "recorder": recorder,
        "workers-progress": workers,
        "run-file": _run_file(options, recorder, workers or runner),
        "run-keeper": keeper,
        "runner": runner,
        "attachments": Attachments(config) if measures else None,
    }
    for kind in kinds:
        plugins.update(kind.plugins)
    for name, plugin in plugins.items():
        if plugin is not None:
            config.pluginmanager.register(plugin, f"crab-{name}")


def _gate(options: Options, contestants: Contestants, kinds: Sequence[Kind], config: pytest.Config) -> RunGate | None:
    """Return the gate that was asked for: one of reviewers, unless there are none and another kind has its own."""
    if not options.gated or (kinds and not contestants.by_reviewer):
        return None
    from pytest_crab.plugin.gate import RunGate  # imports a tenth of all that a run without one does

    return RunGate(options, contestants, config)


def _selections(options: Options) -> dict[str, object | None]:
    """Return the plugins that select instances by what their files say."""
    limit = options.max_oracle_error
    return {
        "since": None if options.since is None else Since(options.since),
        "sound-oracles": None if limit is None else SoundOracles(limit),
    }


def _outputs(
    options: Options,
    contestants: Contestants,
    recorder: RunRecorder | None,
    keeper: RunKeeper | None,
    config: pytest.Config,
) -> dict[str, object | None]:
    """Return the plugins that print what was measured."""
    return {
        "outcomes": None if recorder is None or keeper is None else Outcomes(options, recorder, keeper, config),
        "agreement": RecordedAgreement(recorder) if recorder is not None and contestants.replays else None,
    }


def _options(config: pytest.Config, settings: Settings) -> Options:
    experiment = named_experiment(config, settings)
    if experiment is not None:
        collect_set(experiment, settings.folder, config)
    return read_options(config, settings)


def _items(options: Options, contestants: Contestants, config: pytest.Config) -> Items:
    crews = contestants.by_reviewer.items()
    named = {name: crew.spec.review_name in options.reviewers for name, crew in crews}
    return Items(named, options.repeat * options.revisions, options.store, config)


def _refuse_forked(config: pytest.Config) -> None:
    if config.getoption("forked", default=False):
        raise pytest.UsageError(
            "--forked runs each item in a copy of this process, where no trial would ever end: leave it out, "
            "trials have sandboxes of their own"
        )


def _disk(options: Options, resources: Resources, recorder: RunRecorder | None, config: pytest.Config) -> object | None:
    if options.disk_budget is None:
        return None
    from pytest_crab.plugin.disk import Disk  # imports docker

    return Disk(options, resources, recorder, config, options.disk_budget)


def _run_file(options: Options, recorder: RunRecorder | None, runs: Runner | WorkersProgress | None) -> RunFile | None:
    return None if recorder is None or runs is None else RunFile(options, recorder, runs.progress)


def _workers_progress(options: Options, recorder: RunRecorder | None, config: pytest.Config) -> WorkersProgress | None:
    has_workers = config.getoption("dist", default="no") != "no"
    return None if recorder is None or not has_workers else WorkersProgress(recorder, options.budget, config)
