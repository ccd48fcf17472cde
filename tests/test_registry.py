"""Benchmarks are found by entry points: the core names none, and works without any that is taken away."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.registry import GROUP, Benchmark, Members, benchmarks, default_scorers, load

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pytest_crab"
OURS = sorted(path.parent.name for path in PACKAGE.glob("benchmarks/*/__init__.py"))
#: A benchmark's name, however it is spelled: SWE-PRBench, swe_prbench, SwePrbench.
NAMED = re.compile("|".join(rf"(?<![a-z]){'[-_ ]?'.join(name)}" for name in OURS), re.IGNORECASE)


def core() -> Iterator[tuple[str, Path]]:
    """Every file of the core, with its place in the package."""
    for path in sorted(PACKAGE.rglob("*")):
        place = path.relative_to(PACKAGE).as_posix()
        if path.is_file() and not place.startswith("benchmarks/") and path.suffix != ".pyc":
            yield place, path


def words_of(source: str) -> Iterator[str]:
    """The identifiers and strings of a module, its docstrings left out."""
    tree = ast.parse(source)
    docstrings = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, str) and id(node) not in docstrings and name != "type_comment":
                yield value


def test_the_core_names_no_benchmark() -> None:
    found = {}
    for place, path in core():
        text = path.read_text("utf-8", "replace")
        words = words_of(text) if path.suffix == ".py" else text.split("\n")
        named = [word for word in (place, *words) if NAMED.search(word)]
        if named:
            found[place] = named
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "from pytest_crab.benchmarks.martian import reader",
        "import pytest_crab.benchmarks.ccrab",
        "def read_swe_prbench(): ...",
        "class CrBenchJudge: ...",
        "help = 'as AACR-Bench does'",
        "f'{x} of c-CRAB'",
        "swecare.read",
        "def f(bcbench): ...",
    ],
)
def test_a_name_is_seen_wherever_it_stands(source: str) -> None:
    assert any(map(NAMED.search, words_of(source)))


@pytest.mark.parametrize(
    "source", ['"""As c-CRAB (arXiv 2603.23448) does."""', "import pytest_crab", "crab = 'crab.yaml'"]
)
def test_a_docstring_may_cite_a_paper(source: str) -> None:
    assert not any(map(NAMED.search, words_of(source)))


def test_ours_are_registered_like_anybodys() -> None:
    assert list(benchmarks()) == OURS
    for benchmark in benchmarks().values():
        targets = (benchmark.recorded, benchmark.candidates)
        commands = (command.target for command in benchmark.commands.values())
        for target in (*filter(None, targets), *commands, *benchmark.judges.values(), *benchmark.scorers.values()):
            assert callable(load(target))
        assert set(benchmark.default_scorers) <= set(benchmark.scorers)
    assert default_scorers() == ("refinement",)


@pytest.fixture
def register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """``register(entry, source)`` installs a distribution with this entry and with a module ``made_up``."""

    def make(entry: str, source: str) -> None:
        (tmp_path / "made_up.py").write_text(source)
        info = tmp_path / "made_up-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made-up\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[{GROUP}]\n{entry}\n")
        monkeypatch.syspath_prepend(tmp_path)
        benchmarks.cache_clear()

    yield make
    benchmarks.cache_clear()
    sys.modules.pop("made_up", None)


def test_one_whose_module_is_gone_is_left_out(register: Callable[[str, str], None]) -> None:
    register("gone = no_such_module.below:BENCHMARK", "")
    assert list(benchmarks()) == OURS


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_module_either", "No module named 'no_such_module_either'"),
        ("", "has no attribute 'BENCHMARK'"),
        ("BENCHMARK = 3", "it is a int and no Benchmark"),
    ],
)
def test_one_that_is_broken_is_one_sentence(register: Callable[[str, str], None], source: str, said: str) -> None:
    register("broken = made_up:BENCHMARK", source)
    with pytest.raises(BadInput) as raised:
        benchmarks()
    assert said in str(raised.value)
    assert str(raised.value).startswith("benchmark broken: made_up:BENCHMARK cannot be used")


def test_a_table_looks_for_benchmarks_only_where_its_own_names_do_not_do(register: Callable[[str, str], None]) -> None:
    register("tiny = made_up:BENCHMARK", "import no_such_module_either")
    table = Members({"own": "module:Own"}, lambda benchmark: benchmark.judges, str)
    assert table["own"] == "module:Own"
    with pytest.raises(BadInput):
        table["other"]


def test_a_table_has_its_own_members_and_those_of_benchmarks() -> None:
    table = Members({"own": "module:Own"}, lambda benchmark: benchmark.judges, str)
    offered = {name: target for one in benchmarks().values() for name, target in one.judges.items()}
    assert offered
    assert dict(table) == {"own": "module:Own", **offered}
    assert ("nobody" in table, len(table)) == (False, len(offered) + 1)
    assert isinstance(benchmarks()[OURS[0]], Benchmark)


@pytest.mark.slow(reason="a copy of the package collects and measures a set of its own")
@pytest.mark.bubblewrap
def test_without_two_of_them_everything_else_works(tmp_path: Path) -> None:
    """Their folders are deleted from a copy of the package, and nothing else is changed."""
    gone = ("martian", "sweprbench")
    site = tmp_path / "site"
    shutil.copytree(PACKAGE, site / "pytest_crab", ignore=shutil.ignore_patterns("__pycache__"))
    for name in gone:
        shutil.rmtree(site / "pytest_crab" / "benchmarks" / name)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRAB_", "PYTEST_"))}
    env = {**kept, "PYTHONPATH": str(site), "CRAB_RUNTIME": "local", "CRAB_PROOF_RUNS": "1", "HOME": str(tmp_path)}
    python = [sys.executable, "-P"] if sys.version_info >= (3, 11) else [sys.executable]

    def call(*words: str, status: int = 0) -> str:
        done = subprocess.run([*python, *words], cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    cli = ("-c", "from pytest_crab.cli import main; main()")
    imported = call("-c", IMPORT_ALL).split()
    assert imported[0] == str(site / "pytest_crab" / "__init__.py")
    assert len(imported) > 400
    assert "benchmark" in call(*cli, "--help")
    offering = call(*cli, "benchmark", "--help")
    found = [name for name in OURS if re.search(rf"^ +{name} ", offering, re.MULTILINE)]
    assert found == ["aacr", "ccrab", "codereviewqa", "swebench", "swecare"]
    shutil.copytree(ROOT / "instances" / "quickstart", tmp_path / "first")
    run = ("-m", "pytest", "--reviewer=none", "first/ledger-8-csv-import", "-p", "no:hypothesispytest")
    assert "0/2" in call(*run, status=1)
    assert "none: 0.0% (0 of 2 oracles caught" in call(*cli, "report")


IMPORT_ALL = """
import importlib, pkgutil, pytest_crab
print(pytest_crab.__file__)
for found in pkgutil.walk_packages(pytest_crab.__path__, "pytest_crab."):
    if ".inside" not in found.name:
        print(importlib.import_module(found.name).__name__)
"""
