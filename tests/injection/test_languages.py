"""A repository of another language than Python: its own runner tells which of its tests see a fault."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.injection import code_parts
from pytest_crab.instances import load_instances
from pytest_crab.types import Instance

from .conftest import git

URL = "https://git.example/owner/shop"
SHOP = "// Package shop sells.\npackage shop\n"
TESTS = 'package shop\n\nimport (\n\t"testing"\n)\n\nvar none []int\n'
DISCOUNT = """
// Discount takes a share (0 to 100) off a price.
func Discount(price, share int) int {
	return price - share
}
"""
SEND = """
// Parcel is what is sent.
type Parcel struct {
	Weight int
}

// Send packs all weights that are not too heavy.
func Send(weights []int) ([]Parcel, error) {
	if len(weights) == 0 {
		return nil, errors.New("there is nothing to send")
	}
	parcels := []Parcel{}
	for _, weight := range weights {
		if weight <= 30 {
			parcels = append(parcels, Parcel{Weight: weight})
		}
	}
	return parcels, nil
}
"""
SENT = """
func TestSend(t *testing.T) {
	parcels, err := Send([]int{30, 31})
	if err != nil || !reflect.DeepEqual(parcels, []Parcel{{Weight: 30}}) {
		t.Error(parcels, err)
	}
	if _, err := Send(none); err == nil {
		t.Error("nothing was sent")
	}
}
"""
DISCOUNTED = """
func TestDiscount(t *testing.T) {
	if Discount(200, 10) != 180 {
		t.Error(Discount(200, 10))
	}
}
"""


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A module whose second change brought a fault that the third one mends, and whose last one brought tests."""
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "symbolic-ref", "HEAD", "refs/heads/main")

    def commit(message: str, **files: str) -> None:
        for name, text in files.items():
            (folder / {"shop": "shop.go", "tests": "shop_test.go", "module": "go.mod"}[name]).write_text(text)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", message)

    commit("Start", module="module git.example/owner/shop\n\ngo 1.20\n", shop=SHOP, tests=TESTS)
    commit("Discount prices (#1)", shop=SHOP + DISCOUNT)
    mended = SHOP + DISCOUNT.replace("price - share", "price - price*share/100")
    commit("Fix discounts, which took the share as a price (#2)", shop=mended, tests=TESTS + DISCOUNTED)
    sending = mended.replace("package shop\n", 'package shop\n\nimport "errors"\n') + SEND
    tests = TESTS.replace('\t"testing"', '\t"reflect"\n\t"testing"') + DISCOUNTED + SENT
    commit("Send parcels (#3)", shop=sending, tests=tests)
    return folder


