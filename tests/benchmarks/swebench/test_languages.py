"""A row in each language: its tests are built and told of by the language's own runners."""

from __future__ import annotations

import difflib
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.swebench.rows_command import rows


class Project(NamedTuple):
    """A small project, what its fix and the tests of that replace, and the names of tests."""

    files: Mapping[str, str]
    fix: tuple[str, str, str]
    tests: tuple[str, str, str]
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    #: How many of the names are found in each way.
    found: Mapping[str, int]


CARGO = '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n'
CRATE = {"Cargo.toml": CARGO.replace("shop", "coin"), "src/lib.rs": "pub const NONE: u32 = 0;\n"}
COIN = "https://git.invalid/a/coin"
LOCK = f"""\
version = 3

[[package]]
name = "coin"
version = "0.1.0"
source = "git+{COIN}#HEAD_OF_COIN"

[[package]]
name = "price"
version = "0.1.0"

[[package]]
name = "shop"
version = "0.1.0"
dependencies = [
 "coin",
 "price",
]
"""
#: It takes a crate from another repository. Its fix takes one more of its own, so that without it the lock is not what
#: cargo would write.
RUST = Project(
    files={
        "Cargo.toml": '[workspace]\nmembers = ["price", "shop"]\n',
        "Cargo.lock": LOCK,
        "price/Cargo.toml": CARGO.replace("shop", "price"),
        "price/src/lib.rs": "pub fn sum(prices: &[u32]) -> u32 {\n    prices.iter().sum()\n}\n",
        "shop/Cargo.toml": f'{CARGO}[dependencies]\ncoin = {{ git = "{COIN}" }}\n',
        "shop/src/lib.rs": "pub fn total(_: &[u32]) -> u32 {\n    coin::NONE\n}\n",
        "shop/src/right.rs": "pub use price::sum as total;\n",
        "shop/tests/it/main.rs": "mod cart;\n",
        "shop/tests/it/cart.rs": "#[test]\nfn is_empty() { assert_eq!(shop::total(&[]), 0); }\n",
    },
    fix=("shop/Cargo.toml", "\n", '\nprice = { path = "../price" }\n[lib]\npath = "src/right.rs"\n'),
    tests=("shop/tests/it/cart.rs", "}\n", "}\n\n#[test]\nfn is_sum() { assert_eq!(shop::total(&[2, 2]), 4); }\n"),
    fail_to_pass=("cart::is_sum",),
    pass_to_pass=("cart::is_empty",),
    found={"exact": 2},
)
POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId><artifactId>shop</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>1.6</maven.compiler.source><maven.compiler.target>1.6</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <build><plugins><plugin><artifactId>maven-compiler-plugin</artifactId><version>3.13.0</version></plugin></plugins></build>
  <dependencies>
    <dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version></dependency>
  </dependencies>
</project>
"""
CART_TEST = """\
package shop;

