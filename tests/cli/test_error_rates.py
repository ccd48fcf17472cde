"""error-rates: near misses, mutants and right fixes against real oracles, and what of it reaches the record."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.instances import load_instance
from pytest_crab.instances.oracle_errors import rates_of

pytest.importorskip("tree_sitter", reason="mutants need the extra mutation")

INSTANCE = """\
schema: 1
id: shop-1
provenance: authored
repo: owner/shop
license: MIT
pull_request: {number: 7, title: Add a discount}
source:
  tree: {path: tree, head: head.diff, reference: reference.diff}
environment: {dockerfile: python, timeout: 60}
comments:
  - {id: c0, path: shop.py, body: Ten or more., category: functional, kind: behavioral, oracle: oracles/test_c0.py}
pass_to_pass: [python, check.py]
"""
CODE = "def price(count):\n    rate = 10\n    if count {}:\n        return 100 - rate\n    return 100\n"
CHANGE = "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -1,5 +1,5 @@\n{}"
#: Sees neither nine nor ten, so that a wrong edge passes.
LOOSE = "from shop import price\n\n\ndef test_many():\n    assert (price(11), price(1)) == (90, 100)\n"
STRICT = "from shop import price\n\n\ndef test_edge():\n    assert [price(n) for n in (1, 9, 10)] == [100, 100, 90]\n"


def diff(before: str, after: str) -> str:
    old, new = (CODE.format(sign).splitlines() for sign in (before, after))
    lines = []
    for one, other in zip(old, new, strict=True):
        lines += [f" {one}"] if one == other else [f"-{one}", f"+{other}"]
    return CHANGE.format("".join(f"{line}\n" for line in lines))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One instance; the project's own check knows the edge, which its oracle does not."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "set" / "shop-1"
    (folder / "oracles").mkdir(parents=True)
    (folder / "tree").mkdir()
    (folder / "tree" / "shop.py").write_text(CODE.format("> 99"))
    (folder / "tree" / "check.py").write_text("from shop import price\nassert price(0) == 100 != price(100)\n")
    (folder / "head.diff").write_text(diff("> 99", "> 50"))
    (folder / "reference.diff").write_text(diff("> 50", ">= 10"))
    (folder / "oracles" / "test_c0.py").write_text(LOOSE)
    (folder / "instance.yaml").write_text(INSTANCE)
    for place, sign in {"near": "> 10", "fixes": "> 9"}.items():
        (tmp_path / place / "shop-1").mkdir(parents=True)
        (tmp_path / place / "shop-1" / "c0-edge.diff").write_text(diff("> 50", sign))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["error-rates", "set", "--runtime=local", *arguments], catch_exceptions=False)


@pytest.mark.bubblewrap
def test_a_loose_oracle_accepts_and_a_sharp_one_refuses() -> None:
    loose = run("--near-misses=near", "--right-fixes=fixes")
    assert loose.exit_code == 0
    assert "shop-1: c0 accepts c0-edge" in loose.output
    assert "false accepts, near misses: 100.0% (1 of 1)" in loose.output
    assert "false rejects, right fixes: 0.0% (0 of 1)" in loose.output
    record = json.loads(Path("set/oracle-errors.json").read_text())["instances"]["shop-1"]["c0"]["measurements"]
    assert record["near misses"]["wrong"] == ["c0-edge"]
    doubts = record["mutants"]["undecided"]
    assert {name.split("-")[0] for name in doubts} == {"operator", "number"}
    assert record["mutants"]["total"] > len(doubts)
    decided = CliRunner().invoke(main, ["error-rates", "set/shop-1:c0", f"--decide={doubts[0]}=wrong"])
    assert decided.output == "1 decision recorded\n"
    Path("set/shop-1/oracles/test_c0.py").write_text(STRICT)
    strict = run("--near-misses=near", "--right-fixes=fixes")
    assert "false accepts, near misses: 0.0% (0 of 1)" in strict.output
    assert "false accepts, mutants: 0.0%" in strict.output
    assert "false rejects, right fixes: 0.0% (0 of 1)" in strict.output


@pytest.mark.bubblewrap
def test_right_fixes_are_measured_beside_other_right_changes() -> None:
    folder = Path("set/shop-1")
    (folder / "tree" / "tax.py").write_text("RATE = 1\n")
    (folder / "tax.diff").write_text("--- a/tax.py\n+++ b/tax.py\n@@ -1 +1 @@\n-RATE = 1\n+RATE = 1.5\n")
    (folder / "instance.yaml").write_text(f"{INSTANCE}company: [tax.diff]\n")
    pinning = "import tax\n\n\ndef test_tax():\n    assert tax.RATE == 1\n"
    (folder / "oracles" / "test_c0.py").write_text(f"{LOOSE}\n\n{pinning}")
    result = run("--right-fixes=fixes", "--mutants=0")
    assert "false rejects, right fixes: 0.0% (0 of 1)" in result.output
    assert "false rejects, right fixes in company: 100.0% (1 of 1)" in result.output
    assert "shop-1: c0 refuses c0-edge with tax.diff" in result.output


@pytest.mark.bubblewrap
def test_the_rates_stand_in_statistics_in_records_and_in_the_gate() -> None:
    assert run("--near-misses=near", "--mutants=0", "--authors=2").exit_code == 0
    checked = CliRunner().invoke(main, ["check", "--stats", "set"])
    assert "false accepts of 1 of 1 oracles: near misses 100.0% (1 of 1) (fresh, 2 authors, 20" in checked.output
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir=.", "--reviewer=human", "set"]
    argv += ["--agent=simulated", "--crab-runtime=local", "--crab-report=out"]
    done = subprocess.run(argv, capture_output=True, text=True)
    errors = "wrong fixes accepted 100.0% (1 of 1), right ones refused not measured"
    assert f"oracles: {errors}" in done.stdout
    assert errors in Path("out/index.html").read_text()
    assert errors in Path("out/summary.md").read_text()
    record = json.loads(Path("out/trials.jsonl").read_text())
    assert record["comments"][0]["false_accept"] == {"wrong": 1, "undecided": 0, "total": 1}
    left_out = subprocess.run([*argv, "--crab-max-oracle-error=0.5"], capture_output=True, text=True)
    assert "crab: 1 instance with a false accept rate above 50.0% not counted" in left_out.stdout
    assert left_out.returncode == 5


@pytest.mark.bubblewrap
@pytest.mark.parametrize(("authors", "mended"), [("0", False), ("1", True)])
def test_after_repair_there_is_no_error_rate(authors: str, *, mended: bool) -> None:
    assert run("--near-misses=near", "--right-fixes=fixes", "--mutants=0", f"--authors={authors}").exit_code == 0
    if mended:
        Path("set/shop-1/oracles/test_c0.py").write_text(STRICT)
    instance = load_instance(Path("set/shop-1"))
    assert rates_of(instance) == {"c0": {}}
    checked = CliRunner().invoke(main, ["check", "--stats", "set"]).output
    assert ("(checks, after repair, 20" in checked) is not mended
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir=.", "--reviewer=human", "set"]
    argv += ["--agent=simulated", "--crab-runtime=local"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert "oracles: error rates not measured" in done.stdout
    assert "wrong fixes accepted" not in done.stdout


def test_a_diff_that_does_not_apply_is_named(here: Path) -> None:
    (here / "near" / "shop-1" / "c0-other.diff").write_text(diff("> 7", "> 8"))
    result = run("--near-misses=near", "--mutants=0", "--no-write")
    assert result.exit_code == 1
    assert "near/shop-1/c0-other.diff does not apply to head" in result.output
    assert not Path("set/oracle-errors.json").exists()
