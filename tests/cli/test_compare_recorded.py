"""Two tools of the public release as two runs; only where the release lies beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from scipy import stats

from pytest_crab.cli.compare import compare

RELEASE = Path(__file__).parents[3] / "shared" / "data" / "ccrab"

pytestmark = pytest.mark.skipif(not RELEASE.is_dir(), reason="../shared/data/ccrab is not beside this checkout")


def test_codex_against_pr_agent() -> None:
    arguments = ["codex", "pr-agent", f"--recorded={RELEASE}", "--json"]
    done = CliRunner().invoke(compare, arguments)
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)["pr-agent"]["comparison"]
    lost, gained = found["lost"], found["gained"]
    assert (len(lost), len(gained), found["known"]) == (14, 21, 234)
    assert "pandas-dev__pandas-55938@b36d8d1::c0" in lost
    assert found["p"] == pytest.approx(stats.binomtest(14, 35).pvalue, rel=1e-12)
    assert found["difference"] == pytest.approx(7 / 234)
    assert (found["interval"]["by"], found["interval"]["clusters"]) == ("repository", 67)
    told = CliRunner().invoke(compare, [*arguments[:-1], "--margin=5"])
    assert told.exit_code == 0
    assert "Gate passed, exit status 0. pr-agent: up 3.0 points against codex, from 20.1% to 23.1%" in told.output


def test_a_tool_that_is_not_on_record_is_said() -> None:
    done = CliRunner().invoke(compare, ["codex", "nobody", f"--recorded={RELEASE}"])
    assert done.exit_code == 2
    assert "there is no recorded tool nobody; there are" in done.output
