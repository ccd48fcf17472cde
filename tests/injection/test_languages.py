"""A repository of another language than Python: its own runner tells which of its tests see a fault."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.curation import code_parts
from pytest_crab.ecosystems.contract import TestLines
from pytest_crab.ecosystems.files_of_tests import may_have_tests
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
    beside = "\nfunc TestMain(m *testing.M) {}\n\nfunc TestdataPath() string { return none }\n"
    assert [one.name for one in code_parts.of(path).tests_of(text + beside)] == ["TestDiscount", "TestSend"]
    (line,) = (at for at, said in enumerate(text.split("\n"), 1) if "is told of" in said)
    assert code_parts.tests_at(path, text, [line]) == ["TestSend"]
    assert code_parts.of(path).without(text, ["TestSend"]).split() == (TESTS + DISCOUNTED).split()
    assert code_parts.of(path).alone(text, ["TestSend"]).count("func Test") == 1
    assert code_parts.of(path).claims_of(text) == ["discount", "send"]
    assert code_parts.of(path).asking(text, ["Weight"], ()) == {"TestSend"}
    assert code_parts.of(path).asking(text, (), ["nothing was sent"]) == {"TestSend"}
    assert code_parts.of("shop.go").added_names(SHOP, SHOP + SEND) == {"Parcel", "Send", "Weight"}
    assert code_parts.of("shop.go").function_at(SHOP + DISCOUNT, 6) == "Discount"
    assert code_parts.of("shop.go").idle_lines(SHOP + DISCOUNT) == {1, 2, 3, 4}


#: A file of tests in each other language, and the names of its tests; the first goes with the lines above it.
RUST = """\
// One.
#[test]
#[should_panic]
fn one() {}

#[cfg(feature = "test-util")]
fn help() {}

