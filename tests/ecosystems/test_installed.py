"""Ecosystems that another package brings."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_crab import ecosystems
from pytest_crab.errors import BadInput
from pytest_crab.types import Environment

MODULE = """
from pytest_crab.ecosystems.contract import Spelling
from pytest_crab.ecosystems.go import Go


class Lisp(Go):
    name = "lisp"
    languages = {".lisp": "lisp"}
    runners = {"five-am": Spelling(r"[.]lisp", ".lisp")}


LISP = Lisp()
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with an ecosystem of its own that is installed for a while."""
    found = tmp_path / "lisp_1.dist-info"
    found.mkdir()
    (found / "METADATA").write_text("Name: lisp-crab\nVersion: 1\n")
    (found / "entry_points.txt").write_text("[pytest_crab.ecosystems]\nlisp = crab_lisp:LISP\n")
    (tmp_path / "crab_lisp.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    ecosystems.installed.cache_clear()
    yield tmp_path
    sys.modules.pop("crab_lisp", None)
    ecosystems.installed.cache_clear()


def test_one_is_found_by_its_name_its_runner_and_its_language(package: Path) -> None:
    lisp = ecosystems.ecosystem_of(Environment(ecosystem="lisp", version="2"))
    assert lisp.name == "lisp"
    assert ecosystems.of_runner("five-am") is lisp
    assert ecosystems.of_language("lisp") is lisp


def test_one_that_cannot_be_imported_is_said_in_a_sentence(package: Path) -> None:
    (package / "crab_lisp.py").write_text("import not_there\n")
    with pytest.raises(BadInput, match="crab_lisp:LISP cannot be used"):
        ecosystems.of_runner("five-am")


def test_an_unknown_name_is_said_with_those_that_there_are() -> None:
    (fault,) = ecosystems.environment_faults(Environment(ecosystem="cobol", version="1"))
    assert fault.startswith("environment.ecosystem is 'cobol'; it should be one of python, node, go, rust")
    with pytest.raises(BadInput, match="cobol"):
        ecosystems.ecosystem_of(Environment(ecosystem="cobol"))
