"""What the adapters of clients promise without any client: identity, settings, interruptions, tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import pytest

from fake_checkout import FakeCheckout
from pytest_crab import agents, reviewers, serialization
from pytest_crab.clients import installed
from pytest_crab.errors import BadInput, Cancelled, GatewayError
from pytest_crab.types import Finding

FAMILIES = {"reviewer": reviewers.REVIEWERS, "agent": agents.AGENTS}
BOTH = [
    *(("reviewer", name) for name in ("claude-code", "codex", "pr-agent")),
    *(("agent", name) for name in ("claude-code", "codex", "mini")),
]
HEAD = {"calc.py": b"x = 1\n"}


@pytest.fixture(autouse=True)
def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder_of_clients: None) -> Path:
    """A folder in which every client is a script that says its version."""
    folder = tmp_path / "clients"
    places = {
        "claude-code": "node_modules/@anthropic-ai/claude-code-linux-x64/claude",
        "codex": "node_modules/@openai/codex-linux-x64/vendor/triple/bin/codex",
        "pr-agent": "bin/pr-agent",
        "mini": "bin/mini",
    }
    for name, place in places.items():
        program = folder / name / place
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\necho 1.2.3\n")
        program.chmod(0o755)
    for name, package in (("pr-agent", "pr_agent"), ("mini", "mini_swe_agent")):
        (folder / name / "lib/python3.12/site-packages" / f"{package}-1.2.3.dist-info").mkdir(parents=True)
    monkeypatch.setenv(installed.VARIABLE, str(folder))
    return folder


def made(noun: str, name: str, folder: Path, **settings: Any) -> Any:
    return FAMILIES[noun].make(name, {"model": "m", **settings}, folder)


def work(adapter: Any, noun: str, checkout: Any) -> Any:
    shown = checkout.pull_request()
    if noun == "reviewer":
        return adapter.review(shown, checkout)
    return adapter.revise(shown, [Finding(body="Mend it.")], checkout)


@pytest.mark.parametrize(("noun", "name"), BOTH)
def test_the_identity_names_all_that_decides(noun: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "own.md").write_text("Look.\n")
    before = made(noun, name, tmp_path / "here", prompt="own.md").identity()
    assert before["client"] == name
    assert before["version"] == "1.2.3"
    assert before["model"] == "m"
    assert json.loads(serialization.canonical(before)) == serialization.dump(before)
    assert str(tmp_path) not in serialization.canonical(before)
    moved = (tmp_path / "here").rename(tmp_path / "there")
    assert made(noun, name, moved, prompt="own.md").identity() == before
    for changed in ({"model": "n"}, {"timeout": 5}, {"args": ["--more"]}, {"provider": "other"}, {"in": "workspace"}):
        others = made(noun, name, moved, **{"prompt": "own.md", **changed}).identity()
        assert (others != before) is not (changed == {"in": "workspace"} and noun == "agent")
    (moved / "own.md").write_text("Look twice.\n")
    assert made(noun, name, moved, prompt="own.md").identity() != before
    assert made(noun, name, moved).identity() != before


@pytest.mark.parametrize(("noun", "name"), [one for one in BOTH if one[1] in ("claude-code", "codex")])
def test_the_instruction_files_of_a_folder_are_of_the_identity(noun: str, name: str, tmp_path: Path) -> None:
    def identity(value: str) -> Any:
        return made(noun, name, tmp_path, instructions=value).identity()

    rules = tmp_path / "rules"
    rules.mkdir()
    with pytest.raises(BadInput, match="instructions names rules, in which there is none of"):
        identity("rules")
    read, other = ("CLAUDE.md", "AGENTS.md") if name == "claude-code" else ("AGENTS.md", "CLAUDE.md")
    (rules / read).write_text("One.\n")
    first = identity("rules")
    assert identity("none") == made(noun, name, tmp_path).identity()
    assert len({serialization.canonical(one) for one in (first, identity("none"), identity("base"))}) == 3
    (rules / other).write_text("Not read.\n")
    (rules / "notes.md").write_text("Not read.\n")
    assert identity("rules") == first
    skill = {"claude-code": ".claude", "codex": ".agents"}[name]
    (rules / skill / "skills" / "one").mkdir(parents=True)
    (rules / skill / "skills" / "one" / "run.sh").write_text("true\n")
    second = identity("rules")
    assert second != first
    moved = rules.rename(tmp_path / "moved")
    assert identity(str(moved)) == second
    (moved / read).write_text("Two.\n")
    assert identity(str(moved)) != second


@pytest.mark.parametrize(("noun", "name"), [*BOTH, ("reviewer", "single-shot"), ("agent", "tool-loop")])
def test_another_server_under_the_same_name_is_asked_anew(noun: str, name: str, tmp_path: Path) -> None:
    def identity(text: str) -> Any:
        (tmp_path / "crab.yaml").write_text(f"models:\n  providers:\n    own: {{{text}}}\n")
        return made(noun, name, tmp_path, provider="own").identity()

    first = identity("base_url: http://one/v1, api: openai, key_env: KEY")
    assert first == identity("base_url: http://one/v1, api: openai, key_env: OTHER_KEY")
    assert first != identity("base_url: http://two/v1, api: openai")
    assert first != identity("base_url: http://one/v1, api: anthropic")


@pytest.mark.parametrize(("noun", "name"), BOTH)
def test_bad_settings_are_one_sentence_before_anything_runs(noun: str, name: str, tmp_path: Path) -> None:
    for settings, said in (
        ({"timeout": "0"}, "timeout should be"),
        ({"prompt": "nowhere.md"}, "prompt nowhere.md cannot be read"),
        ({"in": "elsewhere"}, "it should be one of clone, workspace"),
    ):
        with pytest.raises(BadInput) as caught:
            made(noun, name, tmp_path, **settings)
        (problem,) = caught.value.problems
        assert said in problem


@pytest.mark.parametrize(
    ("noun", "name", "limit"),
    [
        ("reviewer", "claude-code", "max_turns"),
        ("reviewer", "claude-code", "max_usd"),
        ("agent", "claude-code", "max_turns"),
        ("agent", "mini", "max_turns"),
    ],
)
def test_a_limit_of_nothing_is_no_setting(noun: str, name: str, limit: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"{limit} should be above 0"):
        made(noun, name, tmp_path, **{limit: "0"})


@pytest.mark.parametrize(("noun", "name"), BOTH)
def test_a_client_that_is_missing_is_said_before_anything_runs(
    noun: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(installed.VARIABLE, str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match=f"--install-client {name}"):
        made(noun, name, tmp_path)


def test_mini_needs_a_model(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="model is missing"):
        agents.AGENTS.make("mini", {}, tmp_path)


@pytest.mark.parametrize(("noun", "name"), BOTH)
def test_without_a_gateway_nobody_is_to_blame(noun: str, name: str, tmp_path: Path) -> None:
    checkout = FakeCheckout(tmp_path / "checkout", head=HEAD)
    with pytest.raises(GatewayError):
        work(made(noun, name, tmp_path), noun, checkout)
    assert checkout.openings == []


class InterruptedModels:
    """A gateway in a run that was just interrupted."""

    def open(self, **_asked: Any) -> NoReturn:
        raise Cancelled("interrupted")


class Interrupted(FakeCheckout):
    """A checkout in a run that was just interrupted."""

    def __init__(self, folder: Path) -> None:
        gateway: Any = InterruptedModels()
        super().__init__(folder, head=HEAD, gateway=gateway)

    def clone(self, **asked: Any) -> NoReturn:
        raise Cancelled("interrupted")


@pytest.mark.parametrize(("noun", "name"), BOTH)
def test_an_interruption_passes_through(noun: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        work(made(noun, name, tmp_path), noun, Interrupted(tmp_path / "checkout"))
