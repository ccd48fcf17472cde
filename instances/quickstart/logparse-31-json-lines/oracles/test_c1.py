import pytest

from logparse import ParseError, parse_json_line, read_records

OTHERS = ["null", "42", "1.5", "true", '"text"', "[]", '["a", "b"]', '[["message", "hello"]]', "0", "-1", "false", '""', '"message"', '["message"]', "1e9", "NaN", '[{"message": "hello", "ts": 1}]', " null "]
GOOD = '{"ts": 1709294400, "level": "info", "message": "hello"}'


def refused(line):
    try:
        parse_json_line(line)
    except Exception as error:
        return isinstance(error, ParseError)
    return False


@pytest.mark.parametrize("line", OTHERS)
def test_json_that_is_no_object_is_a_parse_error(line):
    assert refused(line)
    with pytest.raises(ParseError) as caught:
        list(read_records([GOOD, line], parse_json_line, errors="raise"))
    assert caught.value.line.strip() == line.strip()


@pytest.mark.parametrize("line", ["{", "hello", "{}"])
def test_other_bad_lines_still_are(line):
    assert refused(line)


def test_such_lines_are_skipped():
    try:
        records = list(read_records([GOOD, *OTHERS, GOOD], parse_json_line))
    except (AttributeError, TypeError) as error:
        pytest.fail(f"reading stopped: {error}")
    assert [record.message for record in records] == ["hello", "hello"]
