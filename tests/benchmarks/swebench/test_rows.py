"""Rows whose tests are run here, against a repository of this machine."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.swebench.rows import (
    Outcome,
    RowWithTests,
    compare,
    is_unbuilt,
    read_rows,
    see,
)
from pytest_crab.benchmarks.swebench.rows_command import rows
from pytest_crab.cli.run_contexts import proving_context
from pytest_crab.cli.shared_options import choose_runtime
from pytest_crab.ecosystems.go.tools import GoTools
from pytest_crab.errors import BadInput
from pytest_crab.types import Ending, Run, TestOutcome

ROW = RowWithTests(
    instance_id="a__shop-1", repo="a/shop", base_commit="0" * 40, patch="", test_patch="",
    FAIL_TO_PASS=("TestNew",), PASS_TO_PASS=("TestOld",),
)  # fmt: skip


def run(**outcomes: str) -> Run:
    tests = tuple(TestOutcome(id=f"cart:{name}", outcome=outcome) for name, outcome in outcomes.items())
    return Run(id="x", ending=Ending.COMPLETED, exit_code=0, tests=tests, tripwire=True)


@pytest.mark.parametrize(
    ("before", "after", "differing", "absent"),
    [
        ({"TestNew": "failed", "TestOld": "passed"}, {"TestNew": "passed", "TestOld": "passed"}, (), ()),
        ({"TestOld": "passed"}, {"TestNew": "passed", "TestOld": "passed"}, (), ()),
        ({"TestNew": "passed", "TestOld": "passed"}, {"TestNew": "passed", "TestOld": "passed"}, ("TestNew",), ()),
        ({"TestNew": "failed", "TestOld": "passed"}, {"TestNew": "skipped", "TestOld": "passed"}, ("TestNew",), ()),
        ({"TestNew": "failed", "TestOld": "failed"}, {"TestNew": "passed", "TestOld": "passed"}, ("TestOld",), ()),
        ({"TestNew": "failed"}, {"TestNew": "passed"}, (), ("TestOld",)),
    ],
    ids=["as stated", "did not build", "passed before", "skipped after", "failed before", "not here"],
)
def test_two_runs_are_as_a_row_states_or_not(
    before: dict[str, str], after: dict[str, str], differing: tuple[str, ...], absent: tuple[str, ...]
) -> None:
    compared = compare(ROW, run(**before), run(**after))
    assert (compared.differing, compared.absent) == (differing, absent)


@pytest.mark.parametrize(
    ("ending", "agrees"), [(Ending.TIMEOUT, False), (Ending.MEMORY, False), (Ending.CRASHED, True)]
)
def test_a_run_without_the_fix_that_was_cut_short_is_no_agreement(ending: Ending, *, agrees: bool) -> None:
    row = dataclasses.replace(ROW, PASS_TO_PASS=())
    before = Run(id="x", ending=ending, tests=(), tripwire=None)
    assert compare(row, before, run(TestNew="passed")).agrees is agrees


@pytest.mark.parametrize(
    ("ending", "errors", "unbuilt"),
    [
        (Ending.COMPLETED, (), False),
        (Ending.COMPLETED, ("BuildFailed",), True),
        (Ending.COMPLETED, ("BuildFailed", "Crashed"), False),
        (Ending.CRASHED, (), False),
        (Ending.UNINSTALLED, (), True),
    ],
)
def test_what_did_not_build_is_not_run_again(ending: Ending, errors: tuple[str, ...], *, unbuilt: bool) -> None:
    tests = tuple(TestOutcome(id=f"{each}:", outcome="error", exception=each) for each in errors)
    assert is_unbuilt(Run(id="x", ending=ending, tests=tests, tripwire=True)) is unbuilt


CODE = "package cart\n\nfunc Total(prices []int) int {\n\treturn len(prices)\n}\n"
OLD = 'package cart\n\nimport "testing"\n\nfunc TestOld(t *testing.T) {\n\tif Total(nil) != 0 {\n\t\tt.Fail()\n\t}\n}\n'
FIX = """\
diff --git a/cart/cart.go b/cart/cart.go
--- a/cart/cart.go
+++ b/cart/cart.go
@@ -3,3 +3,6 @@
 func Total(prices []int) int {
-\treturn len(prices)
+\tsum := 0
+\tfor _, price := range prices {
+\t\tsum += price
+\t}
+\treturn sum
 }
""".replace("-3,3 +3,6", "-3,3 +3,7")
NEW = """\
diff --git a/cart/cart_test.go b/cart/cart_test.go
--- a/cart/cart_test.go
+++ b/cart/cart_test.go
@@ -8,2 +8,8 @@
 \t}
 }
