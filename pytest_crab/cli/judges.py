"""Judges for commands: the options that they share, and judges behind one gateway with their judgements stored."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from pytest_crab.cli.choices import store_option
from pytest_crab.clients.services import StepServices
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count, format_dollars
from pytest_crab.models import Gateway
from pytest_crab.scoring.judges import JUDGES, build_judge
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.judges.votes import JudgeQuestion
from pytest_crab.scoring.step_cache import StepCache
from pytest_crab.scratch import scratch
from pytest_crab.settings import Settings, load_settings
from pytest_crab.store import FileStore
from pytest_crab.trial.run_context import secrets_of
from pytest_crab.types import TrialId

F = TypeVar("F", bound=Callable[..., Any])

#: The options that say how judges are asked, by their parameters.
OPTIONS_OF_JUDGES = {
    "plan": "--plan",
    "check": "--check-judge",
    "budget": "--budget",
    "jobs": "--jobs",
    "replay": "--replay",
    "store": "--store",
    "labels": "--judge-labels",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The options that say how a command asks its judges; ``budget`` is US dollars for all of them."""

    budget: float | None
    jobs: int
    plan: bool
    replay: bool
    store: Path

    @contextmanager
    def open(self, wanted: Mapping[str, Sequence[str] | None]) -> Iterator[list[JudgeBench]]:
        """Yield the judges of these names in crab.yaml of this folder, with their judgements stored.

        Each name has the labels that the command can count; None: the command looks at them itself. The gateway starts
        with the first question that the store does not answer. Raises BadInput, also for a judge with other labels.
        """
        if not wanted:
            yield []
            return
        settings = load_settings(Path.cwd())
        judges = {name: _build(name, settings, labels) for name, labels in wanted.items()}
        kept = FileStore(self.store.absolute())

        def advise_removal(step: str, key: str) -> str:
            return f"remove {kept.path(step, key)}, and it is asked again"

        cache = StepCache(store=kept, advice=advise_removal)
        secrets = secrets_of(settings.models)
        with scratch("judge") as folder:
            gateway = Gateway.beside(kept.folder, settings, lambda: folder, budget=self.budget, replay=self.replay)

            def stop() -> None:
                cache.cancelled.set()
                gateway.stop()

            def services(judge: str, question: JudgeQuestion, step: str) -> StepServices:
                trial = str(TrialId(question.instance, judge))
                return StepServices(
                    gateway, kept.put, trial=trial, step=step, secrets=secrets, cancelled=cache.cancelled
                )

            try:
                yield [
                    JudgeBench(
                        name=name,
                        judge=judge,
                        cache=cache,
                        services=functools.partial(services, name),
                        stop=stop,
                        jobs=self.jobs,
                    )
                    for name, judge in judges.items()
                ]
            finally:
                gateway.close()


def judge_options(command: F) -> F:
    """Add the options of Asking to a command, which gets them as ``asking``."""

    @functools.wraps(command)
    def with_asking(**given: Any) -> Any:
        own = {field.name: given.pop(field.name) for field in dataclasses.fields(Asking)}
        return command(asking=Asking(**own), **given)

    for option in reversed(_OPTIONS):
        option(with_asking)
    return cast("F", with_asking)


_OPTIONS = (
    click.option(
        "--budget", type=click.FloatRange(min=0, min_open=True), help="The most US dollars to spend on judges."
    ),
    click.option("--jobs", type=click.IntRange(min=1), default=4, show_default=True, help="Questions at a time."),
    click.option("--plan", is_flag=True, help="Print how many votes are stored and needed; ask nothing."),
    click.option("--replay", is_flag=True, help="Use recorded answers only."),
    store_option("The folder in which judgements are kept."),
)

#: Asks a judge's questions in other forms too.
check_option: Callable[[F], F] = click.option(
    "--check-judge", "check", is_flag=True, help="Also count the answers that change with order or length."
)

#: Holds judges against people, and keeps the result for every command and run that asks them.
labels_option: Callable[[F], F] = click.option(
    "--judge-labels",
    "labels",
    metavar="DIMENSION",
    help="Compare the judges with these labels by people, and store it.",
)


def require_judge(*, named: bool) -> None:
    """Raise UsageError where the command line has an option about judges and names no judge."""
    source = click.get_current_context().get_parameter_source
    for parameter, option in OPTIONS_OF_JUDGES.items():
        if not named and source(parameter) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} is about a judge; name one with --judge")


def print_plan(bench: JudgeBench, questions: Iterable[JudgeQuestion], *, check: bool = False) -> None:
    """Print the votes that a judge's questions need; ``check``: in every form. Raises BadInput, StoreError."""
    plan = bench.plan(questions, check=check)
    cost = "cost not known: no stored vote has one" if plan.cost_usd is None else f"{format_dollars(plan.cost_usd)} USD"
    counts = f"{format_count(plan.votes, 'vote')}, {plan.stored} stored, {plan.votes - plan.stored} to ask"
    click.echo(f"{bench.name}: {counts}, {cost}")


def cost_line(bench: JudgeBench) -> str:
    """Return the sentence on what a judge was asked, and what that cost."""
    failed = f"{format_count(len(bench.failed), 'judgement')} could not be got" if bench.failed else ""
    if not bench.asked:
        return f"{bench.name}: {failed or 'no model was asked, every judgement was stored'}"
    usd = None if bench.usage is None else bench.usage.cost_usd
    cost = "cost not known" if usd is None else f"{format_dollars(usd)} USD"
    asked = f"{format_count(len(bench.asked), 'judgement')} asked and stored, {cost}"
    return f"{bench.name}: {'; '.join(filter(None, [asked, failed]))}"


def _build(name: str, settings: Settings, labels: Sequence[str] | None) -> Any:
    judge = build_judge(name, settings)
    where = JUDGES.where(name)
    own = tuple(getattr(judge, "labels", ()))
    if labels is not None and own != tuple(labels):
        problem = f"{judge.role} answers with {', '.join(own) or 'no labels'}; this command counts {', '.join(labels)}"
        raise BadInput(where, [problem])
    provider = getattr(judge, "provider", None)
    if provider not in settings.models.providers:
        raise BadInput(where, [f"provider is {provider!r}; it should be one of {', '.join(settings.models.providers)}"])
    return judge
