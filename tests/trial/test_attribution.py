"""Which finding led to a catch: what is not known of one of them leaves the whole unknown."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pytest_crab.scoring.oracles import OracleScorer
from pytest_crab.types import Reason, Score

FINDINGS = [{"path": "value.py", "start": 2, "body": body} for body in ("The value should be three.", "Really.")]


@pytest.mark.bubblewrap
def test_a_verdict_that_breaks_leaves_the_attribution_unknown(
    make_lab: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = make_lab()
    lab.changes |= {"attribute": True, "proof_runs": 1}
    lab.reviewing(FINDINGS)
    told = lab.trial()
    assert (told.attribution, told.error) == ({"c0": (0, 1)}, None)
    assert told.versions["agent-identity"]
    asked: list[Sequence[Score]] = []
    score = OracleScorer.score

    def breaking(*arguments: Any) -> Sequence[Score]:
        asked.append(score(*arguments))
        if len(asked) < 3:
            return asked[-1]
        broken = {"label": None, "value": None, "reason": Reason.BROKEN, "detail": "the disk is full"}
        return [dataclasses.replace(one, **broken) for one in asked[-1]]

    monkeypatch.setattr(OracleScorer, "score", breaking)
    trial = lab.trial()
    assert lab.reasons(trial)["c0"] == "green"
    assert trial.attribution is None
    assert trial.error == "attribution: c0, finding 2 alone: the disk is full"


@pytest.mark.bubblewrap
def test_an_agents_files_decide_what_it_says_of_itself(make_lab: Callable[..., Any]) -> None:
    lab = make_lab()
    lab.changes["proof_runs"] = 1
    first, again = lab.trial(), lab.trial()
    lab.acting({})
    changed = lab.trial()
    digests = [trial.versions["agent-identity"] for trial in (first, again, changed)]
    assert digests[0] == digests[1] != digests[2]
