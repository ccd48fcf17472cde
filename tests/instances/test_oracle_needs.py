"""An oracle is alone in its file: what it takes from elsewhere is named with the remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crab.instances import load_instance
from pytest_crab.instances.oracle_needs import outside_needs


@pytest.fixture
def needs(write_instance: Callable[..., Path]) -> Callable[[str], list[str]]:
    """What the oracle of a loaded instance takes from outside, with this source."""
    instance = load_instance(write_instance("a"))
    comment = instance.with_oracles[0]

    def found(source: str, *plugins: str) -> list[str]:
        Path(instance.folder, comment.required_oracle.file).write_text(source)
        oracle = replace(comment.required_oracle, plugins=plugins)
        return list(outside_needs(instance, replace(comment, oracle=oracle)))

    return found


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def test_a(client, tmp_path):\n    assert client\n", "the fixture client"),
        ("class TestA:\n    def test_a(self, client):\n        assert client\n", "the fixture client"),
        ("import pytest\n@pytest.mark.parametrize('n', [1])\ndef test_a(n, client): ...\n", "the fixture client"),
        ("from pathlib import Path\nDATA = Path(__file__).parent / 'data.json'\ndef test_a(): ...\n", "beside itself"),
        ("from tests.helpers import shop\ndef test_a(): ...\n", "imports tests.helpers"),
        ("import conftest\ndef test_a(): ...\n", "imports conftest"),
        ("from test_shop import make\ndef test_a(): ...\n", "imports test_shop"),
    ],
)
def test_what_comes_from_elsewhere_is_named(needs: Callable[..., list[str]], source: str, said: str) -> None:
    (sentence,) = needs(source)
    assert said in sentence


@pytest.mark.parametrize(
    "source",
    [
        "def test_a(tmp_path, monkeypatch, capsys): ...\n",
        "import pytest\n@pytest.fixture\ndef shop(): ...\ndef test_a(shop): ...\n",
        "import pytest\n@pytest.fixture(name='shop')\ndef _shop(): ...\ndef test_a(shop): ...\n",
        "from shop.testing import client\ndef test_a(client): ...\n",
        "from shop.testing import *\ndef test_a(client): ...\n",
        "pytest_plugins = ['shop.testing']\ndef test_a(client): ...\n",
        "import pytest\n@pytest.mark.parametrize(('a', 'b'), [(1, 2)])\ndef test_a(a, b, c=3): ...\n",
        "import pytest\nNAMES = 'a'\n@pytest.mark.parametrize(NAMES, [1])\ndef test_a(a): ...\n",
        "from unittest import mock\n@mock.patch('os.remove')\ndef test_a(remove): ...\n",
        "from hypothesis import given, strategies\n@given(strategies.text())\ndef test_a(text): ...\n",
        "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self, given): ...\n",
        "from shop.tests import helpers\nfrom testing import x\ndef test_a(): ...\n",
        "def test_a(:\n",
        "import pytest\npytestmark = pytest.mark.parametrize('n', [1])\ndef test_a(n): ...\n",
        "import pytest\nclass TestA:\n  pytestmark = pytest.mark.parametrize('n', [1])\n  def test_a(self, n): ...\n",
        "import pytest\n@pytest.mark.parametrize(argnames='n', argvalues=[1])\ndef test_a(n): ...\n",
        "import pytest\n@pytest.mark.parametrize({[]: 1}, [1])\ndef test_a(n): ...\n",
        "def pytest_generate_tests(metafunc): ...\ndef test_a(n): ...\n",
        f"def test_a():\n    assert {'-' * 100_000}1\n",
    ],
)
def test_what_may_be_right_is_not(needs: Callable[..., list[str]], source: str) -> None:
    assert needs(source) == []


def test_a_plugin_of_the_environment_may_bring_any_fixture(needs: Callable[..., list[str]]) -> None:
    assert needs("def test_a(mocker): ...\n", "pytest-mock") == []
