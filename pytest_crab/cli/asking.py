"""Commands that ask models outside of runs: their options, the gateway behind them, and lines on what was asked."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from pytest_crab.cli.shared_options import store_option
from pytest_crab.clients.services import StepServices
from pytest_crab.formats import format_count, format_dollars
from pytest_crab.models import Gateway
from pytest_crab.scoring.steps import StepCache, StepPlan
from pytest_crab.scratch import scratch
from pytest_crab.settings import Settings
from pytest_crab.store import FileStore
from pytest_crab.trial.run_context import secrets_of
from pytest_crab.types import TrialId, Usage

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class AskingSession:
    """A store and a gateway for questions."""

    cache: StepCache
    #: Makes the services of a question, booked on its trial and step.
    services: Callable[[str, str], StepServices]
    #: Breaks off what is under way.
    stop: Callable[[], None]

    def services_of(self, name: str) -> Callable[[str, str], StepServices]:
        """Return what makes the services of a question about an instance, booked on its trial of this name."""
        return lambda instance, step: self.services(str(TrialId(instance, name)), step)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingOptions:
    """The options that say how a command asks models."""

    #: US dollars for all models together.
    budget: float | None
    jobs: int
    plan: bool
    replay: bool
    store: Path

    @contextmanager
    def open_session(self, settings: Settings, purpose: str) -> Iterator[AskingSession]:
        """Yield the store and the gateway of these settings; ``purpose`` names the folder of what is temporary.

        The gateway starts with the first question that the store does not answer.
        """
        kept = FileStore(self.store.absolute())

        def advise_removal(step: str, key: str) -> str:
            return f"remove {kept.path(step, key)}, and it is asked again"

        cache = StepCache(store=kept, advice=advise_removal)
        secrets = secrets_of(settings.models)
        with scratch(purpose) as folder:
            gateway = Gateway.beside(kept.folder, settings, lambda: folder, budget=self.budget, replay=self.replay)

            def stop() -> None:
                cache.cancelled.set()
                gateway.stop()

            def services(trial: str, step: str) -> StepServices:
                return StepServices(
                    gateway, kept.put, trial=trial, step=step, secrets=secrets, cancelled=cache.cancelled
                )

            try:
                yield AskingSession(cache=cache, services=services, stop=stop)
            finally:
                gateway.close()


def asking_options(kind: type[AskingOptions], *, whom: str, what: str, kept: str) -> Callable[[F], F]:
    """Return a decorator that adds these options to a command, which gets them as ``asking``, of this ``kind``.

    ``whom`` the money is spent on, ``what`` is planned, and what is ``kept`` in the store are words for the help.
    """

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def with_asking(**given: Any) -> Any:
            own = {field.name: given.pop(field.name) for field in dataclasses.fields(kind)}
            return command(asking=kind(**own), **given)

        for option in reversed(options):
            option(with_asking)
        return cast("F", with_asking)

    options = (
        click.option(
            "--budget", type=click.FloatRange(min=0, min_open=True), help=f"The most US dollars to spend on {whom}."
        ),
        click.option(
            "--jobs", type=click.IntRange(min=1), default=4, show_default=True, help="Questions asked at a time."
        ),
        click.option("--plan", is_flag=True, help=f"Print how many {what} are stored and needed; ask nothing."),
        click.option("--replay", is_flag=True, help="Use recorded answers only."),
        store_option(f"The folder in which {kept} are kept."),
    )
    return decorate


def plan_line(name: str, plan: StepPlan, noun: str) -> str:
    """Return the sentence on what is stored and would be asked; ``noun`` is what one step gets."""
    cost = (
        f"cost not known: no stored {noun} has one" if plan.cost_usd is None else f"{format_dollars(plan.cost_usd)} USD"
    )
    counts = f"{format_count(plan.steps, noun)}, {plan.stored} stored, {plan.steps - plan.stored} to ask"
    return f"{name}: {counts}, {cost}"


def spent_line(name: str, noun: str, *, asked: int, failed: int, usage: Usage | None) -> str:
    """Return the sentence on how many of what one step gets were asked and how many failed, and what that cost."""
    lost = f"{format_count(failed, noun)} failed" if failed else ""
    if not asked:
        return f"{name}: {lost or f'no model was asked, every {noun} was stored'}"
    usd = None if usage is None else usage.cost_usd
    cost = "cost not known" if usd is None else f"{format_dollars(usd)} USD"
    return f"{name}: {'; '.join(filter(None, [f'{format_count(asked, noun)} asked and stored, {cost}', lost]))}"
