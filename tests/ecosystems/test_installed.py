"""Ecosystems that another package brings."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_crab import ecosystems
from pytest_crab.errors import BadInput
from pytest_crab.instances.index import Index
from pytest_crab.instances.validation import variable_faults
from pytest_crab.runtimes.images import find_dockerfile, wanted_bases
from pytest_crab.types import Environment

MODULE = """
from pytest_crab.ecosystems.contract import Names, Spelling
from pytest_crab.ecosystems.go import Go
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.ecosystems.toolchain import Tools


class LispTools(Tools):
    name = "lisp"
    program = "no-such-lisp"
    public_base = "lisp:{version}"
    usual = "2"


class Lisp(Go):
    name = "lisp"
    languages = {".lisp": "lisp"}
    runners = {"five-am": Spelling(r"[.]lisp", ".lisp")}
    leftovers = Patterns(names=("*.fasl",))
    system_packages = ("/usr/share/common-lisp/*",)
    names = Names(variables="QUICKLISP_.*")
    dockerfile = "FROM lisp"
    tools = LispTools()


LISP = Lisp()
"""

INSTANCE = """\
schema: 1
id: one
provenance: authored
repo: owner/name
license: MIT
pull_request: {number: 1, title: First}
source: {snippet: {head: head.lisp, reference: fixed.lisp}}
environment: {ecosystem: lisp, version: "1.26"}
comments:
  - id: c0
    path: a.lisp
    body: No.
    category: design
    kind: behavioral
    oracle: {file: oracles/test_c0.lisp, runner: five-am}
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
    _forget()
    yield tmp_path
    sys.modules.pop("crab_lisp", None)
    _forget()


def _forget() -> None:
    ecosystems.installed.cache_clear()
    ecosystems.leftover_patterns.cache_clear()


def test_one_is_found_by_its_name_its_runner_and_its_language(package: Path) -> None:
    lisp = ecosystems.ecosystem_of(Environment(ecosystem="lisp", version="2"))
    assert lisp.name == "lisp"
    assert ecosystems.of_runner("five-am") is lisp
    assert ecosystems.of_language("lisp") is lisp


def test_its_files_variables_and_packages_count_as_those_of_any_language(package: Path) -> None:
    assert re.search(ecosystems.leftover_patterns().expression, "src/cart.fasl")
    assert "/usr/share/common-lisp/*" in ecosystems.system_packages()
    (fault,) = variable_faults("environment.env", {"QUICKLISP_HOME": "/tmp", "CART": "1"})
    assert fault.startswith("environment.env.QUICKLISP_HOME belongs to the harness")


def test_its_dockerfile_is_found_after_that_of_the_run(package: Path, tmp_path: Path) -> None:
    assert find_dockerfile("lisp", tmp_path) == "FROM lisp"
    (tmp_path / "dockerfiles").mkdir()
    (tmp_path / "dockerfiles" / "lisp.Dockerfile").write_text("FROM mine")
    assert find_dockerfile("lisp", tmp_path) == "FROM mine"


def test_no_base_is_advised_that_its_tools_cannot_make(package: Path) -> None:
    assert wanted_bases(Environment(ecosystem="lisp", version="2"), "python:{python}") == ["lisp:2"]
    assert wanted_bases(Environment(ecosystem="go", version="2"), "python:{python}") == ["golang:2", "pytest-crab-go:2"]


def test_an_instance_is_read_anew_once_its_package_says_something_else(package: Path, tmp_path: Path) -> None:
    (tmp_path / "one" / "oracles").mkdir(parents=True)
    (tmp_path / "one" / "oracles" / "test_c0.lisp").write_text("(test c0)")
    for name in ("head.lisp", "fixed.lisp"):
        (tmp_path / "one" / name).write_text("(list)")
    file = tmp_path / "one" / "instance.yaml"
    file.write_text(INSTANCE)
    index = Index()
    assert index.load(file).id == "one"
    shutil.rmtree(package / "lisp_1.dist-info")
    _forget()
    with pytest.raises(BadInput, match="lisp"):
        Index(index.dump()).load(file)


def test_one_that_cannot_be_imported_is_said_in_a_sentence(package: Path) -> None:
    (package / "crab_lisp.py").write_text("import not_there\n")
    with pytest.raises(BadInput, match="crab_lisp:LISP cannot be used"):
        ecosystems.of_runner("five-am")


def test_an_unknown_name_is_said_with_those_that_there_are() -> None:
    (fault,) = ecosystems.environment_faults(Environment(ecosystem="cobol", version="1"))
    assert fault.startswith("environment.ecosystem is 'cobol'; it should be one of python, node, go, rust")
    with pytest.raises(BadInput, match="cobol"):
        ecosystems.ecosystem_of(Environment(ecosystem="cobol"))
