"""Oracles as files of a project's own tests: which are shown to their author, and what is no such file."""

from __future__ import annotations

import json

import pytest

from pytest_crab.curation.oracle_forms import OracleForm, WrittenFile, form_of, nearest
from pytest_crab.ecosystems.files_of_tests import may_have_tests

TEST = 'package a\n\nimport "testing"\n\nfunc TestB(t *testing.T) {}\n'


@pytest.mark.parametrize(
    ("place", "first"),
    [
        ("core/src/main/JsonWriter.java", "core/src/test/JsonWriterTest.java"),
        ("core/src/main/Other.java", "core/src/test/JsonWriterTest.java"),
        ("web/view.js", "web/view.test.js"),
        ("web/other.js", "web/view.test.js"),
        ("cache.go", "shop_test.go"),
        ("a/b/other.go", "a/x_test.go"),
    ],
)
def test_the_nearest_file_of_tests_has_the_name_else_is_a_test_by_its_own_name(place: str, first: str) -> None:
    paths = [
        "a/x_test.go",
        "shop_test.go",
        "web/tests/samples/data.js",
        "web/view.test.js",
        "core/src/test/JsonWriterTest.java",
    ]
    assert nearest(paths, place)[0] == first


def test_a_module_of_unit_tests_in_rust_is_a_file_of_tests() -> None:
    """One that is called test may be a program's own command."""
    assert may_have_tests("src/map/tests.rs")
    assert not may_have_tests("src/test.rs")


def go() -> OracleForm:
    form = form_of("go")
    assert form is not None
    return form


def test_a_file_of_tests_becomes_an_oracle_and_is_shown_again_as_it_was_written() -> None:
    made = go().write(TEST, "a/b_test.go", "oracles/test_1_c0")
    assert isinstance(made, WrittenFile)
    assert (made.oracle.file, made.oracle.runner) == ("oracles/test_1_c0.json", "go-tests")
    assert json.loads(made.text)["names"] == ["TestB"]
    assert go().shown(made.text) == f"file: a/b_test.go\n\n```go\n{TEST}```\n"


@pytest.mark.parametrize(
    ("source", "place", "telling"),
    [
        (TEST, None, "where in the tree"),
        (TEST, "a/b.go", "a file of tests"),
        (TEST, "../b_test.go", "relative to the tree"),
        ("package a\n", "a/b_test.go", "names is empty"),
        ("func {", "a/b_test.go", "cannot be read"),
    ],
)
def test_what_is_no_file_of_tests_is_said_to_its_author(source: str, place: str | None, telling: str) -> None:
    made = go().write(source, place, "oracles/test_1_c0")
    assert isinstance(made, str)
    assert telling in made


@pytest.mark.parametrize(
    ("language", "place"),
    [("javascript", "test/.mocharc.js"), ("typescript", "tests/vitest.config.ts"), ("ruby", "spec/spec_helper.rb"),
     ("php", "tests/bootstrap.php"), ("rust", "tests/build.rs")],
)  # fmt: skip
def test_an_oracle_does_not_take_the_place_of_what_says_how_tests_are_run(language: str, place: str) -> None:
    form = form_of(language)
    assert form is not None
    made = form.write(TEST, place, "oracles/test_1_c0")
    assert "how the project's tests are run" in str(made)


@pytest.mark.parametrize(("language", "known"), [("go", True), ("python", True), ("", True), ("haskell", False)])
def test_a_language_without_an_ecosystem_has_no_form(language: str, *, known: bool) -> None:
    assert (form_of(language) is not None) is known
