"""A revision is a series of commits, and each verdict is explained by it, with runs of oracles alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from pytest_crab.types import ExplainedOutcome, Trial

VALUE, NAME = "def value():\n    return {}\n", 'def name():\n    return "{}"\n'
AT_VALUE = {"path": "value.py", "start": 2, "body": "The value should be three."}
AT_NAME = {"path": "name.py", "start": 2, "body": "The name should be c."}
#: An oracle with a guard: the name is none of its concern.
PINNING = (
    "import name\nimport value\n\n\ndef test_value():\n    assert value.value() == 3\n\n\n"
    'def test_name():\n    assert name.name() in "bc"\n'
)


def commits(*steps: tuple[Mapping[str, str], str]) -> str:
    """Shell that commits each step: files and the commit's message."""
    lines = []
    for files, message in steps:
        lines += [f"cat > {path} <<'CRAB_END'\n{text}CRAB_END" for path, text in files.items()]
        lines.append(f"git add -A && git commit -q -m '{message}' || exit 9")
    return "\n".join(lines)


def acted(*findings: int) -> str:
    return "Do as asked\n\n" + "".join(f"Finding: {number}\n" for number in findings)


VALUE_3, NAME_C, NAME_X = {"value.py": VALUE.format(3)}, {"name.py": NAME.format("c")}, {"name.py": NAME.format("x")}


@pytest.fixture(scope="module")
def explaining(make_lab: Callable[..., Any]) -> Any:
    """A lab whose first oracle has a guard on what the second is about."""
    lab = make_lab()
    lab.put("oracles/test_c0.py", PINNING)
    return lab


def explained(lab: Any, script: str, findings: Sequence[dict[str, Any]] = (AT_VALUE, AT_NAME)) -> Trial:
    lab.reviewing(list(findings))
    lab.acting({}, script)
    trial = lab.trial()
    assert isinstance(trial, Trial)
    assert trial.error is None
    return trial


def outcomes(trial: Trial) -> dict[str, tuple[ExplainedOutcome, tuple[int, ...]]]:
    return {name: (one.outcome, one.findings) for name, one in trial.explanations.items()}


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("script", "c0", "c1"),
    [
        (
            commits((VALUE_3, acted(1)), (NAME_C, acted(2))),
            ("green", ExplainedOutcome.BY_FINDING, (1,)),
            ("green", ExplainedOutcome.BY_FINDING, (2,)),
        ),
        (
            commits((VALUE_3, acted(1)), (NAME_X, acted(2))),
            ("guard broke", ExplainedOutcome.SPOILED, (2,)),
            ("test failed", ExplainedOutcome.NOT_RESOLVED, ()),
        ),
        (
            commits((VALUE_3, acted(1))),
            ("green", ExplainedOutcome.BY_FINDING, (1,)),
            ("test failed", ExplainedOutcome.LEFT, ()),
        ),
        (
            commits(({**VALUE_3, **NAME_C}, acted(2))),
            ("green", ExplainedOutcome.BY_NO_FINDING, ()),  # what a commit claims counts, not what it changes
            ("green", ExplainedOutcome.BY_FINDING, (2,)),
        ),
        (
            commits((VALUE_3, "No trailer")),
            ("green", ExplainedOutcome.UNCLEAR, ()),
            ("test failed", ExplainedOutcome.UNCLEAR, ()),
        ),
    ],
)
def test_each_verdict_has_its_outcome(
    explaining: Any,
    script: str,
    c0: tuple[str, ExplainedOutcome, tuple[int, ...]],
    c1: tuple[str, ExplainedOutcome, tuple[int, ...]],
) -> None:
    trial = explained(explaining, script)
    reasons = explaining.reasons(trial)
    assert outcomes(trial) == {"c0": c0[1:], "c1": c1[1:]}
    assert reasons == {"c0": c0[0], "c1": c1[0]}
