"""Every value that is saved is read again as it was."""

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
