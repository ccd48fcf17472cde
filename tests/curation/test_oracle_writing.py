"""The stages that write and validate oracles: a scripted model that needs two attempts, and an agent that reads."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_crab.cli.run_contexts import proving_context
from pytest_crab.curation.oracle_writing import ATTEMPTS
from pytest_crab.curation.oracle_writing import REGIME
from pytest_crab.curation.oracle_writing import OracleWriting
from pytest_crab.curation.oracle_writing import Regime
from pytest_crab.curation.oracle_writing import read_oracle
from pytest_crab.curation.stages import CurationContext
from pytest_crab.curation.stages import make_stages
from pytest_crab.curation.stages import usual_stages
from pytest_crab.curation.validation import Validation
from pytest_crab.scoring.step_cache import StepCache
from pytest_crab.settings import Settings
from pytest_crab.settings import load_settings
from pytest_crab.store import FileStore
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked
from pytest_crab.testing.provider import ScriptedProvider
from pytest_crab.testing.provider import say
from pytest_crab.types import CandidateComment
from pytest_crab.types import Comment
from pytest_crab.types import Environment
from pytest_crab.types import GitSource
from pytest_crab.types import Kind
from pytest_crab.types import PullCandidate
from pytest_crab.types import PullRequestFacts

HEAD = "def price(count):\n    return 100 if count < 11 else 90\n"
FIX = "def price(count):\n    return 100 if count < 10 else 90  # the edge\n"
GREEN = "from shop import price\n\n\ndef test_many():\n    assert price(11) == 90\n"
RIGHT = "from shop import price\n\n\ndef test_edge():\n    assert (price(9), price(10), price(11)) == (100, 90, 90)\n"
CRAB = """\
models:
  providers: {{local: {{base_url: '{url}', api: openai}}}}
  retries: 0
agents:
  reader: {{use: command, command: [{python}, agent.py], files: [agent.py]}}
curate:
  oracles: {{model: m, provider: local}}
"""
AGENT = """\
import json, pathlib, sys
(finding,) = json.load(sys.stdin)["findings"]
shop = pathlib.Path("shop.py")
shop.write_text(shop.read_text().replace("11", "10" if "ten" in finding["body"] else "12"))
print("{}")
"""


def answer(source: str) -> Reply:
    return say(f"kind: behavioral\n\n```python\n{source}```\n", pieces=1)


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedProvider]:
    """A model whose first oracle is green at head, and whose second one is right."""
    monkeypatch.chdir(tmp_path)
    with ScriptedProvider() as provider:
        provider.script = lambda asked: answer(RIGHT if asked.turn else GREEN)
        (tmp_path / "agent.py").write_text(AGENT)
        (tmp_path / "crab.yaml").write_text(CRAB.format(url=provider.openai_url, python=sys.executable))
        yield provider


@pytest.fixture
def candidate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PullCandidate:
    """A pull request whose comment was answered in the next commit."""
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))
    folder = tmp_path / "mirror" / "owner" / "shop"
    folder.mkdir(parents=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    def git(*arguments: str) -> str:
        argv = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
        return subprocess.run(argv, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    shas = []
    for text in ("", HEAD, FIX):
        (folder / "shop.py").write_text(text)
        git("add", ".")
        git("commit", "--quiet", "-m", "x")
        shas.append(git("rev-parse", "HEAD"))
    comment = Comment(id="c0", path="shop.py", lines=(2, 2), body="From ten on, I thought?")
    url = "https://git.example/owner/shop"
    return PullCandidate(
        id="owner__shop-7",
        origin="git",
        repo="owner/shop",
        pull_request=PullRequestFacts(number=7, title="Prices", body="", url=f"{url}/pull/7"),
        license="MIT",
        source=GitSource(url=url, base=shas[0], head=shas[1], merged=shas[2]),
        diff=git("diff", shas[0], shas[1]),
        comments=(CandidateComment(comment=comment),),
        environment=Environment(dockerfile="python", packages=("pytest==8.3.4",), paths=(".",), timeout=60),
    )


@pytest.fixture
def context(tmp_path: Path, provider: ScriptedProvider) -> Iterator[CurationContext]:
    store = FileStore(tmp_path / ".crab")
    with proving_context("local", tmp_path / ".crab", load_settings(Path.cwd())) as shared:
        cache = StepCache(store=store)

        def judge(name: str) -> None:
            raise AssertionError(name)

        yield CurationContext(cache=cache, folder=store.cache, judge=judge, proving=lambda: shared)  # type: ignore[arg-type]


def writing(regime: Regime, attempts: int = 3) -> OracleWriting:
    return OracleWriting(model="m", provider="local", regime=regime, attempts=attempts)


def texts(asked: Asked) -> list[str]:
    return [message["content"] for message in asked.body["messages"] if message["role"] == "user"]


@pytest.mark.bubblewrap
def test_a_failure_goes_back_and_the_proved_oracle_is_kept_with_its_regime(
    provider: ScriptedProvider, candidate: PullCandidate, context: CurationContext
) -> None:
    found = writing(Regime.SAW_FIX).run(candidate, context)
    assert isinstance(found, PullCandidate)
    (one,) = found.comments
    assert one.comment.kind is Kind.BEHAVIORAL
    assert one.comment.labels == {REGIME: "saw-fix", ATTEMPTS: "2"}
    assert found.files == {"oracles/test_c0.py": RIGHT}
    first, second = provider.asked
    assert "# the edge" in texts(first)[0]
    assert "the oracle is green at head" in texts(second)[1]
    # Asked again, everything is stored; a run that is killed between two attempts pays for none twice.
    assert writing(Regime.SAW_FIX, attempts=5).run(candidate, context) == found
    assert len(provider.asked) == 2
    blind = writing(Regime.FROM_COMMENT).run(candidate, context)
    assert isinstance(blind, PullCandidate)
    assert blind.comments[0].comment.labels[REGIME] == "from-comment"
    assert not any("# the edge" in text for asked in provider.asked[2:] for text in texts(asked))
    short = writing(Regime.SAW_FIX, attempts=1).run(candidate, context)
    assert isinstance(short, PullCandidate)
    assert short.dropped == {"c0": "no oracle in 1 attempts"}
    for body, mark in {"From ten on, I thought?": "solved", "Hm.": "unsolved"}.items():
        comment = dataclasses.replace(one.comment, body=body)
        asked = dataclasses.replace(found, comments=(dataclasses.replace(one, comment=comment),))
        validated = Validation(agent="reader", attempts=2).run(asked, context)
        assert isinstance(validated, PullCandidate)
        assert validated.comments[0].comment.labels["solved"] == mark


def test_an_answer_without_a_block_is_no_oracle() -> None:
    assert read_oracle("I would rather not.").source is None
    assert read_oracle(f"kind: structural\n```python\n{RIGHT}```").kind is Kind.STRUCTURAL
    assert read_oracle(f"```python\nold\n```\n```python\n{RIGHT}```").source == RIGHT


@pytest.mark.usefixtures("provider")
def test_stages_that_ask_run_where_crab_yaml_has_them() -> None:
    assert "oracles" not in usual_stages(Settings(folder=Path.cwd()))
    settings = load_settings(Path.cwd())
    names = usual_stages(settings)
    assert "oracles" in names
    assert "validate" not in names
    assert [stage.name for stage in make_stages(names, settings)] == names[1:]
