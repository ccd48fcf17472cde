"""Reading crab.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.settings import Settings
from pytest_crab.settings import Variant
from pytest_crab.settings import load_settings


def test_no_file_is_empty_settings(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == Settings(folder=tmp_path)


def test_variants_keep_their_settings_as_texts(tmp_path: Path) -> None:
    (tmp_path / "crab.yaml").write_text(
        "reviewers:\n"
        "  strict: {use: codex, prompt: prompts/strict.md, timeout: 60}\n"
        "agents:\n"
        "  mini: {use: mini, steps: [a, b]}\n"
    )
    assert load_settings(tmp_path) == Settings(
        folder=tmp_path,
        reviewers={
            "strict": Variant(name="strict", use="codex", settings={"prompt": "prompts/strict.md", "timeout": "60"})
        },
        agents={"mini": Variant(name="mini", use="mini", settings={"steps": ["a", "b"]})},
    )


@pytest.mark.parametrize(
    ("content", "telling"),
    [
        ("models: {}\n", "models is not a known key; the keys here are reviewers, agents"),
        ("reviewers: [a]\n", "reviewers is no mapping"),
        ("reviewers: {a: codex}\n", "reviewers.a is no mapping"),
        ("reviewers: {a: {model: x}}\n", "reviewers.a.use is missing"),
        ("agents: {a: {use: [b]}}\n", "agents.a.use is not a name"),
        ("reviewers: {'a::b': {use: codex}}\n", "reviewers.a::b is no name"),
        ("reviewers: {a: {use: codex}, b: {use: a}}\n", "reviewers.b.use is 'a', a variant itself"),
        ("reviewers: {a: {use: codex}, a: {use: codex}}\n", "a stands twice"),
    ],
)
def test_faults_are_sentences(tmp_path: Path, content: str, telling: str) -> None:
    (tmp_path / "crab.yaml").write_text(content)
    with pytest.raises(BadInput) as caught:
        load_settings(tmp_path)
    (problem,) = caught.value.problems
    assert telling in problem


def test_all_faults_come_at_once(tmp_path: Path) -> None:
    (tmp_path / "crab.yaml").write_text("models: 1\nreviewers: {a: {}}\nagents: 2\n")
    with pytest.raises(BadInput) as caught:
        load_settings(tmp_path)
    assert len(caught.value.problems) == 3
