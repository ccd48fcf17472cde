"""SWE-PRBench's rules, one by one: each rejects what it is for, and its switch lets it through."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pytest_crab.curation.select import Selection, difficulty
from pytest_crab.curation.stages import Rejection
from pytest_crab.diffs import parse
from pytest_crab.types import CandidateComment, Comment, GitSource, PullCandidate, PullRequestFacts, ReviewActivity

REMARK = "This should return an error instead of zero, because `price(None)` hides a bug in the caller."


def diff_of(*paths: str, lines: int = 3) -> str:
    return "".join(
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,{lines + 1} @@\n one\n"
        + "".join(f"+{at}\n" for at in range(lines))
        for path in paths
    )


def remark(name: str, author: str = "ann", body: str = REMARK, **changes: Any) -> CandidateComment:
    comment = Comment(id=name, path=changes.pop("path", "shop.py"), lines=changes.pop("lines", (2, 2)), body=body)
    return CandidateComment(comment=comment, author=author, **changes)


def candidate(**changes: Any) -> PullCandidate:
    sha = "1" * 40
    known: dict[str, Any] = {
        "id": "o__n-1", "origin": "git", "repo": "o/n",
        "pull_request": PullRequestFacts(number=1, title="Fix a crash of the till"),
        "source": GitSource(url="https://github.com/o/n", base=sha, head=sha),
        "diff": diff_of("shop.py", "tests/test_shop.py"),
        "comments": (remark("c0"), remark("c1", "bob")),
        "activity": ReviewActivity(author="dev", merged=True, public=True, reviewers=("ann", "bob")),
    }  # fmt: skip
    return PullCandidate(**{**known, **changes})


def run(one: PullCandidate, **settings: Any) -> PullCandidate | Rejection:
    return Selection(**settings).run(one, None)  # type: ignore[arg-type]


def activity(**changes: Any) -> ReviewActivity:
    return dataclasses.replace(candidate().activity, **changes)


BOTS = (remark("c0"), remark("c1", "bob"), remark("c2", "coderabbitai"), remark("c3", "x[bot]"))
BUMP = PullRequestFacts(number=1, title="Bump requests from 2.1 to 2.2")


@pytest.mark.parametrize(
    ("changes", "reason", "switch"),
    [
        ({"activity": activity(merged=False)}, "not merged", {"merged": False}),
        ({"comments": (remark("c1", body="Nice!"),)}, "fewer than 1", {"substantive": 0}),
        ({"diff": diff_of("tests/test_shop.py")}, "only tests", {"code": False}),
        ({"diff": diff_of("docs/index.md", "README.rst")}, "only documentation", {"documentation": False}),
        ({"activity": activity(author="dependabot[bot]")}, "dependency update", {"dependencies": False}),
        (
            {"pull_request": BUMP, "diff": diff_of("requirements.txt")},
            "dependency update",
            {"dependencies": False, "rvs": 0.0},
        ),
        ({"diff": "@@ nothing"}, "cannot be read", {"parseable": False, "rvs": 0.0}),
        ({"source": None}, "base commit", {"base": False}),
        ({"diff": diff_of("shop.py", lines=801)}, "too large", {"most_added": 0}),
    ],
)
def test_each_rule_rejects_names_its_setting_and_can_be_turned_off(
    changes: dict[str, Any], reason: str, switch: dict[str, Any]
) -> None:
    assert isinstance(run(candidate()), PullCandidate)
    one = candidate(**changes)
    found = run(one)
    assert isinstance(found, Rejection), found
    assert reason in found.reason
    assert f"(curate.select.{next(iter(switch))})" in found.reason
    assert isinstance(run(one, **switch), PullCandidate)


@pytest.mark.parametrize(
    ("changes", "settings", "reason"),
    [
        ({"comments": (remark("c0"),)}, {"substantive": 2}, "fewer than 2"),
        ({"comments": BOTS}, {"ai_share": 0.3}, "machines"),
        ({"pull_request": PullRequestFacts(number=1, title="Words"), "diff": diff_of("shop.py")}, {"rvs": 0.3}, "RVS"),
        ({}, {"most_files": 1}, "too large"),
    ],
)
def test_rules_that_are_off_by_default(changes: dict[str, Any], settings: dict[str, Any], reason: str) -> None:
    one = candidate(**changes)
    assert isinstance(run(one), PullCandidate)
    found = run(one, **settings)
    assert isinstance(found, Rejection)
    assert reason in found.reason


def test_bots_answers_and_the_author_raise_no_issue() -> None:
    answer = remark("c4", "bob", reply_to="c0", body="That is how the till of the shop works today.")
    own = remark("c5", "dev")
    new = remark("c7", "bob", reply_to="c0", body="And wouldn't this fall apart for class instances?")
    passing = remark("c8", "eve", reply_to="c0", body="Should this not be a list?")
    found = run(candidate(comments=(*BOTS, remark("c6"), answer, own, new, passing)))
    assert isinstance(found, PullCandidate)
    assert [one.comment.id for one in found.comments] == ["c0", "c1", "c6", "c7"]
    assert found.dropped["c2"] == "by a bot (curate.select.bots)"
    assert set(found.dropped) == {"c2", "c3", "c4", "c5", "c8"}
    kept = run(candidate(comments=(*BOTS, answer, own)), own_remarks=True, bots=True, answers=True)
    assert isinstance(kept, PullCandidate)
    assert not kept.dropped
    alone = run(candidate(comments=BOTS[2:]))
    assert isinstance(alone, Rejection)
    assert set(alone.comments or ()) == {"c2", "c3"}


def test_a_kept_candidate_has_its_numbers_and_doubts() -> None:
    found = run(candidate(activity=activity(merged=None)))
    assert isinstance(found, PullCandidate)
    parts = {name: float(value) for name, value in found.tags.items() if name.startswith("rvs_")}
    # depth: 2 comments and 2 threads of 20; 2 files of 20, 6 lines of 800, 2 directories; 2 reviewers of 5, no reply
    assert parts == {
        "rvs_review_depth": 0.2,
        "rvs_code_complexity": pytest.approx((0.1 + 6 / 800 + 0.25) / 3, abs=5e-4),
        "rvs_discussion_signal": 0.2,
        "rvs_test_change_signal": 1.0,
        "rvs_bug_fix_signal": 1.0,
    }
    assert (found.tags["size"], found.tags["difficulty"]) == ("XS", "Type1_Direct")
    assert found.flags == ("the source does not say: merged",)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ({"lines": (2, 2)}, "Type1_Direct"),
        ({"lines": (1, 1)}, "Type2_Contextual"),
        ({"lines": None}, "Type2_Contextual"),
        ({"path": "other.py"}, "Type3_Latent_Candidate"),
    ],
)
def test_difficulty_follows_from_the_place(place: dict[str, Any], expected: str) -> None:
    assert difficulty(remark("c0", **place), parse(diff_of("shop.py"))) == expected