@pytest.mark.go
@pytest.mark.bubblewrap
@pytest.mark.slow(reason="Go compiles each state of a project with its tests")
def test_faults_of_a_module_become_instances_that_human_catches_and_none_does_not(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["set", "inject", str(history), "--url", URL, "--out", "set", "--runtime", "local", "--no-twins", "--json"]
    words += ["--until", "2", "--jobs", "1", "--runs", "2", "--near-misses", "1"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    rows = {row["stage"]: row["pull_requests"] for row in json.loads(done.stdout)}
    assert rows["publish"]["kept"] == 2, done.stdout
    found: dict[str, Instance] = {one.tags["injected"]: one for one in load_instances(Path("set")) if not one.clean}
    assert set(found) == {"introduced", "seeded"}
    for one, test in ((found["introduced"], "TestDiscount"), (found["seeded"], "TestSend")):
        (comment,) = one.comments
        assert comment.path == "shop.go"
        assert comment.required_oracle.runner == "go-tests"
        own = json.loads(Path("set", one.id, comment.required_oracle.file).read_text())
        assert own["tests"] == [f".:{test}"]
        shown = Path("set", one.id, "head.diff").read_text()
        assert test not in shown
        assert "reflect" not in shown  # an import that only the hidden test needs would not compile
    review = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--crab-runtime=local", "set"]
    ran = subprocess.run([*review, "--reviewer=human", "--reviewer=none"], capture_output=True, text=True, check=False)
    summary = json.loads(Path(".crab/report/summary.json").read_text())
    rates = {one["reviewer"]: (one["overall"]["caught"], one["overall"]["known"]) for one in summary["reviewers"]}
    assert rates == {"human": (2, 2), "none": (0, 2)}, ran.stdout


def test_the_parts_of_a_file_of_tests_in_another_language() -> None:
    text = TESTS.replace('\t"testing"', '\t"reflect"\n\t"testing"') + DISCOUNTED + "\n// TestSend is told of." + SENT
    path = "shop_test.go"
    assert [one.name for one in code_parts.tests_of(path, text)] == ["TestDiscount", "TestSend"]
    (line,) = (at for at, said in enumerate(text.split("\n"), 1) if "is told of" in said)
    assert code_parts.tests_at(path, text, [line]) == ["TestSend"]
    assert code_parts.without(path, text, ["TestSend"]).split() == (TESTS + DISCOUNTED).split()
    assert code_parts.alone(path, text, ["TestSend"]).count("func Test") == 1
    assert code_parts.claims_of(path, text) == ["discount", "send"]
    assert code_parts.asking(path, text, ["Weight"], ()) == {"TestSend"}
    assert code_parts.asking(path, text, (), ["nothing was sent"]) == {"TestSend"}
    assert code_parts.added_names("shop.go", SHOP, SHOP + SEND) == {"Parcel", "Send", "Weight"}
    assert code_parts.function_at("shop.go", SHOP + DISCOUNT, 6) == "Discount"
    assert code_parts.idle_lines("shop.go", SHOP + DISCOUNT) == {1, 2, 3, 4}


#: A file of tests in each other language, and the names of its tests; the first goes with the lines above it.
RUST = "// One.\n#[test]\n#[should_panic]\nfn one() {}\n\nfn help() {}\n\n#[tokio::test]\nasync fn two() {}\n"
JAVA = """\
class ATest {
    /** One. */
    @Test
    void one() {}

    void help() {}

    @ParameterizedTest
    void two(int a) {}
}
"""
NODE = '// One.\nit("one", () => {});\ndescribe(\'a\', () => { test.skip(`two`, () => {}); help("it"); });\n'
CPP = "// One.\nTEST(A, One) { f(); }\nint help() { return 1; }\nTEST_F(B, Two) {}\n"
RSPEC = "# One.\nit('one') { f }\nhelp A do\n  it \"two\" do\n  end\nend\n"
MINITEST = "class A < T\n  def help = 1\n  # One.\n  def test_one = 1\n  def test_two\n  end\nend\n"
PHP = """\
<?php
class ATest extends T
{
    /** One. */
    public function testOne() {}
    private function help() {}
    public function testTwo() {}
}
"""
FILES = {
    "tests/a.rs": (RUST, "one two"),
    "src/test/java/ATest.java": (JAVA, "one two"),
    "a.test.ts": (NODE, "one two"),
    "tests/a_test.cc": (CPP, "One Two"),
    "spec/a_spec.rb": (RSPEC, "one two"),
    "test/a_test.rb": (MINITEST, "test_one test_two"),
    "tests/ATest.php": (PHP, "testOne testTwo"),
}


@pytest.mark.parametrize("path", FILES)
def test_tests_of_each_language_are_found_and_taken_out(path: str) -> None:
    text, names = FILES[path]
    assert code_parts.may_have_tests(path)
    assert [one.name for one in code_parts.tests_of(path, text)] == names.split()
    left = code_parts.without(path, text, names.split()[:1])
    assert [one.name for one in code_parts.tests_of(path, left)] == names.split()[1:]
    assert "One" not in left
    assert "help" in left
