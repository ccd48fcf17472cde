"""Coding agents that act on reviews and answer probes too: whether those that answer better resolve more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_crab.benchmarks.codereviewqa.choices.questions import DIMENSION
from pytest_crab.benchmarks.codereviewqa.summary import ProbeSummary
from pytest_crab.formats import format_percent
from pytest_crab.results.mediators import FROM_HUMAN
from pytest_crab.results.summary import Summary
from pytest_crab.statistics.rank_agreement import kendall_tau
from pytest_crab.text import ascii_line

#: Rates of fewer agents say nothing of a correlation.
LEAST_AGENTS = 3

#: The name of all probes together.
_ALL = "probes"


def agent_lines(summary: Summary, probes: ProbeSummary) -> Iterator[str]:
    """Yield the rates of a run's agents as answerers of the same names, and how these agree with their other rates."""
    found = summary.mediators
    answers = {own.answerer: own for own in probes.answerers}
    if found is None or not any(own.agent in answers for own in found.agents):
        return
    known = {own.agent: answers[own.agent] for own in found.agents if own.agent in answers}
    rates = ", ".join(f"{ascii_line(name)} {format_percent(own.overall.micro)}%" for name, own in known.items())
    yield f"agents as answerers, probes caught: {rates}"
    by_probe: dict[str, dict[str, float | None]] = {_ALL: {name: own.overall.micro for name, own in known.items()}}
    for name, own in known.items():
        for probe, own_rate in own.by_label.get(DIMENSION, {}).items():
            by_probe.setdefault(probe, {})[name] = own_rate.micro
    others = {
        "mean": {own.agent: own.mean for own in found.agents},
        FROM_HUMAN: {own.agent: None if own.human is None else own.human.rate for own in found.agents},
    }
    taus = {rate: _taus(own, by_probe) for rate, own in others.items()}
    for rate, own_taus in taus.items():
        if own_taus:
            told = ", ".join(f"{probe} {tau:.2f}" for probe, tau in own_taus.items())
            yield f"rank agreement of the agents' rates ({rate}) with their answers to probes: tau-b {told}"
    if not any(taus.values()):
        yield f"a correlation with probes takes {LEAST_AGENTS} agents that are answerers of the same name too"


def _taus(rates: Mapping[str, float | None], by_probe: Mapping[str, Mapping[str, float | None]]) -> dict[str, float]:
    """Return Kendall's tau-b by probe, of those that at least LEAST_AGENTS agents have both rates for."""
    found = {}
    for probe, answers in by_probe.items():
        both = [
            (rate, answer)
            for agent, rate in rates.items()
            if rate is not None and (answer := answers.get(agent)) is not None
        ]
        tau = None if len(both) < LEAST_AGENTS else kendall_tau(*map(list, zip(*both, strict=True)))
        if tau is not None:
            found[probe] = tau
    return found
