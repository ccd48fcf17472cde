"""Requests, tokens and dollars by part of a trial and model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_crab.types import Trial, Usage
from pytest_crab.types.reviews import known_costs


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """The requests of one part of a reviewer's trials to one model, over all repeats.

    Each sum is over the steps that report it; None: no step does.
    """

    #: One of review, revision, answers, failed (attempts that came to nothing) and judgement.
    part: str
    #: The model, all names where one step asked several; empty: not known.
    model: str
    #: The steps that asked a model.
    steps: int
    requests: int | None = None
    #: The requests that had no answer.
    failed_requests: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


def usages_of(trial: Trial) -> Iterator[tuple[str, Usage]]:
    """Yield the measured usage of each part of a trial that asked a model."""
    steps = (("review", trial.review), ("revision", trial.revision))
    found = [(part, step.usage) for part, step in steps if step is not None and step.usage is not None]
    scoring = [("judgement" if own.judge else "answers", own.usage) for own in trial.scoring.values()]
    found += [(part, usage) for part, usage in scoring if usage is not None]
    found += [("failed", usage) for usage in trial.failed_usages]
    yield from ((part, usage) for part, usage in found if usage.models or usage.requests or usage.input_tokens)


def sum_usages(usages: Iterable[tuple[str, Usage]]) -> tuple[ModelUsage, ...]:
    """Return the sums by part and model, in the order of their first step."""
    groups: dict[tuple[str, str], list[Usage]] = {}
    for part, usage in usages:
        groups.setdefault((part, ", ".join(usage.asked or usage.models or ())), []).append(usage)
    return tuple(_sum(part, model, own) for (part, model), own in groups.items())


def _sum(part: str, model: str, usages: list[Usage]) -> ModelUsage:
    costs = known_costs(usages)
    return ModelUsage(
        part=part,
        model=model,
        steps=len(usages),
        requests=_total(usage.requests for usage in usages),
        failed_requests=_total(usage.failed_requests for usage in usages),
        input_tokens=_total(usage.input_tokens for usage in usages),
        output_tokens=_total(usage.output_tokens for usage in usages),
        cost_usd=sum(costs) if costs else None,
    )


def whole_sum(costs: Sequence[float | None]) -> float | None:
    """Return the sum of costs in dollars; None of none, or where one of them is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def _total(amounts: Iterable[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None
