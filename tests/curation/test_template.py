"""What is known without anybody: hunks as anchors, licences by their words, languages by their files."""

from __future__ import annotations

import pytest

from pytest_crab import ecosystems
from pytest_crab.curation.licences import detect_licence
from pytest_crab.curation.locations import Location, hunk_locations, parse_location
from pytest_crab.curation.template import draft_comments, language_of, stubs
from pytest_crab.errors import BadInput
from pytest_crab.types import Side

DIFF = """\
--- a/a.py
+++ b/a.py
@@ -1,3 +1,4 @@
 x
-y
+\x1b[2Jz
+w
 v
@@ -20,2 +21,1 @@
 x
-gone
--- a/old.py
+++ /dev/null
@@ -1 +0,0 @@
-all
"""


def test_each_hunk_is_an_anchor() -> None:
    assert [(str(one), one.excerpt) for one in hunk_locations(DIFF)] == [
        ("a.py:2-3", "?[2Jz"),
        ("a.py:21 (left)", "gone"),
        ("old.py:1 (left)", "all"),
    ]


@pytest.mark.parametrize("text", ["a.py", "a.py:3", "src/a b.py:3-7"])
def test_a_named_place_reads_as_it_is_written(text: str) -> None:
    assert str(parse_location(text)) == text


@pytest.mark.parametrize("text", ["", "/a.py:1", "../a.py", "a.py:0", "a.py:4-3", ".git/config:1"])
def test_what_is_no_place(text: str) -> None:
    with pytest.raises(BadInput, match="--comment"):
        parse_location(text)


MIT = "Permission is hereby granted, free of charge\n The above copyright notice and this permission notice"
BSD = "Redistribution and use in source and binary forms, with or without\nmodification, are permitted"


@pytest.mark.parametrize(
    ("files", "licence"),
    [
        ({}, "NOASSERTION"),
        ({"LICENSE": "All rights reserved."}, "NOASSERTION"),
        ({"LICENSE": f"{BSD} ... Neither the name of"}, "BSD-3-Clause"),
        ({"COPYING": BSD}, "BSD-2-Clause"),
        ({"LICENSE.txt": "Apache License\n   Version 2.0, January 2004"}, "Apache-2.0"),
        ({"COPYING": "GNU LESSER GENERAL PUBLIC LICENSE Version 3"}, "LGPL-3.0"),
        ({"pyproject.toml": '[project]\nlicense = "MIT"\n', "LICENSE": BSD}, "MIT"),
        ({"setup.cfg": "[metadata]\nlicense = Apache-2.0\n"}, "Apache-2.0"),
        ({"setup.cfg": "[metadata]\nlicense = see the file\n", "LICENSE": BSD}, "BSD-2-Clause"),
        ({"package.json": '{"license": "ISC"}'}, "ISC"),
        ({"package.json": "[1]", "LICENSE": BSD}, "BSD-2-Clause"),
        ({"package.json": '{"license": "(GPL-3.0 OR MIT)"}'}, "MIT"),
        ({"Cargo.toml": '[package]\nname = "a"\nlicense = "MIT/Apache-2.0"\n'}, "MIT"),
        ({"LICENSE-APACHE": "Apache License Version 2.0"}, "Apache-2.0"),
        ({"MIT-LICENSE": MIT}, "MIT"),
    ],
)
def test_licences(files: dict[str, str], licence: str) -> None:
    assert detect_licence(lambda name: files[name].encode() if name in files else None) == licence


def test_languages() -> None:
    assert language_of(["a.js", "b.mjs", "c.py"]) == "javascript"
    assert language_of(["README.md"]) == "python"
    assert language_of(["a.h", "b.h"]) == "c"
    assert language_of(["a.h", "b.h", "c.cc"]) == "cpp"


def test_an_oracle_of_a_language_whose_tests_lie_beside_the_code_has_a_folder_and_a_name_that_runs() -> None:
    (comment,) = draft_comments([Location(path="queue/add.go", lines=(1, 1), side=Side.RIGHT)], "go", "go")
    oracle = comment.required_oracle
    assert (oracle.file, oracle.runner, oracle.folder) == ("oracles/test_c0_test.go", "go", "queue")
    ((_, text),) = stubs([comment])
    assert "package queue\n" in text
    assert "func Test_c0(t *testing.T)" in text


@pytest.mark.parametrize(
    ("language", "package", "runner", "end", "environment"),
    [
        ("javascript", "", "node", ".test.mjs", {"node": "20"}),
        ("typescript", "", "vitest", ".test.ts", {"node": "20", "packages": ("vitest@3.0.5",)}),
        ("typescript", '{"scripts": {"test": "node --test"}}', "node", ".test.ts", {"node": "22"}),
        ("typescript", '{"devDependencies": {"mocha": "11.0.1"}}', "mocha", ".test.ts", {"packages": ()}),
        (
            "javascript",
            '{"scripts": {"test": "jest"}, "dependencies": {"a": "1"}}',
            "jest",
            ".test.js",
            {"packages": ()},
        ),
        ("javascript", '{"scripts": [], "dependencies": "none"}', "node", ".test.mjs", {"install": ()}),
    ],
)
def test_an_oracle_has_the_runner_that_the_project_has(
    language: str, package: str, runner: str, end: str, environment: dict[str, object]
) -> None:
    named, drafted = ecosystems.named("node").draft(language, lambda name: {"package.json": package}.get(name, ""))
    (comment,) = draft_comments([Location(path="a.ts", lines=None)], language, named)
    assert (named, comment.required_oracle.file) == (runner, f"oracles/test_c0{end}")
    assert {key: getattr(drafted, key) for key in environment} == environment
    ((_, text),) = stubs([comment])
    assert ("node:test" in text, 'it("c0"' in text) == (runner == "node", runner == "mocha")


def test_what_a_project_asks_for_is_installed_with_a_runner_that_it_has_not() -> None:
    files = {"package.json": '{"dependencies": {"a": "1"}}', "package-lock.json": "{}"}
    _, drafted = ecosystems.named("node").draft("typescript", lambda name: files.get(name, ""))
    assert drafted.packages == ()
    assert drafted.install[0].startswith("npm ci ")
    assert drafted.install[-1].endswith(" vitest@3.0.5")


@pytest.mark.parametrize(
    ("language", "cmake", "runner", "end", "packages", "line"),
    [
        ("c", "", "c", ".c", (), "void test_c0(void) {"),
        ("cpp", "", "gtest", ".cpp", (), "TEST(Review, c0) {"),
        ("cpp", "find_package(doctest)", "doctest", ".cpp", ("doctest",), 'TEST_CASE("c0") {'),
        ("cpp", "find_package(Catch2 2)", "catch2", ".cpp", ("catch2",), 'TEST_CASE("c0") {'),
    ],
)
def test_an_oracle_in_c_is_a_plain_function_and_one_in_cpp_has_the_projects_framework(
    language: str, cmake: str, runner: str, end: str, packages: tuple[str, ...], line: str
) -> None:
    files = {"tests/CMakeLists.txt": cmake, "Makefile": "all:"}
    named, drafted = ecosystems.named("cpp").draft(language, lambda name: files.get(name, ""))
    assert (named, drafted.packages, drafted.build) == (runner, packages, ("make",))
    (comment,) = draft_comments([Location(path="a.c", lines=None)], language, named)
    assert comment.required_oracle.file == f"oracles/test_c0{end}"
    ((_, text),) = stubs([comment])
    assert line in text.splitlines()
