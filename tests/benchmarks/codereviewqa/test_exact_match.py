"""Exact match of revised code, by what each variant overlooks."""

from __future__ import annotations

import pytest

from pytest_crab.benchmarks.codereviewqa.exact_match import RELEASE, exact_matches

REFERENCE = "int a = 1;\nreturn a;\n"


@pytest.mark.parametrize(
    ("text", "equal"),
    [
        (REFERENCE, {"em", "em_trim", "em_no_space", "em_no_comment"}),
        ("  int  a = 1;\n\n\treturn a;", {"em", "em_trim", "em_no_space", "em_no_comment"}),
        ("before();\nint a = 1;\nreturn a;\nafter();", {"em_trim"}),
        ("int a=1;\nreturn a;", {"em_no_space"}),
        ("int a = 1; // one\nreturn a; /* a\nb */", {"em_no_comment"}),
        ("# a\nint a = 1;\nreturn a;", {"em_trim", "em_no_comment"}),
        ("int a = 2;\nreturn a;", set()),
        ("", set()),
    ],
)
def test_each_variant_overlooks_its_own(text: str, equal: set[str]) -> None:
    assert {name for name, match in exact_matches(text, REFERENCE).items() if match} == equal


def test_a_reference_of_one_line_may_be_the_last() -> None:
    assert exact_matches("before();\nreturn a;", "return a;")["em_trim"]
    assert not exact_matches("before();\nreturn a;", "return a;\nafter();")["em_trim"]


@pytest.mark.parametrize(
    ("text", "equal"),
    [
        (REFERENCE, {"em", "em_trim", "em_no_space", "em_no_comment"}),
        # The lines around are overlooked without white space; em_trim finds no line that starts at word 9 of 8.
        ("before();\nint a = 1;\nreturn a;\nafter();", {"em_no_space", "em_no_comment"}),
        ("int a = 1;\nreturn a;\nafter();", {"em_trim", "em_no_space", "em_no_comment"}),
        # The first line has one character and one word, so that em_trim happens to look at the right place.
        ("x\nint a = 1;\nreturn a;", {"em_trim", "em_no_space", "em_no_comment"}),
        ("int a=1;\nreturn a;", {"em_no_space", "em_no_comment"}),
        ("int a=1; // one\nreturn a; /* a\nb */", {"em_no_comment"}),
        ("x(); int a = 1;\nreturn a;", set()),
        ("", set()),
    ],
)
def test_the_release_looks_where_it_looks(text: str, equal: set[str]) -> None:
    assert {name for name, match in exact_matches(text, REFERENCE, RELEASE).items() if match} == equal
