"""Judges for commands: the options that they share, and judges behind one gateway with their judgements stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from pytest_crab.cli.asking import AskingOptions, asking_options, plan_line, spent_line
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count
from pytest_crab.scoring.judges import JUDGES, build_judge
from pytest_crab.scoring.judges.bench import JudgeBench, JudgeUse
from pytest_crab.scoring.judges.calibration import calibration_line
from pytest_crab.scoring.judges.judging import calibrate_findings
from pytest_crab.scoring.judges.reviews import JudgedFinding
from pytest_crab.scoring.judges.votes import JudgeQuestion
from pytest_crab.settings import Settings, load_settings
from pytest_crab.text import one_line

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

    #: Whether they are also asked in other forms.
    check: bool = False

    def use(
        self,
        bench: JudgeBench,
        findings: Iterable[JudgedFinding] = (),
        labels: Mapping[tuple[str, int], str] | None = None,
    ) -> JudgeUse:
        """Return a judge's part so far; ``labels`` are those of people, which its ``findings`` are compared with."""
        return bench.use(check=self.check, calibration=None if labels is None else calibrate_findings(findings, labels))

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
            yield [
                JudgeBench(
                    name=name,
                    judge=judge,
                    cache=session.cache,
                    services=session.services_of(name),
                    stop=session.stop,
                    jobs=self.jobs,
                )
                for name, judge in judges.items()
            ]


#: Asks a judge's questions in other forms too.
_check_option = click.option(
    "--check-judge",
    "check",
    is_flag=True,
    help="Also count the answers that change with the order or length of the texts.",
)


def judge_options(command: F) -> F:
    """Add the options of Asking to a command, which gets them as ``asking``."""
    asking = asking_options(Asking, whom="judges", what="votes", kept="judgements")
    return _check_option(asking(command))


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


def print_plan(bench: JudgeBench, questions: Iterable[JudgeQuestion], *, check: bool) -> None:
    """Print the votes that a judge's questions need; ``check``: in every form. Raises BadInput, StoreError."""
    click.echo(plan_line(bench.name, bench.plan(questions, check=check), "vote"))


def use_lines(use: JudgeUse) -> Iterator[str]:
    """Yield what a judge was asked and what that cost, and how far its labels can be trusted."""
    yield asked_line(use)
    yield f"  {calibration_line(use.calibration)}"
    yield from check_lines(use)


def asked_line(use: JudgeUse) -> str:
    """Return what a judge was asked and what that cost."""
    return spent_line(one_line(use.judge, 60), "judgement", asked=use.asked, failed=use.failed, usage=use.usage)


def check_lines(use: JudgeUse) -> Iterator[str]:
    """Yield how many labels change if a question is put in another form."""
    for check in use.checks:
        asked = format_count(check.compared, "question")
        yield f"  the label of {check.changed} of {asked} changes if the question is {check.form}"


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
