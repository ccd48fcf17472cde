"""A key that a contestant is given is nowhere in what its trial leaves, in whatever field it comes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from pytest_crab.errors import ReviewerError
from pytest_crab.protocols import Checkout
from pytest_crab.results.files import write_trials
from pytest_crab.trial import Crew, run_trial
from pytest_crab.types import Finding, PullRequest, Review, Trial, Usage

pytestmark = pytest.mark.bubblewrap

KEY = "sk-tell-nobody-0123456789"
FINDING = {"path": "value.py", "start": 2, "body": "The value should be three."}

#: A review with the key in every field that the contract has, and in some that it has not.
REVIEW = """
import json, os
key = os.environ["MODEL_KEY"]
found = [
    {"path": "value.py", "start": 2, "body": "body " + key, "title": key, "severity": key, "rule": key},
    {"path": key + ".py", "body": "a path"},
    {"path": "/elsewhere/" + key, "body": "an absolute path"},
    {"path": "value.py", "start": 2, "side": key, "body": "a side"},
    {"path": "value.py", "start": key, "body": "a line"},
    {"path": "value.py", "start": 2, "body": "".join("\\\\u%04x" % ord(letter) for letter in key)},
    {key: key},
]
usage = {"input_tokens": 1, "models": [key], "asked": [key]}
print(json.dumps({"schema": 1, "findings": found, "version": key, "usage": usage}))
"""


@pytest.fixture
def keyed(lab: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A lab whose contestants are given a key."""
    monkeypatch.setenv("MODEL_KEY", KEY)
    for who in ("reviewer", "agent"):
        lab.settings[who] = {"pass_env": ["MODEL_KEY"]}
    return lab


def left(lab: Any, trial: Trial) -> str:
    """All that a trial leaves: its record as the report has it, and its objects in the store."""
    write_trials(lab.folder / "store" / "report" / "trials.jsonl", [trial])
    files = [path for path in (lab.folder / "store").rglob("*") if path.is_file() and "cache" not in path.parts]
    return "\n".join(path.read_bytes().decode(errors="replace") for path in files)


def is_told(text: str) -> bool:
    half = KEY[: len(KEY) // 2]  # a sentence may quote the beginning of what it is about
    return half in text or "".join(f"\\u{ord(letter):04x}" for letter in half) in text


def test_a_review_has_no_key_in_any_field(keyed: Any) -> None:
    keyed.write("crew/code.py", REVIEW)
    keyed.settings["reviewer"] |= {"command": [sys.executable, "crew/code.py"], "files": ["crew/code.py"]}
    trial = keyed.trial()
    assert trial.review is not None, trial.error
    assert not is_told(left(keyed, trial))
    assert "[MODEL_KEY].py" in {finding.path for finding in trial.review.findings}
    assert trial.review.usage == Usage(input_tokens=1, models=("[MODEL_KEY]",))


@pytest.mark.parametrize(
    "before",
    [
        'echo "$MODEL_KEY" >&2; exit 3',
        'echo "{\\"schema\\": 1, \\"findings\\": \\"$MODEL_KEY\\"}"; exit 0',
        'echo "{\\"schema\\": \\"$MODEL_KEY\\"}"; exit 0',
        'echo "words that are no review, and $MODEL_KEY"; exit 0',
    ],
)
def test_a_failed_review_has_no_key_in_its_sentence(keyed: Any, before: str) -> None:
    keyed.reviewing([FINDING], before=before)
    trial = keyed.trial()
    assert trial.error is not None
    assert not is_told(left(keyed, trial))


def test_an_agents_notes_have_no_key_and_its_code_is_refused(keyed: Any) -> None:
    keyed.acting({"value.py": "def value():\n    return 3\n"}, before='echo "it is $MODEL_KEY"')
    trial = keyed.trial()
    assert trial.revision is not None, trial.error
    assert trial.revision.notes == "it is [MODEL_KEY]"
    assert not is_told(left(keyed, trial))
    keyed.acting({}, before='echo "$MODEL_KEY" > value.py')
    trial = keyed.trial()
    assert trial.error is not None
    assert "wrote the value of MODEL_KEY into the code" in trial.error
    assert not is_told(left(keyed, trial))


class Careless:
    """An adapter in Python that looks after no key: not of a model, and not of its own."""

    pass_env = ("MODEL_KEY",)

    def __init__(self, fails: Any) -> None:
        self.fails = fails

    def identity(self) -> dict[str, str]:
        return {"adapter": "careless"}

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        del pull_request
        if self.fails:
            raise ReviewerError(f"the service refused {KEY}")
        transcript = checkout.services.keep("careless", f"asked with {KEY}")
        return Review(findings=(Finding(body="b", path=f"{KEY}.py"),), version=KEY, transcript=transcript)


@pytest.mark.parametrize("fails", [False, True])
def test_adapters_of_ones_own_are_looked_after(keyed: Any, fails: Any) -> None:
    built = keyed.crew()
    crew = Crew(spec=built.spec, reviewer=Careless(fails), agent=built.agent)
    trial = run_trial(keyed.instance(), crew, keyed.run_context())
    assert (trial.review is None) is fails
    assert "[MODEL_KEY]" in left(keyed, trial)
    assert not is_told(left(keyed, trial))
