"""error-rates: near misses, mutants and right fixes against real oracles, and what of it reaches the record."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.instances import load_instance
from pytest_crab.instances.oracle_errors import facts_of

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
CHECKS = f"checks, after repair, {datetime.datetime.now(datetime.timezone.utc).date()}"
STRICT = (
    "from shop import price\n\n\ndef test_edge():\n    assert [*map(price, (1, 9, 10, 11))] == [100, 100, 90, 90]\n"
)


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
    return CliRunner().invoke(
        main, ["set", "error-rates", "set", "--runtime=local", *arguments], catch_exceptions=False
    )


def row(result: Result, source: str) -> list[str]:
    """The cells of the table's row on a source of changes."""
    rows = [re.split(r"\s{2,}", line) for line in result.output.splitlines()]
    (found,) = (cells for cells in rows if source in cells)
    return found


@pytest.mark.slow(reason="a set is measured twice")
@pytest.mark.bubblewrap
def test_a_loose_oracle_accepts_and_a_sharp_one_refuses() -> None:
    loose = run("--near-misses=near", "--right-fixes=fixes")
    assert loose.exit_code == 0
    assert "shop-1: c0 accepts c0-edge" in loose.output
    assert row(loose, "near misses") == ["false accepts", "near misses", "100.0% (1 of 1)", "0.0-100.0", CHECKS]
    assert row(loose, "right fixes")[:3] == ["false rejects", "right fixes", "0.0% (0 of 1)"]
    record = json.loads(Path("set/oracle-errors.json").read_text())["instances"]["shop-1"]["c0"]["measurements"]
    assert record["near misses"]["wrong"] == ["c0-edge"]
    doubts = record["mutants"]["undecided"]
    assert {name.split("-")[0] for name in doubts} == {"operator", "number"}
    assert record["mutants"]["total"] > len(doubts)
    decided = CliRunner().invoke(main, ["set", "error-rates", "set/shop-1:c0", f"--decide={doubts[0]}=wrong"])
    assert decided.output == "1 decision recorded\n"
    strange = CliRunner().invoke(main, ["set", "error-rates", "sett/shop-1:c0", f"--decide={doubts[0]}=wrong"])
    assert (strange.exit_code, "sett/shop-1" in strange.output) == (2, True)
    Path("set/shop-1/oracles/test_c0.py").write_text(STRICT)
    strict = run("--near-misses=near", "--right-fixes=fixes")
    assert row(strict, "near misses")[2] == "0.0% (0 of 1)"
    assert row(strict, "mutants")[2].startswith("0.0%")
    assert row(strict, "right fixes")[2] == "0.0% (0 of 1)"


@pytest.mark.bubblewrap
def test_right_fixes_are_measured_beside_other_right_changes() -> None:
    folder = Path("set/shop-1")
    (folder / "tree" / "tax.py").write_text("RATE = 1\n")
    (folder / "tax.diff").write_text("--- a/tax.py\n+++ b/tax.py\n@@ -1 +1 @@\n-RATE = 1\n+RATE = 1.5\n")
    (folder / "instance.yaml").write_text(f"{INSTANCE}company: [tax.diff]\n")
    pinning = "import tax\n\n\ndef test_tax():\n    assert tax.RATE == 1\n"
    (folder / "oracles" / "test_c0.py").write_text(f"{LOOSE}\n\n{pinning}")
    result = run("--right-fixes=fixes", "--mutants=0")
    assert row(result, "right fixes")[:3] == ["false rejects", "right fixes", "0.0% (0 of 1)"]
    in_company = row(result, "right fixes in company")
    assert in_company[:3] == ["false rejects in company", "right fixes in company", "100.0% (1 of 1)"]
    assert "shop-1: c0 refuses c0-edge with tax.diff" in result.output


@pytest.mark.slow(reason="a set is measured, checked and run")
@pytest.mark.bubblewrap
def test_the_rates_stand_in_statistics_in_records_and_in_the_gate() -> None:
    assert run("--near-misses=near", "--mutants=0", "--authors=2").exit_code == 0
    checked = CliRunner().invoke(main, ["set", "check", "--stats", "set"])
    assert "false accepts of 1 of 1 oracles: near misses 100.0% (1 of 1) (fresh, 2 authors, 20" in checked.output
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir=.", "--reviewer=human", "-v", "set"]
    argv += ["--agent=simulated", "--crab-runtime=local", "--crab-report=out"]
    done = subprocess.run(argv, capture_output=True, text=True)
    errors = "wrong fixes accepted 100.0% (1 of 1) (fresh, 2 authors, 20"
    assert f"oracles: {errors}" in " ".join(done.stdout.split())
    assert "right ones refused alone not measured, in company not measured" in " ".join(done.stdout.split())
    assert errors in Path("out/index.html").read_text()
    assert errors in Path("out/summary.md").read_text()
    record = json.loads(Path("out/trials.jsonl").read_text())
    rate = record["comments"][0]["false_accept"]
    assert {name: rate[name] for name in ("wrong", "undecided", "total", "authors")} == {
        "wrong": 1,
        "undecided": 0,
        "total": 1,
        "authors": 2,
    }
    left_out = subprocess.run([*argv, "--crab-max-oracle-error=0.5"], capture_output=True, text=True)
    assert "crab: 1 instance with a false accept rate above 50.0% not counted" in left_out.stdout
    assert left_out.returncode == 5


