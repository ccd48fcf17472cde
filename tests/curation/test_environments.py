"""The stage that finds an environment: the ladder, and behind it a scripted model whose recipes are verified."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.curation.environments import SOURCE, UNTESTED, EnvironmentFinding, read_recipe
from pytest_crab.curation.oracle_writing import OracleWriting
from pytest_crab.curation.stages import CurationContext
from pytest_crab.testing.provider import ScriptedProvider, say
from pytest_crab.types import PullCandidate

PRICE = "def price(count):\n    return {}\n"
TEST = "from shop import price\n\n\ndef test_price():\n    assert price(1) == 100\n"
COMMAND = {"test": ["python", "-m", "pytest", "-q", "--junitxml=out.xml", "test_shop.py"], "report": "out.xml"}


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as provider:
        yield provider


def pull(reviewed: Callable[..., PullCandidate], name: str, start: str, right: str = "100") -> PullCandidate:
    """A pull request with a test, on a module that begins with this text."""
    changed = ({"shop_py": start + PRICE.format(number), "test_shop_py": TEST} for number in (right, f"{right} + 0"))
    return reviewed({"shop_py": "", "test_shop_py": ""}, *changed, name=name)


def recipes(provider: ScriptedProvider, *answers: dict[str, Any]) -> None:
    texts = [f"```json\n{json.dumps(one)}\n```" for one in answers]
    provider.script = lambda asked: say(texts[asked.turn], pieces=1)


@pytest.mark.slow(reason="environments are built from a package index, one after the other")
@pytest.mark.bubblewrap
@pytest.mark.usefixtures("needs_an_index")
def test_the_ladder_comes_first_and_then_recipes_whose_faults_go_back(
    provider: ScriptedProvider,
    reviewed: Callable[..., PullCandidate],
    proving: Callable[[str], CurationContext],
) -> None:
    context = proving(provider.openai_url)
    idle = {**COMMAND, "test": ["python", "-c", "pass"], "env": {"SHOP_HOME": "/srv"}}
    right = {**COMMAND, "requirements": ["inflection"], "env": {"SHOP_HOME": "/srv"}}
    recipes(provider, idle, right)
    stage = EnvironmentFinding(model="m", provider="local")
    by_ladder = stage.run(pull(reviewed, "one", ""), context)
    assert isinstance(by_ladder, PullCandidate)
    assert by_ladder.environment is not None
    assert by_ladder.environment.resolved is not None
    assert (by_ladder.tags[SOURCE], by_ladder.pass_to_pass[-1], by_ladder.flags) == ("bare", "test_shop.py", ())
    assert not provider.asked
    candidate = pull(reviewed, "two", "import os\nHOME = os.environ['SHOP_HOME']\n")
    found = stage.run(candidate, context)
    assert isinstance(found, PullCandidate)
    assert found.environment is not None
    assert (found.tags[SOURCE], found.pass_to_pass) == ("recipe", tuple(COMMAND["test"]))
    assert found.environment.env == {"SHOP_HOME": "/srv"}
    assert found.environment.resolved is not None
    assert any(pin.startswith("inflection==") for pin in found.environment.packages)
    first, second = ([m["content"] for m in one.body["messages"]] for one in provider.asked)
    assert "KeyError: 'SHOP_HOME'" in first[-1]  # the last line of what the import says, and of the tests
    assert "ERROR test_shop.py" in first[-1]
    assert "NoReportWritten" in second[-1]
    # A script outside of packages, the pages' settings and setup.py are no modules that have to be imported.
    stop = "raise SystemExit(3)\n"
    beside = (dict.fromkeys(("tools__run_py", "docs__conf_py", "setup_py"), stop + f"n = {n}\n") for n in range(3))
    texts = zip(beside, (PRICE.format(number) for number in ("0", "1", "2")), strict=True)
    with_scripts = reviewed(*({**scripts, "shop_py": text} for scripts, text in texts), name="four")
    held = EnvironmentFinding().run(with_scripts, context)
    assert isinstance(held, PullCandidate)
    assert (held.tags[SOURCE], held.flags) == ("bare", ())
    # Tests that fail are a doubt, no rejection.
    doubtful = EnvironmentFinding().run(pull(reviewed, "three", "", right="0"), context)
    assert isinstance(doubtful, PullCandidate)
    assert (doubtful.flags, doubtful.pass_to_pass) == ((UNTESTED,), ())


@pytest.mark.slow(reason="environments are built, one after the other")
@pytest.mark.bubblewrap
@pytest.mark.usefixtures("needs_an_index")
def test_groups_bring_the_plugins_that_the_projects_own_tests_load(
    reviewed: Callable[..., PullCandidate], proving: Callable[[str], CurationContext]
) -> None:
    manifest = "[project]\nname = 'shop'\nversion = '1'\n[dependency-groups]\ntest = ['pytest-mock']\n"
    test = "import shop\n\n\ndef test_price(mocker):\n    assert mocker.spy(shop, 'price')(1) == 1\n"
    states = [{"shop_py": PRICE.format(f"count + {n} - {n}"), "test_shop_py": f"{test}# {n}\n"} for n in range(3)]
    candidate = reviewed(*({**state, "pyproject.toml": manifest} for state in states))
    found = EnvironmentFinding().run(candidate, proving("http://127.0.0.1:9"))
    assert isinstance(found, PullCandidate)
    assert (found.tags[SOURCE], found.pass_to_pass[-1], found.flags) == ("tests", "test_shop.py", ())


@pytest.mark.parametrize(
    ("answer", "telling"),
    [
        ("python 3.8 should do", "no block"),
        ("```json\n{]\n```", "no JSON"),
        ({"test": ["pytest"]}, "report"),
        ({**COMMAND, "requirements": ["shop @ https://git.example/shop.zip"]}, "address"),
        ({**COMMAND, "requirements": ["--index-url=https://git.example"]}, "requirements"),
        ({**COMMAND, "files": ["../../secrets.txt"]}, "path in the project"),
        ({**COMMAND, "parser": "re.findall"}, "parser"),
    ],
)
def test_what_is_no_recipe_is_told_to_the_model(answer: Any, telling: str) -> None:
    text = answer if isinstance(answer, str) else f"```json\n{json.dumps(answer)}\n```"
    found = read_recipe(text)
    assert isinstance(found, str)
    assert telling in found


def test_another_endpoint_decides_nothing_where_no_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ready").mkdir()
    seen = []
    for port in (1, 2):
        Path("crab.yaml").write_text(f"models:\n  providers: {{anthropic: {{base_url: 'http://127.0.0.1:{port}'}}}}\n")
        stages = (EnvironmentFinding(), OracleWriting(ready="ready"), EnvironmentFinding(model="m"))
        seen.append([one.identity() for one in (*stages, OracleWriting(ready="ready", model="m"))])
    assert [before == after for before, after in zip(*seen, strict=True)] == [True, True, False, False]
