from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, strategies as st

from pytest_crab.text import (
    ascii_line,
    cut_middle,
    escape_controls,
    last_line,
    one_line,
    split_lines,
)


@given(st.text(st.characters(codec=None)))
@example("\x00\x1b\x7f\x9b\u202e\ud800\ufffe\U0010ffff]]>&<")
def test_visible_text_is_printable_and_legal_in_xml(text: str) -> None:
    shown = escape_controls(text)
    assert shown.isprintable()
    element = ET.Element("a")
    element.text = shown
    assert (ET.fromstring(ET.tostring(element)).text or "") == shown


def test_printable_text_is_left_alone() -> None:
    assert escape_controls("naïve 空指针 🦀") == "naïve 空指针 🦀"


def test_one_line_joins_and_cuts() -> None:
    assert one_line("  a\r\n\tb\x0bc ") == "a b c"
    assert one_line("abcdefgh", 6) == "abc..."
    assert one_line("abcdef", 6) == "abcdef"


@given(st.text(), st.integers(3, 40))
def test_an_ascii_line_is_as_wide_as_it_is_long(text: str, limit: int) -> None:
    assert ascii_line(text, limit).isascii()
    assert len(ascii_line(text, limit)) <= limit


def test_a_long_text_keeps_its_start_and_its_end() -> None:
    assert cut_middle("abcdef", 6) == "abcdef"
    assert cut_middle("abcdefgh", 4) == "ab\n[4 characters left out]\ngh"


def test_the_last_line_is_that_of_the_first_output_with_words() -> None:
    assert last_line(b" \n", "one\n two \n\n", "three") == "two"
    assert last_line(b"\xff" * 400).endswith("...")
    assert last_line("", b"") == ""


@pytest.mark.parametrize("sign", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028", "\u2029", "\r"])
def test_lines_end_at_newlines_alone(sign: str) -> None:
    assert split_lines(f"a{sign}b\nc{sign}\r\n\nd") == [f"a{sign}b", f"c{sign}", "", "d"]
    assert split_lines(f"a{sign}b\n".encode()) == [f"a{sign}b".encode()]
    assert split_lines(sign) == [sign]
    assert split_lines("") == []