#[tokio::test]
async fn two() {}
"""
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
    "tests/a_test.cc": (CPP, "A.One B.Two"),
    "spec/a_spec.rb": (RSPEC, "one two"),
    "test/a_test.rb": (MINITEST, "test_one test_two"),
    "tests/ATest.php": (PHP, "testOne testTwo"),
}


@pytest.mark.parametrize("path", FILES)
def test_tests_of_each_language_are_found_and_taken_out(path: str) -> None:
    text, names = FILES[path]
    assert may_have_tests(path)
    assert [one.name for one in code_parts.of(path).tests_of(text)] == names.split()
    left = code_parts.of(path).without(text, names.split()[:1])
    assert [one.name for one in code_parts.of(path).tests_of(left)] == names.split()[1:]
    assert "One" not in left
    assert "help" in left


@pytest.mark.parametrize(
    ("run_id", "path", "names", "told"),
    [
        ("a.test.ts:parse > fails", "a.test.ts", "parse fails", {"fails"}),
        ("a.test.ts:parse > fails", "b.test.ts", "parse fails", set()),
        (":parse > fails", "b.test.ts", "parse fails", {"fails"}),
        ("shop:TestCart/empty", "shop/cart_test.go", "TestCart TestEmpty", {"TestCart"}),
        ("shop:TestCart", "other/cart_test.go", "TestCart", set()),
        (".:a.b.CartTest#one(int)[1]", "src/test/java/a/b/CartTest.java", "one CartTest", {"one"}),
        (".:a.b.CartTest#one", "src/test/java/a/c/CartTest.java", "one", set()),
        (".:a.b.CartTest", "src/test/java/a/b/CartTest.java", "one CartTest", set()),
        (". it:cart::one", "tests/it/cart.rs", "one cart", {"one"}),
        (". it:cart::one", "tests/it/shop.rs", "one", set()),
        ("shop cart:one::case_1", "shop/tests/cart.rs", "one", {"one"}),
        ("all:Cart.Empty", "tests/a.cc", "Cart.Empty Basket.Empty", {"Cart.Empty"}),
        ("all:Sizes/Cart.Empty/0", "tests/a.cc", "Cart.Empty Basket.Empty", {"Cart.Empty"}),
        ("spec/a_spec.rb:Cart parse never fails", "spec/a_spec.rb", "parse,fails,never fails", {"never fails"}),
        ("test/a_test.rb:Cart#test_one", "test/a_test.rb", "test_one Cart", {"test_one"}),
        ("tests/ATest.php:ATest::testOne with data set #0", "tests/ATest.php", "testOne", {"testOne"}),
        ("tests/ATest.php:", "tests/ATest.php", "testOne", set()),
        ("tests.test_a.TestA::test_b[1]", "tests/test_a.py", "TestA::test_b test_b", {"TestA::test_b"}),
        ("tests.test_a.TestA::test_b", "test_a.py", "TestA::test_b test_b", set()),
    ],
)
def test_an_id_is_that_of_one_test_of_one_file(run_id: str, path: str, names: str, told: set[str]) -> None:
    every = names.split("," if "," in names else None)
    tests = [TestLines(name=name, first=1, last=1) for name in every]
    assert code_parts.named_in(run_id, path, tests) == told


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.js", "export const parse = (x) => { const y = 1; };", "parse"),
        ("a.js", "exports.total = 1;", "total"),
        ("a.js", "class A { limit = 3; }", "A limit"),
        ("a.ts", "class A { limit = 3; }\nenum C { Red, Blue = 2 }\ntype T = string;", "A limit C Red Blue T"),
        ("A.java", "class A { static final int B = 1; enum C { RED } void f() { int d; } }", "A B C RED f"),
        ("a.rb", "LIMIT = 1\ndef f\n  y = 1\nend", "LIMIT f"),
        ("a.php", "<?php\nclass A { const B = 1; public int $size = 2; }\nenum E { case Red; }", "A B size E Red"),
        ("a.cc", "char *Cart::name(int a) { int b; }\nint &at(int);\nclass A { int c; };", "name at A c"),
        ("a.c", "#define LIMIT 1\nenum color { RED };\nstatic int size[3];", "LIMIT color RED size"),
        ("a.rs", "const A: i32 = 1;\nenum E { Red(i32) }\nstruct P { w: i32 }\nfn f() { let b = 1; }", "A E Red P w f"),
        ("a.go", "package a\nvar A, B = 1, 2\ntype I interface { M() }\nfunc f() { b := 1 }", "A B I M f"),
    ],
)
def test_names_that_a_file_defines(path: str, text: str, names: str) -> None:
    assert code_parts.of(path).added_names("<?php\n" if path.endswith("php") else "\n", text) == set(names.split())


@pytest.mark.parametrize(
    ("path", "text", "line", "name"),
    [
        ("a.cc", "int Cart::total(int a) {\n  return a;\n}\n", 2, "Cart.total"),
        ("a.js", "const f = (x) => {\n  return x.map((y) => y);\n};\n", 2, "f"),
        ("a.rs", "impl Cart {\n    fn f() {}\n}\n", 2, "Cart.f"),
    ],
)
def test_the_function_at_a_line_is_called_by_its_name(path: str, text: str, line: int, name: str) -> None:
    assert code_parts.of(path).function_at(text, line) == name


@pytest.mark.parametrize("text", ["TEST(A, One) {} int keep;\n", "namespace n { TEST(A, One) {\n}\n}\n"])
def test_a_test_that_shares_a_line_with_other_code_is_not_taken_out(text: str) -> None:
    with pytest.raises(ValueError, match=r"A\.One"):
        code_parts.of("a_test.cc").without(text, ["A.One"])
    assert code_parts.of("a_test.cc").alone(text, []) == text


def test_lines_with_code_beside_a_comment_are_kept() -> None:
    text = "int keep; // of it\nTEST(A, One) {} // one\n/* c */ int x = 1;\n/* c */\n"
    assert code_parts.of("a_test.cc").without(text, ["A.One"]) == text.replace("TEST(A, One) {} // one\n", "")
    assert code_parts.of("a.cc").comment_lines(text) == {4}
