"""The page of two runs: what the command writes, and what a browser shows of it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.instances.pull_requests import Subject, SubjectComment, write_subject
from pytest_crab.results.files import write_summary, write_trials
from pytest_crab.results.summary import summarise
from pytest_crab.types import CommentResult, Finding, Reason, Review, Revision, Trial

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

HOSTILE = "<img src=x onerror=document.title='owned'></script><script>document.title='owned'</script>"
DIFF = "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1,1 +1,2 @@\n one\n+{}\n"


@pytest.fixture(scope="module")
def runs(
    tmp_path_factory: pytest.TempPathFactory,
    make_trial: Callable[..., Trial],
    make_result: Callable[..., CommentResult],
) -> tuple[Path, Path]:
    """Two runs of four pull requests: the second lost the oracle of the first and gained that of the second."""
    folder = tmp_path_factory.mktemp("runs")
    fates = {"before": "cmcm", "after": "mccm"}
    for name, letters in fates.items():
        trials = []
        for at, letter in enumerate(letters):
            reason = Reason.GREEN if letter == "c" else Reason.FAILED
            trial = make_trial("mine", f"i{at}", make_result("c0", reason, path="m.py", lines=(2, 2)), repo=f"o/r{at}")
            review = Review(findings=(Finding(body=f"{name} {HOSTILE}", path="m.py", start=2),))
            trials.append(
                dataclasses.replace(trial, review=review, revision=Revision(diff=DIFF.format(name + HOSTILE)))
            )
            comment = SubjectComment(id="c0", path="m.py", lines=(2, 2), body=HOSTILE)
            subject = Subject(
                instance=f"i{at}", repo=f"o/r{at}", language="python", title="t", diff=DIFF, comments=(comment,)
            )
            write_subject(folder / name, subject)
        write_trials(folder / name / "trials.jsonl", trials)
        write_summary(folder / name / "summary.json", summarise(trials))
    return folder / "before", folder / "after"


def write(runs: tuple[Path, Path], page: Path, *options: str) -> str:
    done = CliRunner().invoke(main, ["compare", *map(str, runs), "--html", str(page), *options])
    assert done.exit_code in (0, 1, 8), done.output
    return page.read_text(encoding="utf-8")


def test_lost_and_gained_oracles_are_listed_with_the_ruling(runs: tuple[Path, Path], tmp_path: Path) -> None:
    text = write(runs, tmp_path / "page.html", "--margin", "5")
    summaries = re.findall(
        r'<details class="change \w+"[^>]*><summary><strong>([^<]+)</strong>\s*<span[^>]*>([^<]+)', text
    )
    assert [(name, words.split("; ")[-1]) for name, words in summaries] == [
        ("i0::c0", "green → test failed"),
        ("i1::c0", "test failed → green"),
    ]
    assert '<span class="badge inconclusive">cannot tell</span>' in text
    assert "50.0% → 50.0%" in text
    assert "<img" not in text
    assert "document.title='owned'" not in text


def test_the_verdict_is_a_word_and_a_picture_against_zero_and_the_margin(
    runs: tuple[Path, Path], tmp_path: Path
) -> None:
    text = write(runs, tmp_path / "page.html", "--margin", "5")
    picture = text.partition('<figure class="verdict inconclusive">')[2].partition("</figure>")[0]
    assert 'class="zero"' in picture
    assert 'class="margin"' in picture
    assert "margin -5" in picture
    assert 'aria-label="mine: cannot tell whether it is worse than ' in picture
    assert '<h3>Lost</h3><p class="rate failed">1</p>' in text
    same = write((runs[0], runs[0]), tmp_path / "same.html", "--margin", "100")
    assert '<h3>Lost</h3><p class="rate passed">0</p>' in same


def test_an_anchor_is_compared_beside_the_baseline(runs: tuple[Path, Path], tmp_path: Path) -> None:
    text = write(runs, tmp_path / "page.html", "--anchor", str(runs[1]))
    mine, anchored = re.findall(r'<section aria-label="mine[^"]*">.*?</section>', text, re.DOTALL)
    assert mine.count('<details class="change ') == 2
    assert '<section aria-label="mine against ' in anchored
    assert 'class="change ' not in anchored, "nothing changed against the same run"


def test_without_records_the_page_says_that_diffs_are_missing(runs: tuple[Path, Path], tmp_path: Path) -> None:
    alone = []
    for run in runs:
        alone.append(tmp_path / f"{run.name}.json")
        alone[-1].write_bytes((run / "summary.json").read_bytes())
    text = write((alone[0], alone[1]), tmp_path / "page.html")
    assert 'data-block="' not in text
    assert text.count("so there is no diff to show") == 2
    shown = text.partition("<main")[2].partition("<script")[0]
    assert '<span class="badge ">no change shown</span>' in shown
    assert 'class="margin"' not in shown, "no gate was asked for"


def test_recorded_tools_have_no_such_page(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["compare", "a", "b", "--recorded", str(tmp_path), "--html", "x.html"])
    assert done.exit_code == 2
    assert "--recorded" in done.output


@pytest.mark.browser
def test_an_oracle_unfolds_to_the_revisions_of_both_runs(
    runs: tuple[Path, Path], tmp_path: Path, browser: Browser, look: Callable[[Page, str], None]
) -> None:
    write(runs, tmp_path / "page.html", "--margin", "5")
    page = browser.new_context(bypass_csp=True).new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((tmp_path / "page.html").as_uri())
    page.locator("details.change summary").first.click()
    page.wait_for_selector("details.change .code")
    shown = page.locator("details.change").first.inner_text()
    for name in runs:
        assert f"+{name.name}<img src=x" in shown
    assert [one.inner_text() for one in page.locator("details.change .pair .badge").all()] == [
        "caught",
        "missed",
    ]
    assert page.locator("details.change img, details.change script").count() == 0
    assert page.title() == "pytest-crab: two runs compared"
    look(page, "compare")
    assert said == []