public class CartTest {
    @org.junit.Test public void empty() { org.junit.Assert.assertEquals(0, Cart.total()); }
}
"""
JAVA = Project(
    files={
        "pom.xml": POM,
        "src/main/java/shop/Cart.java": (
            "package shop;\n\npublic class Cart {\n    public static int total(int... prices) {\n"
            "        return 0;\n    }\n}\n"
        ),
        "src/test/java/shop/CartTest.java": CART_TEST,
    },
    fix=("src/main/java/shop/Cart.java", "return 0;", "return prices.length == 0 ? 0 : prices[0] + prices[1];"),
    tests=(
        "src/test/java/shop/CartTest.java",
        "}\n}\n",
        "}\n    @org.junit.Test public void sum() { org.junit.Assert.assertEquals(4, Cart.total(2, 2)); }\n}\n",
    ),
    fail_to_pass=("shop.CartTest#sum", "CartTest"),
    pass_to_pass=("shop.CartTest#empty",),
    found={"exact": 3},
)
CART_JS = "exports.total = prices => 0;\n"
NODE = Project(
    files={
        "package.json": json.dumps({"name": "shop", "scripts": {"test": "node --test"}}, indent=1) + "\n",
        "package-lock.json": json.dumps({"name": "shop", "lockfileVersion": 3, "packages": {"": {"name": "shop"}}})
        + "\n",
        "cart.js": CART_JS,
        "test/cart.test.js": (
            "const {describe, it} = require('node:test');\nconst assert = require('node:assert');\n"
            "const {total} = require('../cart.js');\n\ndescribe('cart', () => {\n"
            "  it('is empty', () => assert.equal(total([]), 0));\n  it.skip('is empty', () => {});\n"
            "  it('is whole', () => assert.equal(total([]) % 1, 0));\n});\n"
        ),
    },
    fix=("cart.js", "=> 0;", "=> prices.reduce((a, b) => a + b, 0);"),
    tests=("test/cart.test.js", "});\n", "  it('is the sum', () => assert.equal(total([2, 2]), 4));\n});\n"),
    fail_to_pass=("cart is the sum",),
    pass_to_pass=("is whole", "cart > is  empty"),
    found={"but for blanks": 2, "by its last title": 1},
)
CMAKE = """\
cmake_minimum_required(VERSION 3.13)
project(shop CXX)
find_package(GTest REQUIRED)
add_executable(cart-test test/cart-test.cc test/cases.hpp)
target_include_directories(cart-test PRIVATE include)
target_link_libraries(cart-test GTest::gtest_main)
add_executable(crash test/crash.cc test/cases.hpp)
"""
CPP = Project(
    files={
        "CMakeLists.txt": CMAKE,
        "include/cart.h": "inline int total(int a, int b) { return 0; }\n",
        "test/cart-test.cc": '#include <gtest/gtest.h>\n#include "cart.h"\n#include "cases.hpp"\n',
        "test/cases.hpp": "TEST(Cart, Empty) { EXPECT_EQ(total(0, 0), 0); }\n",
        "test/crash.cc": "#include <cstdlib>\n\nint main() { std::abort(); }\n",
    },
    fix=("include/cart.h", "return 0;", "return a + b;"),
    tests=("test/cases.hpp", "0); }\n", "0); }\n\nTEST(Cart, Sum) { EXPECT_EQ(total(2, 2), 4); }\n"),
    fail_to_pass=("Cart.Sum",),
    pass_to_pass=("Cart.Empty",),
    found={"exact": 2},
)
AUTOMAKE = Project(
    files={
        "configure.ac": (
            "AC_INIT([shop], [1])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n"
        ),
        "Makefile.am": (
            "bin_PROGRAMS = cart\ncart_SOURCES = cart.c\nTEST_EXTENSIONS = .sh\nSH_LOG_COMPILER = sh\n"
            "TESTS = tests/sum.sh tests/later.sh\n"
        ),
        "cart.c": (
            "#include <stdio.h>\n#include <stdlib.h>\n\nint main(int count, char **words) {\n"
            '  printf("%d\\n", 0);\n  return count < 3;\n}\n'
        ),
        "tests/sum.sh": "set -e\ntest $(./cart 0 0) = 0\n",
        "tests/later.sh": "exit 77\n",
    },
    fix=("cart.c", "0);", "atoi(words[1]) + atoi(words[2]));"),
    tests=("tests/sum.sh", "0\n", "0\ntest $(./cart 2 2) = 4\n"),
    fail_to_pass=("tests/sum",),
    pass_to_pass=(),
    found={"exact": 1},
)
CART_RB = "class Cart\n  def self.total(*prices) = 0\nend\n"
CART_SPEC = (
    "RSpec.describe Cart do\n  it 'is empty' do\n    expect(Cart.total).to eq 0\n  end\n  xit('is full') {}\nend\n"
)
RUBY = Project(
    files={
        "lib/cart.rb": CART_RB,
        ".rspec": "--require cart\n",
        "spec/cart_spec.rb": CART_SPEC,
        "test/test_cart.rb": (
            "require 'minitest/autorun'\nrequire 'cart'\n\nclass TestCart < Minitest::Test\n"
            "  def test_sum = assert_equal(2, Cart.total(1, 1))\nend\n"
        ),
    },
    fix=("lib/cart.rb", "= 0", "= prices.sum"),
    tests=("spec/cart_spec.rb", "end\n", "  it('is the sum') { expect(Cart.total(2, 2)).to eq 4 }\nend\n"),
    fail_to_pass=("Cart is the sum",),
    pass_to_pass=("Cart is empty",),
    found={"exact": 2},
)
MINITEST = RUBY._replace(
    tests=("test/test_cart.rb", "end\n", "  def test_none = assert_equal(0, Cart.total)\nend\n"),
    fail_to_pass=("TestCart#test_sum",),
    pass_to_pass=(),
    found={"exact": 1},
)
CART_TEST_PHP = """\
<?php
use PHPUnit\\Framework\\TestCase;

