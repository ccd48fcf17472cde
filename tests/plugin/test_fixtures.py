from __future__ import annotations

from typing import Any

TEST = """
import pytest

@pytest.mark.crab_instances("instances")
def test_caught(crab_instance, crab_trial):
    assert crab_trial.instance == crab_instance.id
    assert [result.verdict.value for result in crab_trial.results] == ["caught"] * 2
"""


def test_own_tests_about_trials(lab: Any) -> None:
    lab.write({"test_own.py": TEST})
    lab.run("--reviewer=human", "test_own.py").assert_outcomes(passed=2)
    lab.run("--reviewer=none", "test_own.py").assert_outcomes(failed=2)


def test_own_tests_are_skipped_without_a_reviewer(lab: Any) -> None:
    lab.write({"test_own.py": TEST})
    result = lab.run("test_own.py", "-rs")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["*no reviewer is named: add --reviewer=NAME*"])


def test_a_test_says_which_instances_it_means(lab: Any) -> None:
    lab.write({"test_own.py": "def test_it(crab_instance): pass\n"})
    result = lab.run("test_own.py")
    result.stdout.fnmatch_lines(["*asks for crab_instance and does not say which*"])