@pytest.mark.slow(reason="a set is measured, checked and run")
@pytest.mark.bubblewrap
@pytest.mark.parametrize(("authors", "mended"), [("0", False), ("1", True)])
def test_after_repair_there_is_no_error_rate(authors: str, *, mended: bool) -> None:
    assert run("--near-misses=near", "--right-fixes=fixes", "--mutants=0", f"--authors={authors}").exit_code == 0
    if mended:
        Path("set/shop-1/oracles/test_c0.py").write_text(STRICT)
    instance = load_instance(Path("set/shop-1"))
    assert set(facts_of(instance)["c0"]) == {"oracle"}
    checked = CliRunner().invoke(main, ["set", "check", "--stats", "set"]).output
    assert ("(checks, after repair, 20" in checked) is not mended
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir=.", "--reviewer=human", "-v", "set"]
    argv += ["--agent=simulated", "--crab-runtime=local"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert "oracles: error rates not measured" in done.stdout
    assert "wrong fixes accepted" not in done.stdout


def test_without_any_change_it_says_that_nothing_was_judged() -> None:
    result = run("--mutants=0", "--no-write")
    assert (result.exit_code, result.output.count("\n")) == (0, 1)
    assert result.output.startswith("no oracle was judged")


def test_a_diff_that_does_not_apply_is_named(here: Path) -> None:
    (here / "near" / "shop-1" / "c0-other.diff").write_text(diff("> 7", "> 8"))
    result = run("--near-misses=near", "--mutants=0", "--no-write")
    assert result.exit_code == 1
    assert "near/shop-1/c0-other.diff does not apply to head" in result.output
    assert not Path("set/oracle-errors.json").exists()


@pytest.mark.slow(reason="a set is measured five times")
@pytest.mark.bubblewrap
def test_authors_get_a_brief_and_what_they_write_is_judged_ruled_on_and_fresh_once(here: Path) -> None:
    folder = Path("set/shop-1")
    (folder / "tree" / "tax.py").write_text("RATE = 1\n")
    pinning = "import tax\n\n\ndef test_tax():\n    assert tax.RATE == 1\n"
    (folder / "oracles" / "test_c0.py").write_text(f"{LOOSE}\n\n{pinning}")
    assert "the brief is fresh/shop-1/BRIEF.md" in run("--fresh=fresh").output
    place = Path("fresh/shop-1")
    handed = "".join(file.read_text() for file in place.rglob("*") if file.is_file() and ".git" not in file.parts)
    assert "Ten or more." in handed
    assert "python check.py" in handed
    assert "count > 50" in (place / "tree" / "shop.py").read_text()
    for secret in ("test_many", "test_tax", ">= 10", "oracles"):
        assert secret not in handed
    assert "let an author write changes below fresh," in run("--fresh=fresh").output
    tax = "--- a/tax.py\n+++ b/tax.py\n@@ -1 +1 @@\n-RATE = 1\n+RATE = 1.5\n"
    (place / "near" / "c0-edge.diff").write_text(diff("> 50", "> 10"))
    (place / "fix" / "c0-edge.diff").write_text(diff("> 50", "> 9"))
    (place / "fix" / "c7-edge.diff").write_text(diff("> 50", "> 9"))
    (place / "company" / "tax.diff").write_text(tax)
    (place / "thorough.diff").write_text(diff("> 50", ">= 10") + tax)
    first = run("--fresh=fresh", "--authors=2")
    fresh = CHECKS.replace("checks, after repair", "fresh, 2 authors")
    assert row(first, "right fixes") == ["false rejects", "right fixes", "0.0% (0 of 1)", "0.0-100.0", fresh]
    assert row(first, "near misses")[2] == "100.0% (1 of 1)"
    assert row(first, "right fixes in company")[2] == "100.0% (1 of 1)"
    assert row(first, "thorough revisions")[2] == "100.0% (1 of 1)"
    assert "fix/c7-edge.diff is not judged" in first.output
    assert "shop-1: c0 refuses thorough (" in first.output
    assert facts_of(load_instance(folder))["c0"]["false_reject_in_company"].wrong == 2
    told = re.search(r"--decide (\S+)=right", first.output)
    assert told is not None
    assert "3 answers above counted as errors" in first.output
    CliRunner().invoke(
        main, ["set", "error-rates", "set/shop-1:c0", f"--decide={told[1]}=right"], catch_exceptions=False
    )
    ruled = run("--fresh=fresh", "--authors=2")
    assert f"{told[1]}, decided: right" in ruled.output
    assert "2 answers above counted as errors" in ruled.output
    (folder / "oracles" / "test_c0.py").write_text(STRICT)
    for _ in range(2):
        assert row(run("--fresh=fresh", "--authors=2"), "right fixes")[4] == CHECKS
    assert set(facts_of(load_instance(folder))["c0"]) == {"oracle"}


def test_a_brief_names_diffs_that_do_not_apply(here: Path) -> None:
    (here / "fresh" / "shop-1" / "company").mkdir(parents=True)
    (here / "fresh" / "shop-1" / "thorough.diff").write_text(diff("> 7", "> 8"))
    result = run("--fresh=fresh")
    assert result.exit_code == 1
    assert "fresh/shop-1/thorough.diff does not apply to head" in result.output