+
+func TestNew(t *testing.T) {
+\tif Total([]int{4}) != 4 {
+\t\tt.Fail()
+\t}
+}
"""
#: Three files of Python, which no runner of a project's own tests is for.
FIXTURES = "".join(
    f"diff --git a/data/{name}.py b/data/{name}.py\nnew file mode 100644\n--- /dev/null\n+++ b/data/{name}.py\n"
    "@@ -0,0 +1 @@\n+a = 1\n"
    for name in "abc"
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Rows of a repository in Go: as it is, with a test that there is not, without its commit, in no known language."""
    folder = tmp_path / "mirror" / "a" / "shop"
    for name, text in (
        ("go.mod", "module example.org/shop\n\ngo 1.21\n"),
        ("cart/cart.go", CODE),
        ("cart/cart_test.go", OLD),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    row = dataclasses.replace(ROW, base_commit=found.stdout.strip(), patch=FIX, test_patch=NEW)
    gone = NEW.replace("Total(", "Gone(")
    made = [
        row,
        dataclasses.replace(row, instance_id="a__shop-2", FAIL_TO_PASS=("TestNew", "TestNever")),
        dataclasses.replace(row, instance_id="a__shop-3", base_commit="0" * 40),
        dataclasses.replace(row, instance_id="a__shop-4", patch=FIX.replace(".go", ".zig"), test_patch=""),
        dataclasses.replace(row, instance_id="a__shop-5", patch=FIX.replace("len(prices)", "0")),
        dataclasses.replace(row, instance_id="a__shop-6", test_patch="no diff"),
        dataclasses.replace(row, instance_id="a__shop-7", test_patch=gone, PASS_TO_PASS=()),
        dataclasses.replace(row, instance_id="a__none-8", repo="a/none"),
    ]
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "rows.jsonl"
    place.write_text("".join(json.dumps(dataclasses.asdict(each)) + "\n" for each in made))
    return place


@pytest.mark.parametrize("as_text", [True, False])
def test_names_are_a_list_or_its_json_text(tmp_path: Path, *, as_text: bool) -> None:
    data = dataclasses.asdict(ROW)
    texts = {name: json.dumps(data[name]) for name in ("FAIL_TO_PASS", "PASS_TO_PASS")}
    (tmp_path / "rows.jsonl").write_text(json.dumps(data | texts if as_text else data) + "\n")
    assert list(read_rows(tmp_path / "rows.jsonl")) == [ROW]


@pytest.mark.parametrize("names", ["no JSON", "7", "[" * 100_000, [7]])
def test_names_that_are_no_list_are_refused(tmp_path: Path, names: Any) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(dataclasses.asdict(ROW) | {"FAIL_TO_PASS": names}) + "\n")
    with pytest.raises(BadInput, match="FAIL_TO_PASS"):
        list(read_rows(tmp_path / "rows.jsonl"))


@pytest.mark.parametrize("more", ["", FIXTURES], ids=["alone", "more files of a language without a runner"])
def test_a_machine_without_the_language_has_no_environment_for_its_rows(
    file: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    row = next(iter(read_rows(file)))
    file.write_text(json.dumps(dataclasses.asdict(dataclasses.replace(row, test_patch=NEW + more))) + "\n")
    monkeypatch.setattr(GoTools, "program", "go-of-another-machine")
    words = [str(file), "--store", "store", "--runtime", "local", "--only", "a__shop-1", "--json"]
    done = CliRunner().invoke(rows, words)
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)
    assert (found["outcome"], "go-of-another-machine is needed" in found["detail"]) == ("no environment", True)


def test_a_row_without_a_whole_commit_ends_no_other(file: Path) -> None:
    row = dataclasses.replace(next(iter(read_rows(file))), base_commit="1a2b3c4")
    file.write_text(json.dumps(dataclasses.asdict(row)) + "\n")
    done = CliRunner().invoke(rows, [str(file), "--store", "store", "--runtime", "local", "--json"])
    assert done.exit_code == 0, done.output
    (found,) = json.loads(done.stdout)
    said = "base_commit is '1a2b3c4': sha is not a full sha of 40 hex digits"
    assert (found["outcome"], found["detail"]) == ("no source", said)


@pytest.mark.go
def test_no_environment_is_begun_when_the_time_of_a_row_is_up(file: Path, tmp_path: Path) -> None:
    with proving_context(choose_runtime("local"), tmp_path / "store") as (crew, run_context):
        record = see(next(iter(read_rows(file))), crew, run_context, print, seconds=-1)
    assert (record.outcome, "time" in record.detail) == (Outcome.ENVIRONMENT, True)
    assert not dataclasses.replace(record, outcome=Outcome.DIFFERS).is_final


@pytest.mark.bubblewrap
@pytest.mark.go
@pytest.mark.slow(reason="three environments of Go are built")
def test_rows_are_run_in_environments_that_are_found_and_counted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GoTools, "releases", lambda *_: ())  # none is fetched

    def told(*more: str) -> Any:
        done = CliRunner().invoke(rows, [str(file), "--store", "store", "--runtime", "local", *more])
        assert done.exit_code == 0, done.output
        return done

    found = {each["id"]: each for each in json.loads(told("--json").stdout)}
    outcomes = {name: each["outcome"] for name, each in found.items()}
    assert outcomes == {
        "a__shop-1": "agrees", "a__shop-2": "names not here", "a__shop-3": "no source", "a__shop-4": "no runner",
        "a__shop-5": "no source", "a__shop-6": "no source", "a__shop-7": "differs", "a__none-8": "no source",
    }  # fmt: skip
    assert "without the fix BuildFailed in cart; BuildFailed in cart" in found["a__shop-7"]["detail"]
    assert found["a__shop-2"]["absent"] == ["TestNever"]
    assert found["a__shop-1"]["environment"]["paths"] == ["cart"]
