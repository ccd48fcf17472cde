"""What is replaced is the whole occurrence, not just the stretch from its first to its last field."""

import pytest

import parse


@pytest.mark.parametrize(
    "format, repl, string, expected",
    [
        ("<b>{}</b>", "*{}*", "some <b>bold</b> text", "some *bold* text"),
        ("({:d}", "{}", "f(1,g(2", "f1,g2"),
        ("{:d}px", "{}pt", "3px,14px", "3pt,14pt"),
        ("[{name}]", "{name}", "[x] and [yz]", "x and yz"),
        ("<b>{}</b>", "*{}*", "<b>a</b><b>c</b>, <b>d</b>", "*a**c*, *d*"),
        ("{a:d}x{b:d}=", "{b}-{a}:", "1x2=3,40x50=90", "2-1:3,50-40:90"),
        ("--{}--", "", "a--b--c", "ac"),
        ("{{{:d}}}", "{}", "x{7}y", "x7y"),
        ("<{}>", "{0}{0}", "<ab>", "abab"),
        ("a{:d}b{:d}c", "{1}", "_a1b22c_a3b4c_", "_22_4_"),
        ("{n:d}/{n:d};", "{n}", "3/3;4/4;", "34"),
    ],
    ids=["around", "before", "after", "named", "several", "between", "emptied", "braces", "twice", "all-three", "repeated"],
)
def test_literal_text_around_the_fields_is_replaced_too(format, repl, string, expected):
    assert parse.sub(format, repl, string) == expected
    assert parse.compile(format).sub(repl, string) == expected


def test_a_format_without_fields_can_be_replaced():
    try:
        result = parse.sub("cat", "dog", "cat and cat")
    except ValueError as error:
        pytest.fail(f"a format without fields is an error: {error}")
    assert result == "dog and dog"
    assert parse.sub("cat", "dog", "cat, cat, cat", count=2) == "dog, dog, cat"
    assert parse.sub("cat", lambda r: str(len(r.fixed)), "a cat") == "a 0"
    assert parse.sub("cat", "dog", "no match") == "no match"
    assert parse.compile("cat").sub("", "catcat") == ""
    assert parse.sub("cat", "dog", "cat cat cat", pos=2, endpos=8) == "cat dog cat"


def test_limits_and_callables_still_work():
    string = "<1> <2> <3> <4>"
    assert parse.sub("<{:d}>", lambda r: str(r[0] + 1), string) == "2 3 4 5"
    assert parse.sub("<{:d}>", "{}", string, pos=1) == "<1> 2 3 4"
    assert parse.sub("<{:d}>", "{}", string, pos=4, count=1) == "<1> 2 <3> <4>"
    assert parse.sub("<{:d}>", "{}", string, endpos=10) == "1 2 <3> <4>"
    assert parse.sub("<{:d}>", "{}", string, count=2) == "1 2 <3> <4>"
    assert parse.sub("<{:d}>", "{}", string, pos=4, endpos=11) == "<1> 2 3 <4>"
