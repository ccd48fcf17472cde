"""Judges for commands: built from crab.yaml of the current folder, behind one gateway, with their judgements stored."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from pytest_crab.clients.services import StepServices
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count
from pytest_crab.formats import format_dollars
from pytest_crab.models import Gateway
from pytest_crab.scoring.judges import JUDGES
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.judges.votes import JudgePlan
from pytest_crab.scoring.judges.votes import JudgeQuestion
from pytest_crab.scoring.step_cache import StepCache
from pytest_crab.scratch import scratch
from pytest_crab.settings import Settings
from pytest_crab.settings import load_settings
from pytest_crab.store import FileStore
from pytest_crab.trial.run_context import secrets_of
from pytest_crab.types import TrialId
from pytest_crab.types import Usage

#: The options that say how judges are asked, by their parameters.
OPTIONS_OF_JUDGES = {
    "plan": "--plan",
    "check": "--check-judge",
    "budget": "--budget",
    "jobs": "--jobs",
    "replay": "--replay",
    "store": "--store",
}


def require_judge(options: Mapping[str, str], *, named: bool) -> None:
    """Raise UsageError where the command line has one of these options and names no judge."""
    source = click.get_current_context().get_parameter_source
    for parameter, option in options.items():
        if not named and source(parameter) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} is about a judge; name one with --judge")


def plan_line(name: str, plan: JudgePlan) -> str:
    """Return the sentence on the votes that a judge's questions need."""
    cost = "cost not known: no stored vote has one" if plan.cost_usd is None else f"{format_dollars(plan.cost_usd)} USD"
    return (
        f"{name}: {format_count(plan.votes, 'vote')}, {plan.stored} stored, {plan.votes - plan.stored} to ask, {cost}"
    )


def cost_line(name: str, asked: int, usage: Usage | None) -> str:
    """Return the sentence on what a judge was asked, and what that cost."""
    return f"{name}: {cost_words(asked, usage)}"


def cost_words(asked: int, usage: Usage | None) -> str:
    """Return the same without the judge's name."""
    if not asked:
        return "no model was asked, every judgement was stored"
    usd = None if usage is None else usage.cost_usd
    cost = "cost not known" if usd is None else f"{format_dollars(usd)} USD"
    return f"{format_count(asked, 'judgement')} asked and stored, {cost}"


@contextmanager
def open_judges(
    names: Sequence[str], store: Path, *, jobs: int, budget: float | None, replay: bool, labels: Sequence[str] | None
) -> Iterator[list[JudgeBench]]:
    """Yield the judges of these names; the gateway starts with the first question that the store does not answer.

    ``budget`` is US dollars for all of them; ``replay`` answers from recordings alone; ``labels`` are those that the
    command can count, None: the caller looks at them itself. Raises BadInput, also for a judge with other labels.
    """
    if not names:
        yield []
        return
    settings = load_settings(Path.cwd())
    kept = FileStore(store.absolute())

    def advise_removal(step: str, key: str) -> str:
        return f"remove {kept.path(step, key)}, and it is asked again"

    cache = StepCache(store=kept, advice=advise_removal)
    secrets = secrets_of(settings.models)
    with scratch("judge") as folder:
        gateway = Gateway.beside(kept.folder, settings, lambda: folder, budget=budget, replay=replay)

        def stop() -> None:
            cache.cancelled.set()
            gateway.stop()

        def services(judge: str, question: JudgeQuestion, step: str) -> StepServices:
            trial = str(TrialId(question.instance, judge))
            return StepServices(gateway, kept.put, trial=trial, step=step, secrets=secrets, cancelled=cache.cancelled)

        try:
            yield [
                JudgeBench(
                    name=name,
                    judge=_build(name, settings, labels),
                    cache=cache,
                    services=functools.partial(services, name),
                    stop=stop,
                    jobs=jobs,
                )
                for name in dict.fromkeys(names)
            ]
        finally:
            gateway.close()


def _build(name: str, settings: Settings, labels: Sequence[str] | None) -> Any:
    variant = settings.judges.get(name)
    if variant is None:
        known = ", ".join(settings.judges) or "none"
        raise BadInput("--judge", [f"crab.yaml names no judge {name!r}; its judges are {known}"])
    where = JUDGES.where(name)
    judge = JUDGES.build(JUDGES.spec(variant.use, variant.settings, settings.folder, where, settings.judges), where)
    own = tuple(getattr(judge, "labels", ()))
    if labels is not None and own != tuple(labels):
        problem = f"{variant.use} answers with {', '.join(own) or 'no labels'}; this command counts {', '.join(labels)}"
        raise BadInput(where, [problem])
    provider = getattr(judge, "provider", None)
    if provider not in settings.models.providers:
        raise BadInput(where, [f"provider is {provider!r}; it should be one of {', '.join(settings.models.providers)}"])
    return judge
