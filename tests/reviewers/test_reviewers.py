from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest

from fake_checkout import FakeCheckout
from pytest_crab import serialization
from pytest_crab.adapters import AdapterSpec, privileged
from pytest_crab.errors import BadInput, Cancelled
from pytest_crab.protocols import Reviewer
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.types import Finding, Instance, Review, Side

ANSWER = {"schema": 1, "findings": [{"path": "calc.py", "start": 4, "body": "Shared."}]}
#: Those that ask models answer to the tests of clients.
ASKING = ("claude-code", "codex", "devin", "hunks", "layered", "pr-agent", "reflexion", "single-shot")
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "human": {},
    "ruff": {},
    "linter": {},
    "replay": {"reviews": "recorded"},
    "command": {"command": [sys.executable, "reviewer.py"], "files": ["reviewer.py"]},
}


class Interrupted(FakeCheckout):
    """A checkout in a run that was just interrupted."""

    def clone(self, **asked: Any) -> NoReturn:
        raise Cancelled("interrupted")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "settings"
    (folder / "recorded").mkdir(parents=True)
    (folder / "recorded" / "calc-1.json").write_text(json.dumps(ANSWER))
    (folder / "reviewer.py").write_text(f"import sys\nsys.stdin.read()\nprint({json.dumps(ANSWER)!r})\n")
    return folder


def made(name: str, folder: Path, instance: Instance) -> Reviewer:
    adapter: Any = REVIEWERS.make(name, SETTINGS[name], folder)
    return adapter.bind(instance) if privileged(adapter) else adapter  # type: ignore[no-any-return]


def test_every_built_in_reviewer_is_under_this_contract() -> None:
    assert set(REVIEWERS.members) - set(SETTINGS) - set(ASKING) == set()


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_the_same_pull_request_gets_the_same_review(
    name: str, folder: Path, instance: Instance, checkout: FakeCheckout
) -> None:
    reviewer = made(name, folder, instance)
    reviews = [reviewer.review(checkout.pull_request(), checkout) for _ in range(2)]
    assert reviews[0] == reviews[1]
    assert isinstance(reviews[0], Review)
    assert serialization.read(Review, serialization.dump(reviews[0]), []) == reviews[0]


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_the_identity_is_plain_and_does_not_depend_on_where_the_settings_lie(
    name: str, folder: Path, instance: Instance, tmp_path: Path
) -> None:
    identity = made(name, folder, instance).identity()
    moved = folder.rename(tmp_path / "elsewhere")
    assert made(name, moved, instance).identity() == identity
    assert json.loads(serialization.canonical(identity)) == serialization.dump(identity)
    assert str(tmp_path) not in serialization.canonical(identity)


@pytest.mark.parametrize("name", ["ruff", "linter", "command"])
def test_an_interruption_passes_through(name: str, folder: Path, instance: Instance, checkout: FakeCheckout) -> None:
    checkout.__class__ = Interrupted
    with pytest.raises(Cancelled):
        made(name, folder, instance).review(checkout.pull_request(), checkout)


def test_only_human_and_replay_are_shown_the_answer(folder: Path) -> None:
    assert {name for name in SETTINGS if privileged(REVIEWERS.make(name, SETTINGS[name], folder))} == {
        "human",
        "replay",
    }


def test_none_says_nothing(folder: Path, instance: Instance, checkout: FakeCheckout) -> None:
    assert made("none", folder, instance).review(checkout.pull_request(), checkout).findings == ()
    assert checkout.openings == []


def test_human_says_what_the_humans_said(folder: Path, instance: Instance, checkout: FakeCheckout) -> None:
    assert made("human", folder, instance).review(checkout.pull_request(), checkout).findings == (
        Finding(path="calc.py", start=4, end=5, body="The list is shared between calls."),
        Finding(path="notes.txt", start=1, end=1, side=Side.LEFT, body="Keep this."),
    )


def test_the_identity_of_human_changes_with_the_comments(folder: Path, instance: Instance) -> None:
    before = made("human", folder, instance).identity()
    fewer = serialization.read(
        Instance, {**serialization.dump(instance), "comments": serialization.dump(instance.comments[:1])}, []
    )
    assert fewer is not None
    assert made("human", folder, fewer).identity() != before


def test_a_spec_is_plain_json_that_builds_the_adapter_elsewhere(folder: Path) -> None:
    spec = REVIEWERS.spec("command", SETTINGS["command"], folder)
    sent = serialization.read(AdapterSpec, json.loads(json.dumps(serialization.dump(spec))), [])
    assert sent is not None
    assert REVIEWERS.build(sent) == REVIEWERS.make("command", SETTINGS["command"], folder)


def test_an_own_class_is_named_by_its_path(folder: Path) -> None:
    own = REVIEWERS.make("pytest_crab.reviewers.ruff:RuffReviewer", {"select": ["F"]}, folder)
    assert own == REVIEWERS.make("ruff", {"select": ["F"]}, folder)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("nobody", {}, f"'nobody' is no reviewer; use one of {', '.join(sorted(REVIEWERS.members))}"),
        ("pytest_crab.nowhere:Reviewer", {}, "cannot be imported"),
        ("pytest_crab.reviewers.ruff:Nothing", {}, "cannot be imported"),
        ("pytest_crab.errors:CrabError", {}, "is no dataclass"),
        ("pytest_crab.types:Finding", {}, "neither review nor bind"),
        ("ruff", {"selects": ["F"]}, "selects is not a known key; the keys here are select,"),
        ("ruff", {"select": []}, "select should name at least one rule"),
        ("ruff", {"timeout": "0"}, "timeout should be"),
        ("linter", {"timeout": "0"}, "timeout should be"),
        ("replay", {}, "either reviews, a folder, or reviewer"),
        ("replay", {"reviews": "nowhere"}, "reviews names nowhere, which is no folder"),
        ("none", {"model": "x"}, "model is not a known key"),
    ],
)
def test_a_bad_setting_is_one_sentence(name: str, settings: Mapping[str, Any], said: str, folder: Path) -> None:
    with pytest.raises(BadInput, match=r"^crab\.yaml: reviewers\.") as caught:
        REVIEWERS.make(name, settings, folder)
    assert said in caught.value.problems[0]


def test_all_faults_are_named_and_say_where(folder: Path) -> None:
    with pytest.raises(BadInput) as caught:
        REVIEWERS.make("ruff", {"select": "F", "ignore": 3, "x": 1}, folder, where="crab.yaml: reviewers.strict")
    assert len(caught.value.problems) == 3
    assert str(caught.value).count("crab.yaml: reviewers.strict: ") == 3
