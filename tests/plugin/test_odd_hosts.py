"""A machine, a shell or a project that is set up in an unusual way: a run as anywhere else, or one sentence."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

SLOW = "import json, time\ntime.sleep(2.5)\nprint(json.dumps({'schema': 1, 'findings': []}))\n"


@pytest.mark.bubblewrap
@pytest.mark.parametrize("method", ["signal", "thread"])
def test_seconds_for_tests_are_not_for_trials(lab: Any, method: str) -> None:
    pytest.importorskip("pytest_timeout")
    command = f"[{sys.executable}, slow.py]"
    lab.write(
        {
            "slow.py": SLOW,
            "crab.yaml": f"reviewers: {{slow: {{use: command, command: {command}, files: [slow.py]}}}}\n",
            "pytest.ini": f"[pytest]\ntimeout = 1\ntimeout_method = {method}\n",
        }
    )
    result = lab.spawn("--reviewer=slow", "instances/shop-1", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    assert "Timeout" not in result.stdout.str()
    assert lab.records()[0]["review"]["findings"] == []


def limited(lab: Any, soft: int, hard: int) -> pytest.RunResult:
    """Run human on an instance in a process whose open files are limited."""
    code = f"import resource, runpy; resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard})); "
    code += "import sys; sys.argv[0] = 'pytest'; runpy.run_module('pytest', run_name='__main__')"
    arguments = ("--crab-runtime=local", "--reviewer=human", "instances/shop-1")
    lab.forget("proof", "evaluation")
    return lab.pytester.run(sys.executable, "-c", code, *arguments)


@pytest.mark.bubblewrap
def test_a_low_limit_of_open_files_is_raised_where_that_is_allowed(lab: Any) -> None:
    limited(lab, 64, 4096).assert_outcomes(passed=1)


def test_one_that_cannot_be_raised_is_a_sentence(lab: Any) -> None:
    result = limited(lab, 64, 64)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *64 files*a run needs 256*"])


@pytest.mark.bubblewrap
def test_an_old_locale_changes_nothing(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    instance = lab.path / "instances" / "shop-1" / "instance.yaml"
    instance.write_text(instance.read_text("utf-8").replace("Shop", "Läden für alle"), "utf-8")
    result = lab.spawn("--reviewer=human", "instances/shop-1")
    result.assert_outcomes(passed=1)
    told = json.loads((lab.report / "instances" / "shop-1.json").read_text("utf-8"))
    assert "Läden für alle" in told.values()
