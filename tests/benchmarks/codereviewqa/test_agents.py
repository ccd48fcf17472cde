"""Agents that answer probes too: their answers beside their other rates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from pytest_crab.benchmarks.codereviewqa.agents import agent_lines
from pytest_crab.benchmarks.codereviewqa.records import ProbeReason, ProbeRecord, ProbeResult
from pytest_crab.benchmarks.codereviewqa.summary import summarise_probes
from pytest_crab.results.summary import Summary, summarise
from pytest_crab.types import Reason, Trial

MakeTrial = Callable[..., Trial]
REASONS = {"c": Reason.GREEN, "m": Reason.FAILED}
ANSWERS = {"c": ProbeReason.CORRECT, "m": ProbeReason.INCORRECT}


def from_human(make_trial: MakeTrial, verdicts: dict[str, str]) -> Summary:
    """A run of agents on the human's comments, with a letter for each instance."""
    found = []
    for agent, letters in verdicts.items():
        for at, letter in enumerate(letters):
            name = f"human+{agent}"
            trial = make_trial(name, f"i{at}", REASONS[letter], repo=f"r{at}", agent=agent, privileged=(name,))
            found.append(dataclasses.replace(trial, review_by="human"))
    return summarise(found)


def answers(agent: str, easy: str, hard: str) -> list[ProbeRecord]:
    """An answerer's two probes on as many rows as letters."""
    return [
        ProbeRecord(
            instance=f"row{at}",
            repo=f"row{at}",
            answerer=agent,
            measure="letters",
            results=tuple(
                ProbeResult(probe=probe, reason=ANSWERS[letter])
                for probe, letter in zip(("lines-easy", "lines-hard"), letters, strict=True)
            ),
        )
        for at, letters in enumerate(zip(easy, hard, strict=True))
    ]


def test_what_agents_resolve_from_the_human_is_correlated_with_each_probe(make_trial: MakeTrial) -> None:
    summary = from_human(make_trial, {"x": "ccc", "y": "ccm", "z": "cmm"})
    records = [*answers("x", "ccc", "mmm"), *answers("y", "ccm", "mmc"), *answers("z", "mmm", "ccc")]
    # All three pairs of agents rank alike by the easy probe, none by the hard one; of all answers x has 3, y 3 and z 3.
    first, taus = agent_lines(summary, summarise_probes(records))
    assert first.endswith("x 50.0%, y 50.0%, z 50.0%")
    assert "(from human)" in taus
    assert taus.endswith("tau-b lines-easy 1.00, lines-hard -1.00")


def test_two_agents_are_no_correlation_and_strangers_are_no_agents(make_trial: MakeTrial) -> None:
    summary = from_human(make_trial, {"x": "ccc", "y": "ccm"})
    lines = list(agent_lines(summary, summarise_probes([*answers("x", "c", "c"), *answers("y", "c", "m")])))
    assert "a correlation with probes takes 3 agents" in lines[1]
    assert list(agent_lines(summary, summarise_probes(answers("other", "c", "c")))) == []
