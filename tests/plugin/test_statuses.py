"""The statuses of trials in pytest's own output, and what pytest's options make of them."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.bubblewrap

BOTH = ("--reviewer=human", "--reviewer=none", "instances/shop-1")


def test_a_miss_has_words_of_its_own_and_no_red(lab: Any) -> None:
    result = lab.run(*BOTH, "--color=yes")
    (last,) = (line for line in result.outlines if " fully caught" in line)
    assert "1 of 2 trials fully caught" in last
    assert "failed" not in last
    assert "\x1b[31m" not in last
    assert "\x1b[33mM\x1b[0m" in result.stdout.str()
    lab.run("--reviewer=human", "instances").stdout.fnmatch_lines(["=* 2 of 2 pull requests fully caught in *"])


def test_what_is_unknown_is_red(lab: Any) -> None:
    lab.make_sick()
    result = lab.run("--reviewer=human", "instances", "--color=yes")
    assert "\x1b[31mU\x1b[0m" in result.stdout.str()
    assert "1 unknown" in result.outlines[-1]
    assert "\x1b[31m" in result.outlines[-1]
    assert "2 of 3 pull requests fully caught" in result.outlines[-1]


def test_tests_beside_trials_keep_pytests_words(lab: Any) -> None:
    lab.write({"test_own.py": "def test_good():\n    pass\n\ndef test_bad():\n    assert False\n"})
    result = lab.run(*BOTH, "test_own.py")
    result.stdout.fnmatch_lines(["=* 1 of 2 trials fully caught, 1 failed, 1 passed in *"])


def test_for_pytests_options_a_miss_is_a_failure(lab: Any) -> None:
    result = lab.run(*BOTH, "-rfp")
    result.stdout.fnmatch_lines(["MISSED 0/2 caught *::none*", "CAUGHT 2/2 caught *::human*"])
    lab.run(*BOTH, "--lf").stdout.fnmatch_lines(["*0 of 1 pull request fully caught*"])
    first = lab.run("--reviewer=none", "instances", "-x")
    first.stdout.fnmatch_lines(["*stopping after 1 failures*"])
    first.assert_outcomes(failed=1)
