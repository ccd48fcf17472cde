"""The page on which a person rules, in a browser: what it shows, and its keys."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_crab.cli.curate_review import review_items
from pytest_crab.show.page.review import review_page
from pytest_crab.types import (
    CandidateComment,
    ChangeKind,
    Comment,
    JudgedChange,
    Kind,
    Oracle,
    OracleAttempt,
    PullCandidate,
    PullRequestFacts,
)
from tests.show.page.conftest import DIFF, HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser


def candidate() -> PullCandidate:
    changes = (
        JudgedChange(kind=ChangeKind.RIGHT, name="turned", why=HOSTILE, diff=DIFF, held=True),
        JudgedChange(kind=ChangeKind.NEAR, name="half", why="Half of it.", diff=DIFF, held=False),
        JudgedChange(kind=ChangeKind.RIGHT, name="other", why="So.", diff=DIFF, held=False, disputed="It is no fix."),
    )
    comments = tuple(
        CandidateComment(
            comment=Comment(
                id=f"c{number}",
                path="src/m.py",
                lines=(2, 2),
                body=HOSTILE,
                kind=Kind.BEHAVIORAL,
                oracle=Oracle(file="test_c.py"),
                reference="fix.diff",
            ),
            flags=("its oracle accepts half",),
            reasons=("fit: HIGH, a test can say",),
            attempts=(OracleAttempt(source=HOSTILE, fault="green at head"),),
            changes=changes,
        )
        for number in range(3)
    )
    facts = PullRequestFacts(number=7, title=HOSTILE, url="javascript:alert(1)")
    return PullCandidate(
        id="o__n-7",
        origin="git",
        repo="o/n",
        pull_request=facts,
        diff=DIFF,
        comments=comments,
        files={"fix.diff": DIFF, "test_c.py": HOSTILE},
    )


def test_a_comment_is_ruled_on_by_a_key_with_everything_in_view(
    browser: Browser, tmp_path: Path, look: Callable[[Page, str], None]
) -> None:
    file = tmp_path / "review.html"
    file.write_bytes(review_page("shop", review_items(candidate(), {}), by="ann", served=False).body)
    page = browser.new_context(bypass_csp=True, accept_downloads=True).new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector("#progress")
    look(page, "review")
    told = page.text_content("main") or ""
    assert "[object" not in told
    for part in (
        "green at head",
        "Half of it.",
        "its oracle accepts half",
        "fit: HIGH",
        "near half",
        "disputed",
        "It is no fix.",
    ):
        assert part in told
    assert page.locator("#diff .human").count() == 1
    assert page.locator(".human:visible").count() == 1  # in its place, without the rest of the pull request
    page.keyboard.press("r")  # a rejection without a reason is none, and asks for it
    page.keyboard.type("keeps nothing")
    page.keyboard.press("Enter")
    page.keyboard.press("1")  # for the same reason
    page.keyboard.press("p")
    page.keyboard.press("k")
    page.keyboard.press("e")
    page.fill("#text", "In our words.")
    page.get_by_text("Edit the oracle").click()
    page.fill("#oracle", "def test_mine():\n    assert True\n")
    page.keyboard.press("Control+Enter")
    page.get_by_text("All 3 are ruled on").wait_for()
    with page.expect_download() as saved:
        page.get_by_text("Save rulings.json").click()
    rulings = json.loads(Path(saved.value.path()).read_text())
    assert [(one["comment"], one["ruling"], one["by"], one["reason"], one["body"]) for one in rulings] == [
        ("c0", "reject", "ann", "keeps nothing", ""),
        ("c1", "keep", "ann", "", ""),
        ("c2", "edit", "ann", "", "In our words."),
    ]
    assert [one["oracle"] for one in rulings] == ["", "", "def test_mine():\n    assert True\n"]
    page.fill("#reason", "vague")  # a reason that was given with another word is one of the rejection too
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    page.get_by_text("This comment was kept").wait_for()
    page.keyboard.press("r")
    page.get_by_text("This comment was rejected").wait_for()
    with page.expect_download() as saved:
        page.get_by_text("Save rulings.json").click()
    last = json.loads(Path(saved.value.path()).read_text())[-1]
    assert (last["ruling"], last["reason"]) == ("reject", "vague")
    assert page.title() == "pytest-crab: comments to rule on"
    assert not faults


def test_a_comment_in_a_long_hunk_is_shown_with_the_lines_around_it(browser: Browser, tmp_path: Path) -> None:
    rows = "".join(f"+row {number}\n" for number in range(1, 301))
    long = f"diff --git a/src/m.py b/src/m.py\n--- /dev/null\n+++ b/src/m.py\n@@ -0,0 +1,300 @@\n{rows}"
    whole = candidate()
    (one, *_) = whole.comments
    there = dataclasses.replace(one, comment=dataclasses.replace(one.comment, lines=(200, 201)))
    items = review_items(dataclasses.replace(whole, diff=long, comments=(there,)), {})
    file = tmp_path / "review.html"
    file.write_bytes(review_page("shop", items, by="ann", served=False).body)
    page = browser.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("#progress")
    above = page.locator("tr:has(+ tr .human):visible")
    assert [above.locator("td").nth(column).inner_text() for column in (1, 2)] == ["201", "+row 201"]
    assert 30 < page.locator("tr.add:visible").count() < 100
    assert page.locator(".human").first.evaluate("node => node.getBoundingClientRect().bottom < innerHeight + 1")
