"""Calls with positional arguments mean what they meant before there were captions."""

import pytest

from tabulate import tabulate


def test_the_fourth_argument_is_the_float_format():
    assert tabulate([[1.5]], (), "plain", ".3f") == "1.500"


def test_the_fifth_and_sixth_too():
    assert tabulate([[1234567]], (), "plain", "g", ",") == "1,234,567"
    assert tabulate([[1], [22]], (), "plain", "g", "", "left") == "1\n22"


def test_all_that_there_were():
    rows = [[1.5, "abc", None], [10.25, "d", "e"]]
    everything = ["plain", ".2f", "", "right", "right", "?", False, False, None, None, None, None]
    names = "tablefmt floatfmt intfmt numalign stralign missingval showindex disable_numparse".split()
    names += "colalign maxcolwidths rowalign maxheadercolwidths".split()
    expected = tabulate(rows, headers=["x", "y", "z"], **dict(zip(names, everything)))
    assert tabulate(rows, ["x", "y", "z"], *everything) == expected
    assert "?" in expected and "10.25" in expected


def test_the_last_argument_too():
    everything = ["plain", "g", "", "left", "left", "", False, False, None, None, None, [2, 4]]
    expected = tabulate([[1, 2]], ["aa bb", "cc dd"], tablefmt="plain", numalign="left", maxheadercolwidths=[2, 4])
    assert "aa bb" not in expected
    assert tabulate([[1, 2]], ["aa bb", "cc dd"], *everything) == expected


def test_a_caption_can_still_be_given():
    assert tabulate([[1.5]], (), "plain", ".3f", caption="Numbers") == "Numbers\n1.500"
    assert tabulate([[1]], tablefmt="plain", caption="Numbers") == "Numbers\n1"
