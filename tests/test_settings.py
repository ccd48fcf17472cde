"""Reading crab.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.settings import Api, ModelSettings, Price, Provider, Settings, TokenLimit, Variant, load_settings


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


def test_an_entry_may_have_a_built_ins_name_beside_others_that_use_it(tmp_path: Path) -> None:
    (tmp_path / "crab.yaml").write_text("reviewers: {codex: {use: codex, timeout: 5}, tight: {use: codex}}\n")
    assert load_settings(tmp_path).reviewers == {
        "codex": Variant(name="codex", use="codex", settings={"timeout": "5"}),
        "tight": Variant(name="tight", use="codex"),
    }


@pytest.mark.parametrize(
    ("content", "telling"),
    [
        (
            "model: {}\n",
            "model is not a known key; the keys here are reviewers, agents, judges, models, gate",
        ),
        ("reviewers: [a]\n", "reviewers is no mapping"),
        ("reviewers: {a: codex}\n", "reviewers.a is no mapping"),
        ("reviewers: {a: {model: x}}\n", "reviewers.a.use is missing"),
        ("agents: {a: {use: [b]}}\n", "agents.a.use is not a name"),
        ("reviewers: {'a::b': {use: codex}}\n", "reviewers.a::b is no name"),
        ("reviewers: {a: {use: codex}, a: {use: codex}}\n", "a stands twice"),
        ("gate: 5\n", "gate is no mapping"),
        ("gate: {margin: {all: 5}}\n", "gate.margin is neither a value nor a list of values"),
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


def test_models_know_their_providers_and_what_is_said_of_them(tmp_path: Path) -> None:
    (tmp_path / "crab.yaml").write_text(
        "models:\n"
        "  providers:\n"
        "    anthropic: {base_url: 'http://127.0.0.1:1'}\n"
        "    local: {base_url: 'http://127.0.0.1:8000/v1', api: openai}\n"
        "  prices: {some-*: {input: 3, output: 15.5}}\n"
        "  trial_budget: 0.5\n"
        "  record: false\n"
    )
    models = load_settings(tmp_path).models
    assert models.providers == {
        "anthropic": Provider(base_url="http://127.0.0.1:1", api=Api.ANTHROPIC, key_env="ANTHROPIC_API_KEY"),
        "openai": Provider(
            base_url="https://api.openai.com/v1",
            api=Api.OPENAI,
            key_env="OPENAI_API_KEY",
            token_limit=TokenLimit.MAX_COMPLETION_TOKENS,
        ),
        "local": Provider(base_url="http://127.0.0.1:8000/v1", api=Api.OPENAI),
    }
    assert models.prices == {"some-*": Price(input=3.0, output=15.5)}
    assert (models.trial_budget, models.record, models.retries) == (0.5, False, 4)
    assert load_settings(tmp_path / "nowhere").models == ModelSettings()


@pytest.mark.parametrize(
    ("section", "telling"),
    [
        ("[a]", "models is a list; it should be a mapping"),
        ("{provider: {}}", "models.provider is not a known key; the keys here are providers, prices, trial_budget"),
        ("{providers: [a]}", "models.providers is a list; it should be a mapping"),
        ("{providers: {anthropic: x}}", "models.providers.anthropic is 'x'; it should be a mapping"),
        ("{providers: {mine: {base_url: 'http://x'}}}", "models.providers.mine.api is missing"),
        ("{providers: {mine: {base_url: 'ftp://x', api: openai}}}", "base_url is 'ftp://x'; it should be a http"),
        ("{providers: {mine: {base_url: 'http://me:pw@x', api: openai}}}", "URL without user or query"),
        ("{providers: {mine: {base_url: 'http://x', api: grpc}}}", "it should be one of anthropic, openai"),
        ("{providers: {Mine: {base_url: 'http://x', api: openai}}}", "providers.Mine is no name"),
        ("{prices: {m: {input: 3}}}", "models.prices.m.output is missing"),
        ("{prices: {m: {input: -3, output: 1}}}", "a price should not be below 0"),
        ("{trial_budget: 0}", "trial_budget should be a number of dollars above 0"),
        ("{retries: 100}", "retries should be a number from 0 to 20"),
        ("{retry_wait: -1}", "retry_wait should be a number of seconds from 0"),
    ],
)
def test_faults_of_models_are_sentences(tmp_path: Path, section: str, telling: str) -> None:
    (tmp_path / "crab.yaml").write_text(f"models: {section}\n")
    with pytest.raises(BadInput) as caught:
        load_settings(tmp_path)
    (problem,) = caught.value.problems
    assert telling in problem


def test_the_environment_gives_addresses_where_crab_yaml_gives_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does for the providers' own libraries."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:8001")
    for text in ("gate: {}\n", "models: {providers: {openai: {key_env: OTHER}}}\n"):
        (tmp_path / "crab.yaml").write_text(text)
        found = load_settings(tmp_path).models.providers
        assert found["openai"].base_url == "http://127.0.0.1:8000/v1"
        assert found["anthropic"].base_url == "http://127.0.0.1:8001"
    (tmp_path / "crab.yaml").write_text("models: {providers: {openai: {base_url: 'http://own.example/v1'}}}\n")
    assert load_settings(tmp_path).models.providers["openai"].base_url == "http://own.example/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8000")
    (tmp_path / "crab.yaml").unlink()
    with pytest.raises(BadInput, match="OPENAI_BASE_URL in the environment: base_url is 'localhost:8000'; it should"):
        load_settings(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("ANTHROPIC_BASE_URL")
    assert load_settings(tmp_path).models.providers["openai"].base_url == "https://api.openai.com/v1"
