"""What a project's tests need, in each notation."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_crab.ecosystems.python import test_requirements

GROUPS = """\
[project]
name = "My.Shop"
[dependency-groups]
docs = ["pages"]
mocks = ["pytest-mock"]
test = ["my-shop[all]", "far @ https://git.example/far.zip", {include-group = "mocks"}]
dev = ["tox>=4", {include-group = "test"}]
"""
POETRY = """\
[tool.poetry]
name = "shop"
[tool.poetry.dev-dependencies]
old = "*"
[tool.poetry.group.docs.dependencies]
pages = "1"
[tool.poetry.group.test.dependencies]
major = "^1.2"
zero = "^0.2.3"
minor = "~1.2"
exact = "3.1"
range = ">=1,<3"
extra = {version = "^2", extras = ["a", "b"], markers = "python_version > '3'"}
near = {path = "../near"}
"""
PDM = '[tool.pdm.dev-dependencies]\ntest = ["a", "-e file:///b"]\nlint = ["c"]\n'
UV = '[tool.uv]\ndev-dependencies = ["a"]\n'
HATCH = """\
[tool.hatch.envs.default]
dependencies = ["a"]
[tool.hatch.envs.hatch-test]
extra-dependencies = ["b"]
[tool.hatch.envs.docs]
dependencies = ["c"]
"""
TOX = "[testenv]\ndeps =\n  a>1\n  -rrequirements.txt\n  py39: b\n  {[base]deps}\n  .[test]\n"


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("pyproject.toml", GROUPS, {"pytest-mock", "tox>=4"}),
        (
            "pyproject.toml",
            POETRY,
            {
                "old", "major>=1.2,<2", "zero>=0.2.3,<0.3", "minor>=1.2,<1.3", "exact==3.1", "range>=1,<3",
                "extra[a,b]>=2,<3; python_version > '3'",
            },
        ),
        ("pyproject.toml", PDM, {"a"}),
        ("pyproject.toml", UV, {"a"}),
        ("pyproject.toml", HATCH, {"a", "b"}),
        ("tox.ini", TOX, {"a>1"}),
        ("pyproject.toml", "[tool]\npoetry = 3\n[dependency-groups]\ntest = 'a'\n", set()),
    ],
)  # fmt: skip
def test_requirements_of_tests(tmp_path: Path, name: str, text: str, found: set[str]) -> None:
    (tmp_path / name).write_text(text)
    assert set(test_requirements.requirements(tmp_path)) == found


def test_what_is_for_tests_alone_comes_without_development(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(GROUPS)
    assert test_requirements.requirements(tmp_path, tests_alone=True) == ("pytest-mock",)
    assert "dev" not in test_requirements.extras(tmp_path, tests_alone=True)


def test_extras_for_tests_are_found_by_name(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project.optional-dependencies]\ntest-all = []\nspeed = []\n")
    (tmp_path / "setup.cfg").write_text("[options.extras_require]\nunit = mock\n")
    assert test_requirements.extras(tmp_path)[4:] == ("test-all", "unit")
