"""Environments that are proposed for a tree of which nothing is known but its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_crab import ecosystems
from pytest_crab.ecosystems.node.inside import own_tests, runner
from pytest_crab.ecosystems.ruby.inside import own_tests as ruby_tests
from pytest_crab.ecosystems.toolchain import Tool, Tools
from pytest_crab.errors import ImageError
from pytest_crab.harness.inside import reports, supervisor
from pytest_crab.types import Environment

POM = "<project><properties><java.version>{}</java.version></properties></project>"


def proposed(name: str, tree: Path, files: Mapping[str, str], touched: str) -> list[Environment]:
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    return list(ecosystems.named(name).proposals(tree, (touched,)))


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tools, "here", lambda self: Tool(name=self.name, version="17.1.0", program="/usr/bin/x"))
    for one in ecosystems.tools():
        monkeypatch.setattr(type(one), "find", Tools.find)
        monkeypatch.setattr(type(one), "here", Tools.here)


@pytest.mark.parametrize(
    ("head", "env"),
    [
        ("", {}),
        ('#![cfg(all(\n    feature = "full",\n    tokio_unstable,\n    not(feature = "loom")\n))]\n#[test]',
         {"CARGOFLAGS": "--features full", "RUSTFLAGS": "--cfg tokio_unstable"}),
    ],
)  # fmt: skip
def test_rust_has_the_features_that_a_file_of_tests_asks_for(tmp_path: Path, head: str, env: dict[str, str]) -> None:
    files = {"Cargo.toml": "[workspace]\n", "a/Cargo.toml": "[package]\n", "a/tests/b.rs": f"{head}\n"}
    (found,) = proposed("rust", tmp_path, files, "a/tests/b.rs")
    assert (found.paths, dict(found.env)) == (("a",), {"CARGO_PROFILE_DEV_DEBUG": "0", **env})


def test_rust_has_all_features_where_those_that_are_asked_for_do_not_do(tmp_path: Path) -> None:
    files = {"Cargo.toml": "[package]\n[features]\nb = []\n", "tests/b.rs": '#![cfg(feature = "b")]\n'}
    found = proposed("rust", tmp_path, files, "tests/b.rs")
    assert [each.env["CARGOFLAGS"] for each in found] == ["--features b", "--all-features"]


@pytest.mark.parametrize("root", ["[package]\n", "[workspace]\n"])
def test_rust_builds_the_programs_of_the_root_for_tests_of_other_packages(tmp_path: Path, root: str) -> None:
    files = {"Cargo.toml": root, "Cargo.lock": "", "a/Cargo.toml": "[package]\n", "a/tests/b.rs": "", "tests/c.rs": ""}
    found = proposed("rust", tmp_path, files, "a/tests/b.rs")
    assert [bool(each.build) for each in found] == [False, True][: 1 + (root == "[package]\n")]
    assert not any(each.build for each in proposed("rust", tmp_path, files, "tests/c.rs"))


@pytest.mark.parametrize(("level", "raised"), [("1.6", ["1.7", "9"]), ("1.7", []), ("11", [])])
def test_java_builds_the_module_and_raises_only_what_no_jdk_takes(
    tmp_path: Path, level: str, raised: list[str]
) -> None:
    files = {"pom.xml": POM.format(level), "core/pom.xml": "<project/>"}
    found = proposed("java", tmp_path, files, "core/src/test/java/A.java")
    assert {one.env["MAVEN_ARGS"] for one in found} == {"-pl core -am"}
    assert not any(one.install for one in found)  # the merge may change the poms too
    assert [bool(one.build) for one in found] == ([True] * len(raised) or [False])
    assert all(f">{new}<" in (one.build or ("",))[0] for one, new in zip(found, raised, strict=False))


def test_java_without_maven_is_said(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="without Maven"):
        proposed("java", tmp_path, {"build.xml": "", "website/a/pom.xml": POM.format("11")}, "src/A.java")


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"pnpm-lock.yaml": ""}, "pnpm@9.1.0"),
        ({"yarn.lock": ""}, "yarn@1"),
        ({"yarn.lock": "", ".yarn/releases/yarn-3.6.1.cjs": ""}, "node .yarn/releases/yarn-3.6.1.cjs"),
        ({"package-lock.json": ""}, "npm ci"),
        ({}, "npm install"),
    ],
    ids=["pnpm", "yarn", "yarn of the tree", "npm", "no lock"],
)
def test_node_installs_by_the_lock_and_tries_the_projects_build_after_it(
    tmp_path: Path, files: dict[str, str], words: str
) -> None:
    said = json.dumps({"packageManager": "pnpm@9.1.0+sha512.a", "scripts": {"build": "x"}})
    found = proposed("node", tmp_path, {**files, "package.json": said}, "a.js")
    assert [one.build for one in found] == [None, ("npm run build",)]
    assert all(words in one.install[0] for one in found)


def test_cpp_is_built_by_what_lies_at_the_root(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="nothing at its root"):
        proposed("cpp", tmp_path, {"configure.ac": ""}, "a.c")
    (found,) = proposed("cpp", tmp_path, {"CMakeLists.txt": ""}, "a.c")
    assert "cmake -S ." in found.commands[-1]


def at(tree: Path) -> SimpleNamespace:
    """Return what the harness gives a runner of own tests, of a tree alone."""
    return SimpleNamespace(job={"workdir": str(tree)}, nearest=supervisor.nearest)


@pytest.mark.parametrize(
    ("touched", "chosen"),
    [
        ("test/unit/a.js", ["test/unit/a.js"]),
        ("src/__tests__/__snapshots__/b.test.ts.snap", ["src/__tests__/b.test.ts"]),
        ("test/unit/fixtures/data/in.js", ["test/unit/a.js"]),
        ("src/c.js", []),
    ],
)
def test_a_file_of_data_stands_for_the_tests_above_it(tmp_path: Path, touched: str, chosen: list[str]) -> None:
    for path in ("test/unit/a.js", "test/unit/fixtures/data/in.js", "src/__tests__/b.test.ts", "src/c.js"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    assert own_tests.chosen(at(tmp_path), [touched]) == chosen


def test_the_options_of_a_script_are_mochas_and_its_files_are_not() -> None:
    script = "eslint . && mocha --require ts-node/register -b --forbid-only test/**/*.js --timeout 30000 --bail --exit"
    kept = ["--require", "ts-node/register", "--forbid-only", "--timeout", "30000", "--exit"]
    assert own_tests.options({"test": script}) == kept
    assert own_tests.options({"test": "grunt test"}) == []


@pytest.mark.parametrize(
    ("message", "outcomes"),
    [
        ("Your test suite must contain at least one test.", []),
        ("No test suite found in file /a/test/helper.js", []),
        ("Cannot find module './gone'", [("test/helper.js:", "error")]),
    ],
    ids=["jest", "vitest", "does not load"],
)
def test_a_file_without_tests_is_no_fault(tmp_path: Path, message: str, outcomes: list[tuple[str, str]]) -> None:
    result = {"name": str(tmp_path / "test/helper.js"), "status": "failed", "message": message, "assertionResults": []}
    (tmp_path / "report").write_text(json.dumps({"testResults": [result]}))
    parts = {"node_runner": runner}
    host = SimpleNamespace(**{**vars(supervisor), "reports": reports, "parts": parts, "keep": lambda _: None})
    report, _ = own_tests.read(host, str(tmp_path), "jest", str(tmp_path / "report"))
    assert [(test["id"], test["outcome"]) for test in report["tests"]] == outcomes


@pytest.mark.parametrize(
    ("helper", "with_rspec", "runner"),
    [
        ("# Helpers of minitest could be had here too: Minitest::Mock.\n", False, "rspec"),
        ('# Neither RSpec. nor its settings.\nrequire "minitest/autorun"\n', False, "minitest"),
        ("class Spec < Minitest::Spec\nend\n", False, "minitest"),
        ('require "minitest/mock"\nRSpec.configure {}\n', False, "rspec"),
        ('require "minitest/mock"\n', True, "rspec"),
    ],
    ids=["a comment", "required", "its class", "both", "settings"],
)
def test_specifications_are_minitests_where_code_says_so(
    tmp_path: Path, helper: str, *, with_rspec: bool, runner: str
) -> None:
    (tmp_path / "spec").mkdir()
    (tmp_path / "spec/spec_helper.rb").write_text(helper)
    (tmp_path / "spec/a_spec.rb").write_text("describe(1) {}\n")
    assert ruby_tests.chosen(at(tmp_path), ["spec/a_spec.rb"], with_rspec=with_rspec) == {runner: ["spec/a_spec.rb"]}


def test_specifications_of_minitest_may_lie_beside_its_tests_and_their_helper_is_none(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "test/helper.rb").write_text('require "minitest/global_expectations/autorun"\n')
    for name in ("spec_a.rb", "spec_helper.rb"):
        (tmp_path / "test" / name).write_text('require_relative "helper"\ndescribe(1) {}\n')
    found = ruby_tests.chosen(at(tmp_path), ["test/spec_a.rb", "test/spec_helper.rb"], with_rspec=False)
    assert found == {"minitest": ["test/spec_a.rb"]}


def test_what_go_and_java_cannot_build_is_the_projects_lack_and_not_this_machines(tmp_path: Path) -> None:
    for name, lacking in (("go", "go.mod"), ("java", "pom.xml")):
        with pytest.raises(ImageError, match=f"there is no {lacking}") as raised:
            proposed(name, tmp_path, {}, "a_test.go")
        assert not raised.value.of_machine
