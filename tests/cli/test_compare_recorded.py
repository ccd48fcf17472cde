"""Two recorded tools as two runs: of a small set, and of the public release where it lies beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import scipy
from click.testing import CliRunner

from pytest_crab.cli.compare import compare

RELEASE = Path(__file__).parents[3] / "shared" / "data" / "ccrab"

release = pytest.mark.skipif(not RELEASE.is_dir(), reason="../shared/data/ccrab is not beside this checkout")


@release
def test_codex_against_pr_agent() -> None:
    arguments = ["codex", "pr-agent", f"--recorded={RELEASE}", "--json"]
    done = CliRunner().invoke(compare, arguments)
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)["pr-agent"]["comparison"]
    lost, gained = found["lost"], found["gained"]
    assert (len(lost), len(gained), found["known"]) == (14, 21, 234)
    assert "pandas-dev__pandas-55938@b36d8d1::c0" in lost
    assert found["p"] == pytest.approx(scipy.stats.binomtest(14, 35).pvalue, rel=1e-12)
    assert found["difference"] == pytest.approx(7 / 234)
    assert (found["interval"]["by"], found["interval"]["clusters"]) == ("pull request", 184)
    assert CliRunner().invoke(compare, [*arguments[:-1], "--margin=1"]).exit_code == 8
    told = CliRunner().invoke(compare, [*arguments[:-1], "--margin=5"])
    assert told.exit_code == 0
    assert told.output.startswith("pr-agent: no worse than codex: ")
    assert "; 20.1% to 23.1%, +3.0 points (95% " in told.output
    assert told.output.endswith("Gate passed, exit status 0.\n")


@release
def test_a_tool_that_is_not_on_record_is_said() -> None:
    done = CliRunner().invoke(compare, ["codex", "nobody", f"--recorded={RELEASE}"])
    assert done.exit_code == 2
    assert "there is no recorded tool nobody; there are" in done.output


INSTANCE = """\
schema: 1
id: shop-{number}
provenance: authored
repo: owner/shop-{number}
license: MIT
pull_request: {{number: 7, title: Add a cart}}
source:
  tree: {{path: ../project, head: head.diff, reference: head.diff}}
environment: {{dockerfile: python, python: "3.11"}}
comments:
  - {{id: c0, path: shop.py, lines: [1, 2], body: This should say two., category: testing}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of 60 repositories' oracles, half of them structural, eve caught all and bob the behavioral ones."""
    for number in range(60):
        kind = ("behavioral", "structural")[number % 2]
        for tool, caught in (("human", True), ("eve", True), ("bob", kind == "behavioral")):
            path = tmp_path / "recorded" / tool / f"shop-{number}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            data = {"schema": 1, "repo": f"owner/shop-{number}", "verdicts": {"c0": caught}, "source": "x"}
            path.write_text(json.dumps(data | ({"kinds": {"c0": kind}} if tool == "human" else {})))
    return tmp_path


def gated(folder: Path, before: str, after: str, *margins: str) -> tuple[int, str]:
    done = CliRunner().invoke(
        compare, [before, after, f"--recorded={folder}", "-v", *(f"--margin={one}" for one in margins)]
    )
    return done.exit_code, done.output


def test_a_margin_of_a_label_on_record_is_gated(folder: Path) -> None:
    assert gated(folder, "eve", "eve", "20", "structural=20")[0] == 0
    assert gated(folder, "eve", "bob", "60", "behavioral=20", "structural=20")[0] == 1
    assert gated(folder, "eve", "bob", "100", "behavioral=20")[0] == 0
    code, output = gated(folder, "eve", "eve", "20", "kind:structural=20", "security=10")
    assert code == 8
    assert "No oracle has the label security" in output
    assert "No oracle has the label kind:structural" not in output


def test_labels_of_the_sets_instances_count(folder: Path) -> None:
    assert gated(folder, "eve", "eve", "20", "testing=20")[0] == 8
    for number in range(60):
        own = folder / f"shop-{number}"
        own.mkdir()
        (own / "instance.yaml").write_text(INSTANCE.format(number=number))
        (own / "head.diff").write_text("--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n one\n-two\n+too\n")
    (folder / "project").mkdir()
    (folder / "project" / "shop.py").write_text("one\ntwo\n")
    code, output = gated(folder, "eve", "eve", "20", "testing=20", "structural=20")
    assert code == 0, output
    assert "category testing: no worse: the same verdict on " in output
