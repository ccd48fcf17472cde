"""Every value that is saved is read again as it was."""

import itertools

import pytest

import dotenv

VALUES = {
    "plain": "text",
    "apostrophe": "it's",
    "only": "'",
    "both": "\"it's\"",
    "quotes": "say \"hi\"",
    "backslash": r"C:\temp\new",
    "double": r"\\server\share",
    "escaped": r"it\'s",
    "comment": "a # b",
    "spaces": "  around  ",
    "lines": "one\ntwo's\nthree",
    "empty": "",
    "dollar": "${HOME}",
}


@pytest.mark.parametrize("name", sorted(VALUES))
def test_a_value_comes_back(tmp_path, name):
    values = {"BEFORE": "1", "KEY": VALUES[name], "AFTER": "2"}
    dotenv.save_dotenv(values, tmp_path / ".env")
    assert dict(dotenv.dotenv_values(tmp_path / ".env", interpolate=False)) == values


def test_all_together_and_keys_without_a_value(tmp_path):
    values = {**{f"KEY_{name}": value for name, value in VALUES.items()}, "NOTHING": None}
    dotenv.save_dotenv(values, tmp_path / ".env")
    found = dotenv.dotenv_values(tmp_path / ".env", interpolate=False)
    assert list(found.items()) == list(values.items())


def test_every_short_value_of_what_may_go_wrong(tmp_path):
    alphabet = "'\"\\n\n #$a"
    texts = ["".join(letters) for length in range(1, 5) for letters in itertools.product(alphabet, repeat=length)]
    values = {f"KEY_{number}": text for number, text in enumerate(texts) if not text.endswith("\\")}
    dotenv.save_dotenv(values, tmp_path / ".env")
    found = dict(dotenv.dotenv_values(tmp_path / ".env", interpolate=False))
    assert {key: (value, found.get(key)) for key, value in values.items() if found.get(key) != value} == {}
    assert len(found) == len(values)


@pytest.mark.parametrize("value", ["\t", "a\\tb", "\\\\x", "\\'\\'x", "export A=1", "a=b", "`id`", "caf\u00e9 \u2603", "'" * 3, '"' * 3, "\\u0041", "a\n\n\nb", "'quoted'", '"quoted"', "# no comment"])
def test_more_values(tmp_path, value):
    dotenv.save_dotenv({"KEY": value, "AFTER": "1"}, tmp_path / ".env")
    assert dict(dotenv.dotenv_values(tmp_path / ".env", interpolate=False)) == {"KEY": value, "AFTER": "1"}