final class CartTest extends TestCase
{
    public function testEmpty(): void { $this->assertSame(0, Cart::total()); }
}
"""
PHP = Project(
    files={
        "composer.json": json.dumps({"autoload": {"classmap": ["src/"]}}, indent=1) + "\n",
        "src/Cart.php": (
            "<?php\nfinal class Cart\n{\n    public static function total(int ...$prices): int { return 0; }\n}\n"
        ),
        "tests/CartTest.php": CART_TEST_PHP,
    },
    fix=("src/Cart.php", "return 0;", "return array_sum($prices);"),
    tests=(
        "tests/CartTest.php",
        "}\n",
        "    public function testSum(): void { $this->assertSame(4, Cart::total(2, 2)); }\n}\n",
    ),
    fail_to_pass=("CartTest::testSum",),
    pass_to_pass=("CartTest::testEmpty",),
    found={"exact": 2},
)


def diff(path: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{path}", f"b/{path}")
    return f"diff --git a/{path} b/{path}\n{''.join(lines)}"


def commit(folder: Path, files: Mapping[str, str]) -> str:
    """Make a repository of one commit, and return its sha."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "first")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True)
    return found.stdout.strip()


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("project", "language"),
    [
        pytest.param(RUST, "rust", marks=pytest.mark.rust, id="rust"),
        pytest.param(JAVA, "java", marks=pytest.mark.java, id="java"),
        pytest.param(NODE, "javascript", marks=pytest.mark.node, id="node"),
        pytest.param(CPP, "cpp", marks=pytest.mark.cpp, id="cpp"),
        pytest.param(AUTOMAKE, "c", marks=pytest.mark.cpp, id="automake"),
        pytest.param(RUBY, "ruby", marks=pytest.mark.ruby, id="ruby"),
        pytest.param(MINITEST, "ruby", marks=pytest.mark.ruby, id="minitest"),
        pytest.param(PHP, "php", marks=pytest.mark.php, id="php"),
    ],
)
@pytest.mark.slow(reason="an environment of each language is built")
def test_a_row_is_run_and_its_names_are_found(
    project: Project,
    language: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    without: Callable[[str, str], NoReturn],
) -> None:
    if project is AUTOMAKE and shutil.which("automake") is None:
        without("automake", "there is no automake")
    coin = commit(tmp_path / "mirror/a/coin", CRATE)
    files = {name: text.replace("HEAD_OF_COIN", coin) for name, text in project.files.items()}
    base = commit(tmp_path / "mirror/a/shop", files)
    patches = []
    for path, old, new in (project.fix, project.tests):
        head, _, tail = project.files[path].rpartition(old)
        patches.append(diff(path, project.files[path], head + new + tail))
    row = {
        "instance_id": "one", "repo": "a/shop", "base_commit": base, "patch": patches[0],
        "test_patch": patches[1], "FAIL_TO_PASS": project.fail_to_pass, "PASS_TO_PASS": project.pass_to_pass,
    }  # fmt: skip
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(rows, ["rows.jsonl", "--store", "store", "--runtime", "local", "--json"])
    assert done.exit_code == 0, done.output
    (told,) = json.loads(done.stdout)
    assert told["language"] == language
    assert (told["outcome"], told["detail"], told["absent"], told["found"]) == ("agrees", "", [], project.found)
