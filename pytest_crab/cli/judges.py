"""Judges for commands: the options that they share, and judges behind one gateway with their judgements stored."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from pytest_crab.cli.asking import AskingOptions, asking_options, plan_line, spent_line
from pytest_crab.clients.services import StepServices
from pytest_crab.errors import BadInput
from pytest_crab.scoring.judges import JUDGES, build_judge
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.judges.votes import JudgeQuestion
from pytest_crab.settings import Settings, load_settings
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
class Asking(AskingOptions):
    """The options that say how a command asks its judges."""

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
        with self.open_session(settings, "judge") as session:

            def services(judge: str, question: JudgeQuestion, step: str) -> StepServices:
                return session.services(str(TrialId(question.instance, judge)), step)

            yield [
                JudgeBench(
                    name=name,
                    judge=judge,
                    cache=session.cache,
                    services=functools.partial(services, name),
                    stop=session.stop,
                    jobs=self.jobs,
                )
                for name, judge in judges.items()
            ]


#: The options of Asking; the command gets them as ``asking``.
judge_options = asking_options(Asking, whom="judges", what="votes", kept="judgements")

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
    click.echo(plan_line(bench.name, bench.plan(questions, check=check), "vote"))


def cost_line(bench: JudgeBench) -> str:
    """Return the sentence on what a judge was asked, and what that cost."""
    failed = len(bench.failed)
    return spent_line(bench.name, "judgement", asked=len(bench.asked), failed=failed, usage=bench.usage)


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
