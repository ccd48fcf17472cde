"""A batch of trials and a comparison from Python, and how their results show themselves."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import pytest_crab
from pytest_crab.errors import BadInput
from pytest_crab.gate.results import Word
from pytest_crab.results.kept_runs import kept_runs
from pytest_crab.types import Verdict

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "from-python.md"


def run(reviewers: list[str], **more: Any) -> Any:
    return pytest_crab.run("instances", reviewers, "mine", runtime="local", **more)


@pytest.mark.bubblewrap
def test_a_batch_has_the_report_of_a_pytest_run(lab: Any) -> None:
    found = run(["both", "none"], repeats=2, jobs=2)
    assert found.folder == lab.report
    ids = [str(trial.id) for trial in pytest_crab.load_trials(found.folder)]
    assert ids == [
        f"{instance}::{name}{repeat}"
        for instance in ("shop-1", "till-2")
        for name in ("both", "none")
        for repeat in ("", "[2]")
    ]
    both, none = found.summary.reviewers
    assert (both.overall.micro, none.overall.micro, none.variant) == (1, 0, "control")
    assert both.lift is not None
    assert {"index.html", "oracles.csv", "summary.md", "instances"} <= {path.name for path in found.folder.iterdir()}
    assert pytest_crab.load_report().summary == pytest_crab.load_report(found.folder).summary
    lab.run("--reviewer=both", "--agent=mine", "instances")
    steps = lab.reused()[0]
    assert [steps[name] for name in ("proof", "review", "revision", "verdict")] == [True] * 4


@pytest.mark.bubblewrap
def test_a_comparison_says_which_is_better_and_shows_itself(lab: Any) -> None:
    half, both = run(["half"]), run(["both"])
    found = pytest_crab.compare(half, both.folder, reviewers=["half=both"])
    (one,) = found.comparisons
    assert one.comparison is not None
    assert (len(one.comparison.gained), len(one.comparison.lost)) == (2, 0)
    assert str(found).startswith("both: ")
    assert "2 more of 4 oracles caught, none lost" in str(found)
    gated = pytest_crab.compare(half, both, reviewers=["half=both"], margin=10)
    assert list(gated.words.values()) == [Word.NO_WORSE]
    with pytest.raises(BadInput, match="has no reviewer nobody"):
        pytest_crab.compare(half, both, reviewers=["nobody"])
    for shown in (both, found):
        tree = ElementTree.fromstring(f"<div>{shown._repr_html_()}</div>")
        assert "both" in "".join(tree.itertext())
    assert [cell.text for cell in ElementTree.fromstring(f"<div>{both._repr_html_()}</div>").iter("td")][-2] == "4/4"


@pytest.mark.bubblewrap
def test_a_part_of_the_pull_requests_takes_no_whole_run_s_place(lab: Any) -> None:
    whole = run(["none"])
    part = pytest_crab.run(Path("instances/shop-1"), "none", "mine", runtime="local")
    assert kept_runs(lab.store) == [whole.folder, part.folder]
    assert pytest_crab.load_report().folder.samefile(whole.folder)
    own = pytest_crab.run("instances/shop-1", "none", "mine", runtime="local", report="own")
    assert (own.folder, len(kept_runs(lab.store))) == (Path("own"), 2)


@pytest.mark.bubblewrap
def test_a_reviewer_that_always_fails_is_given_up(lab: Any) -> None:
    with (lab.path / "crab.yaml").open("a") as file:
        file.write("  gone: {use: command, command: [no-such-program]}\n")
    found = run(["gone"], jobs=1, give_up=1, repeats=2)
    first, *others = pytest_crab.load_trials(found.folder)
    assert {result.verdict for trial in (first, *others) for result in trial.results} == {Verdict.UNKNOWN}
    assert not found.summary.is_complete
    assert len({trial.error for trial in others}) == 1


@pytest.mark.bubblewrap
def test_every_block_of_the_page_runs(lab: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (lab.path / "instances").rename(lab.path / "first")
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), names)
    printed = capsys.readouterr().out
    assert "shop-1::human ['caught', 'caught']" in printed
    assert str(names["change"]) in printed
    assert [one.reviewer for one in names["change"].comparisons] == ["human"]


def test_wrong_names_are_one_sentence_and_leave_nothing(lab: Any) -> None:
    for reviewers, agent in ((["nobody"], "mine"), (["both"], "nobody")):
        with pytest.raises(BadInput, match="'nobody' is no"):
            pytest_crab.run("instances", reviewers, agent, runtime="local")
    assert kept_runs(lab.store) == []


def test_the_package_imports_nothing_of_it_before_it_is_used() -> None:
    look = "import sys, pytest_crab; print([name for name in sys.modules if name.startswith('pytest_crab.')])"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
