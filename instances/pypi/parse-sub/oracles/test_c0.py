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
    ],
    ids=["around", "before", "after", "named"],
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


def test_limits_and_callables_still_work():
    string = "<1> <2> <3> <4>"
    assert parse.sub("<{:d}>", lambda r: str(r[0] + 1), string) == "2 3 4 5"
    assert parse.sub("<{:d}>", "{}", string, count=2) == "1 2 <3> <4>"
    assert parse.sub("<{:d}>", "{}", string, pos=4, endpos=11) == "<1> 2 3 <4>"
