"""The linters of each language, on a file with one fault that the base has too and one that the pull request adds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import pytest

from fake_checkout import FakeCheckout
from pytest_crab import ecosystems
from pytest_crab.ecosystems import ECOSYSTEMS
from pytest_crab.ecosystems.linters import Linter
from pytest_crab.errors import ReviewerError
from pytest_crab.reviewers.linter import LinterReviewer

#: Where tests of JavaScript have their packages, of which ESLint is one.
PACKAGES = "CRAB_TEST_JEST"

CARGO = b'[package]\nname = "own"\nversion = "1.0.0"\nedition = "2021"\n[workspace]\n'


@dataclass(frozen=True, kw_only=True)
class Case:
    """A file in a language, and a fault of it."""

    path: str
    #: Has {more}, where the pull request puts the second fault.
    text: str
    more: str
    line: int
    rule: str
    beside: Mapping[str, bytes]


CASES = {
    "python": Case(path="own/a.py", text="import os\n{more}", more="import re\n", line=2, rule="F401", beside={}),
    "go": Case(
        path="own/a.go",
        text='package own\n\nimport "fmt"\n\nfunc A() {{\n\tfmt.Printf("%d\\n", "x")\n{more}}}\n',
        more='\tfmt.Println("a%d", 1)\n',
        line=7,
        rule="printf",
        beside={"own/go.mod": b"module example.org/own\n\ngo 1.20\n"},
    ),
    "rust": Case(
        path="own/src/lib.rs",
        text="#![deny(warnings)]\npub fn a(x: &Vec<u8>) -> bool {{\n    x.len() == 0\n}}\n{more}",
        more="pub fn b(x: &[u8]) -> bool {\n    x.len() == 0\n}\n",
        line=6,
        rule="clippy::len_zero",
        beside={"own/Cargo.toml": CARGO},
    ),
    "cpp": Case(
        path="a.c",
        text="int a(void) {{ int x[2]; x[2] = 1; return x[0]; }}\n{more}",
        more="int b(int *p) { int x = *p; if (!p) return 0; return x; }\n",
        line=2,
        rule="nullPointerRedundantCheck",
        beside={},
    ),
    "node": Case(
        path="src/a.ts",
        text="export function a(x: number): number {{\n  if (x = 2) {{}}\n{more}  return x; // eslint-disable-line\n}}",
        more="  const y: any = x;\n",
        line=3,
        rule="@typescript-eslint/no-explicit-any",
        beside={"eslint.config.mjs": b"process.exit(7);\n"},
    ),
    "php": Case(
        path="src/A.php",
        text="<?php\nfunction a($x) {{\n    if ($x = 2) {{\n        $x++;\n    }}\n{more}    return $x;\n}}\n",
        more="    eval($x);\n",
        line=6,
        rule="Squiz.PHP.Eval.Discouraged",
        beside={"phpcs.xml": b'<ruleset name="own"><exclude-pattern>*</exclude-pattern></ruleset>\n'},
    ),
    "ruby": Case(
        path="lib/a.rb",
        text="def a(x)\n  if x = 2\n    x\n  end\n{more}end\n\ndef b(x) = x\n",
        more="  eval(x)\n",
        line=5,
        rule="Security/Eval",
        beside={
            ".rubocop": b"--require ./own.rb --except Security/Eval\n",
            ".rubocop.yml": b"require: ./own.rb\n",
            "own.rb": b"exit 7\n",
        },
    ),
    "java": Case(
        path="src/own/A.java",
        text='package own;\n\nclass A {{\n    boolean a(String x) {{ return x == "a"; }}\n{more}}}\n',
        more='    boolean b(String x) { return x == "b"; }\n',
        line=5,
        rule="UseEqualsToCompareStrings",
        beside={},
    ),
}


def checkout_of(case: Case, folder: Path) -> FakeCheckout:
    base, head = (case.text.format(more=more).encode() for more in ("", case.more))
    owner = ecosystems.of_file(case.path)
    return FakeCheckout(
        folder, head={case.path: head, **case.beside}, base={case.path: base, **case.beside},
        ecosystem=owner and owner.name,
    )  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[getattr(pytest.mark, name)] if name in ("go", "rust", "node", "java") else [])
     for name in CASES],
)  # fmt: skip
def test_a_linter_says_what_the_pull_request_adds_and_reads_no_settings_of_the_tree(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: Callable[[str, str], NoReturn]
) -> None:
    if name == "node" and os.environ.get(PACKAGES):
        monkeypatch.setenv("PATH", f"{os.environ['PATH']}{os.pathsep}{os.environ[PACKAGES]}/node_modules/.bin")
    linter = ecosystems.named(name).linter
    assert linter is not None
    if linter.find() is None:
        without(linter.program, f"{linter.program} is not on this machine")
    checkout = checkout_of(CASES[name], tmp_path / "x")
    review = LinterReviewer().review(checkout.pull_request(), checkout)
    places = {(one.path, one.start, one.rule) for one in review.findings}
    assert {line for _, line, _ in places} == {CASES[name].line}
    assert (CASES[name].path, CASES[name].line) in {place[:2] for place in places}
    assert any(str(rule).endswith(CASES[name].rule) for _, _, rule in places), places
    assert (review.version or linter.program).startswith(linter.program)
    assert (review.version is None) is linter.is_of_environment
    (opening,) = checkout.openings
    assert opening.place == ("clone" if linter.script is None else "workspace")
    assert not opening.network


def test_each_language_of_a_pull_request_has_its_own_and_others_have_none(
    tmp_path: Path, without: Callable[[str, str], NoReturn]
) -> None:
    if shutil.which("cppcheck") is None:
        without("cppcheck", "cppcheck is not on this machine")
    head = {"a.py": b"import os\n", "b.txt": b"import os\n", "c.c": CASES["cpp"].more.encode()}
    checkout = FakeCheckout(tmp_path / "x", head=head)
    found = LinterReviewer().review(checkout.pull_request(), checkout).findings
    assert {one.path for one in found} == {"a.py", "c.c"}


@pytest.mark.parametrize("beside", [{}, {"b.cpp": b"int b;\n"}], ids=["alone", "beside C++"])
@pytest.mark.parametrize(
    "text", ["class A { public: explicit A(int); };\n", "int c(int class, int new);\n"], ids=["C++", "C"]
)
def test_a_header_is_read_as_the_language_that_it_is_in(
    text: str, beside: Mapping[str, bytes], tmp_path: Path, without: Callable[[str, str], NoReturn]
) -> None:
    if shutil.which("cppcheck") is None:
        without("cppcheck", "cppcheck is not on this machine")
    fault = "static inline int d(void) { int a[2]; a[2] = 1; return a[0]; }\n"
    checkout = FakeCheckout(tmp_path / "x", head={"a.h": f"{text}{fault}".encode(), **beside})
    found = LinterReviewer().review(checkout.pull_request(), checkout).findings
    assert ("a.h", 2) in {(one.path, one.start) for one in found}


def test_one_that_is_not_here_is_named_with_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = FakeCheckout(tmp_path / "x", head={"A.java": b"class A {}\n"}, ecosystem="java")
    pull_request = checkout.pull_request()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ReviewerError, match=r"pmd is not on this machine: .*bin on PATH"):
        LinterReviewer().review(pull_request, checkout)


@pytest.mark.parametrize("linter", [one.linter for one in ECOSYSTEMS if one.linter is not None and one.linter.script])
def test_an_environment_of_the_language_without_its_program_is_an_error(linter: Linter) -> None:
    argv = ["/bin/sh", "-c", str(linter.script), linter.program, "./a"]
    done = subprocess.run(argv, env={"PATH": "/nowhere"}, capture_output=True, text=True, check=False)
    assert done.returncode not in linter.exit_codes
    assert re.fullmatch("the environment has no (go|cargo|java|node)", done.stderr.splitlines()[-1])


def test_files_of_another_language_than_the_environment_s_are_left_out(tmp_path: Path) -> None:
    checkout = FakeCheckout(tmp_path / "x", head={"a.go": b"package a\n", "a.rs": b"", "A.java": b"class A {}\n"})
    assert LinterReviewer().review(checkout.pull_request(), checkout).findings == ()
    assert checkout.openings == []


@dataclass(frozen=True, kw_only=True)
class Broken:
    """What a linter cannot look at, and lines of a pull request that are not to blame."""

    language: str
    path: str
    text: str
    #: What the pull request puts at the end.
    more: str
    beside: Mapping[str, bytes]
    #: The rest of the pull request.
    changed: Mapping[str, bytes] = field(default_factory=dict)
    words: str


BROKEN = {
    "a module that is not here": Broken(
        language="go",
        path="own/a.go",
        text='package own\n\nimport _ "example.org/no"\n\n',
        more="func C() {}\n",
        beside=CASES["go"].beside,
        words="example.org/no",
    ),
    "a caller": Broken(
        language="go",
        path="own/a.go",
        text="package own\n\n",
        more="func C() {}\n",
        beside={**CASES["go"].beside, "own/b.go": b"package own\n\nvar X = B()\n"},
        words="own/b.go:3",
    ),
    "a module beside one with a finding": Broken(
        language="go",
        path="own/a.go",
        text='package own\n\nimport "fmt"\n\n',
        more='func C() {\n\tfmt.Println("a%d", 1)\n}\n',
        beside={**CASES["go"].beside, "own/sub/go.mod": b"module"},
        changed={"own/sub/a.go": b"package sub\n"},
        words="own/sub",
    ),
    "a test": Broken(
        language="rust",
        path="own/src/lib.rs",
        text="\n",
        more="pub fn c() {}\n",
        beside={**CASES["rust"].beside, "own/tests/a.rs": b"fn a() -> u8 { own::b() }\n"},
        words="own/tests/a.rs:1",
    ),
    "a manifest": Broken(
        language="rust",
        path="own/src/lib.rs",
        text="\n",
        more="pub fn c() {}\n",
        beside={"own/Cargo.toml": b"[package]\n"},
        words=r"own/Cargo\.toml",
    ),
    "a macro": Broken(
        language="cpp",
        path="a.c",
        text="struct A { UNKNOWN(x) int y; };\n",
        more="int c(void) { return 1; }\n",
        beside={},
        words="unknownMacro",
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=getattr(pytest.mark, BROKEN[name].language)) for name in BROKEN]
)
def test_one_that_cannot_look_at_everything_is_an_error_and_no_clean_review(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: Callable[[str, str], NoReturn]
) -> None:
    monkeypatch.setenv("GOPROXY", "off")
    case = BROKEN[name]
    linter = ecosystems.named(case.language).linter
    assert linter is not None
    if linter.find() is None:
        without(linter.program, f"{linter.program} is not on this machine")
    base = {**case.beside, case.path: case.text.encode()}
    head = {**case.beside, **case.changed, case.path: (case.text + case.more).encode()}
    checkout = FakeCheckout(tmp_path / "x", head=head, base=base, ecosystem=case.language)
    with pytest.raises(ReviewerError, match=case.words):
        LinterReviewer().review(checkout.pull_request(), checkout)


@pytest.mark.rust
def test_what_the_compiler_says_of_an_added_line_is_a_finding(
    tmp_path: Path, without: Callable[[str, str], NoReturn]
) -> None:
    if shutil.which("cargo") is None:
        without("rust", "there is no cargo")
    head = {"own/Cargo.toml": CARGO, "own/src/lib.rs": b"pub fn a() -> u8 { true }\n"}
    checkout = FakeCheckout(tmp_path / "x", head=head, ecosystem="rust")
    (found,) = LinterReviewer().review(checkout.pull_request(), checkout).findings
    assert (found.path, found.start, found.rule) == ("own/src/lib.rs", 1, "compiler")
    assert "E0308" in found.body
