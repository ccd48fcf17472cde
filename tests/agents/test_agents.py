from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest

from fake_checkout import FakeCheckout
from pytest_crab import serialization
from pytest_crab.adapters import privileged
from pytest_crab.agents import AGENTS
from pytest_crab.errors import AgentError, BadInput, Cancelled
from pytest_crab.protocols import Agent
from pytest_crab.types import Finding, Instance, Revision

FINDINGS = (
    Finding(path="numbers.txt", start=11, body="```suggestion\neleven\n```"),
    Finding(path="numbers.txt", start=50, body="Wrong."),
    Finding(body="Nice."),
)
DIFF = "diff --git a/new.txt b/new.txt\nnew file mode 100644\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\r\n"
#: Those that ask models answer to the tests of clients.
ASKING = ("claude-code", "codex", "mini", "tool-loop")
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "simulated": {},
    "suggestions": {},
    "replay": {"revisions": "recorded"},
    "command": {"command": [sys.executable, "agent.py"], "files": ["agent.py"]},
}


class Interrupted(FakeCheckout):
    """A checkout in a run that was just interrupted."""

    def clone(self, **asked: Any) -> NoReturn:
        raise Cancelled("interrupted")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "settings"
    (folder / "recorded").mkdir(parents=True)
    (folder / "recorded" / "numbers-1.diff").write_bytes(DIFF.encode())
    (folder / "agent.py").write_text("open('new.txt', 'w').write('new')\n")
    return folder


def made(name: str, folder: Path, instance: Instance) -> Agent:
    adapter: Any = AGENTS.make(name, SETTINGS[name], folder)
    return adapter.bind(instance) if privileged(adapter) else adapter  # type: ignore[no-any-return]


def test_every_built_in_agent_is_under_this_contract() -> None:
    assert set(AGENTS.members) - set(SETTINGS) - set(ASKING) == set()


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_the_same_findings_get_the_same_revision_which_applies(
    name: str, folder: Path, instance: Instance, checkout: FakeCheckout
) -> None:
    agent = made(name, folder, instance)
    revisions = [agent.revise(checkout.pull_request(), FINDINGS, checkout) for _ in range(2)]
    assert revisions[0] == revisions[1]
    assert serialization.read(Revision, serialization.dump(revisions[0]), []) == revisions[0]
    with checkout.clone() as workspace:
        workspace.apply(revisions[0].diff)
        assert workspace.diff()


@pytest.mark.parametrize("name", ["simulated", "suggestions"])
def test_without_findings_nothing_changes(name: str, folder: Path, instance: Instance, checkout: FakeCheckout) -> None:
    assert made(name, folder, instance).revise(checkout.pull_request(), (), checkout).diff == ""


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_the_identity_is_plain_and_does_not_depend_on_where_the_settings_lie(
    name: str, folder: Path, instance: Instance, tmp_path: Path
) -> None:
    identity = made(name, folder, instance).identity()
    moved = folder.rename(tmp_path / "elsewhere")
    assert made(name, moved, instance).identity() == identity
    assert json.loads(serialization.canonical(identity)) == serialization.dump(identity)
    assert str(tmp_path) not in serialization.canonical(identity)


@pytest.mark.parametrize("name", ["simulated", "suggestions", "command"])
def test_an_interruption_passes_through(name: str, folder: Path, instance: Instance, checkout: FakeCheckout) -> None:
    checkout.__class__ = Interrupted
    with pytest.raises(Cancelled):
        made(name, folder, instance).revise(checkout.pull_request(), FINDINGS, checkout)


def test_who_is_shown_the_answer_and_who_is_simulated(folder: Path) -> None:
    made_ones = {name: AGENTS.make(name, SETTINGS[name], folder) for name in SETTINGS}
    assert {name for name, agent in made_ones.items() if privileged(agent)} == {"replay", "simulated"}
    assert {name for name, agent in made_ones.items() if agent.simulated} == {"simulated"}


def test_a_recorded_revision_is_repeated_to_the_byte(folder: Path, instance: Instance, checkout: FakeCheckout) -> None:
    assert made("replay", folder, instance).revise(checkout.pull_request(), (), checkout).diff == DIFF


def test_a_missing_recording_is_named(folder: Path, instance: Instance, checkout: FakeCheckout) -> None:
    (folder / "recorded" / "numbers-1.diff").unlink()
    agent = made("replay", folder, instance)
    with pytest.raises(AgentError, match=r"numbers-1\.diff: no revision is recorded there"):
        agent.revise(checkout.pull_request(), (), checkout)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("nobody", {}, f"'nobody' is no agent; use one of {', '.join(sorted(AGENTS.members))}"),
        ("pytest_crab.reviewers.none:NoReviewer", {}, "neither revise nor bind"),
        ("replay", {"revisions": "nowhere"}, "which is no folder"),
        ("simulated", {"simulated": "no"}, "simulated is not a known key"),
        ("command", {}, "command is missing"),
    ],
)
def test_a_bad_setting_is_one_sentence(name: str, settings: Mapping[str, Any], said: str, folder: Path) -> None:
    with pytest.raises(BadInput, match=r"^crab\.yaml: agents\.") as caught:
        AGENTS.make(name, settings, folder)
    assert said in caught.value.problems[0]
