from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from fake_checkout import FakeCheckout
from pytest_crab.agents.simulated import SimulatedAgent, hits
from pytest_crab.errors import AgentError
from pytest_crab.types import Category, Comment, Finding, Instance, Kind, Oracle, Side


def on(
    start: int | None, end: int | None = None, *, path: str | None = "numbers.txt", side: Side = Side.RIGHT
) -> Finding:
    return Finding(path=path, start=start, end=end, side=side, body="B")


def revised(checkout: FakeCheckout, instance: Instance, *findings: Finding) -> list[str]:
    """The lines that the agent adds."""
    revision = SimulatedAgent().bind(instance).revise(checkout.pull_request(), findings, checkout)
    lines = revision.diff.split("\n")
    return [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]


def test_a_finding_on_the_comment_leads_to_its_reference(checkout: FakeCheckout, instance: Instance) -> None:
    assert revised(checkout, instance, on(12)) == ["near"]


def test_references_that_were_hit_apply_together_and_once(checkout: FakeCheckout, instance: Instance) -> None:
    assert revised(checkout, instance, on(50), on(10), on(9, 11), on(50)) == ["near", "far"]


@pytest.mark.parametrize(
    "finding",
    [
        on(13),
        on(9),
        on(11, path="other.txt"),
        Finding(body="B"),
        on(None),
        on(5),
        on(11, side=Side.LEFT),
        on(1, 60),
        on(46, 66),
    ],
)
def test_a_finding_elsewhere_or_everywhere_changes_nothing(
    finding: Finding, checkout: FakeCheckout, instance: Instance
) -> None:
    assert revised(checkout, instance, finding) == []
    assert checkout.openings == []


def test_a_finding_may_be_as_long_as_the_comment(checkout: FakeCheckout, instance: Instance) -> None:
    assert revised(checkout, instance, on(20, 45)) == ["long"]
    assert revised(checkout, instance, on(20, 46)) == []


def test_flagging_every_changed_line_does_not_reach_what_lies_elsewhere(
    checkout: FakeCheckout, instance: Instance
) -> None:
    every = [on(line) for line in range(2, 58)]
    assert revised(checkout, instance, *every) == ["near", "long", "far"]


def test_a_comment_without_a_reference_cannot_be_acted_on(checkout: FakeCheckout, instance: Instance) -> None:
    with pytest.raises(AgentError, match="comment bare was found and has no reference of its own"):
        revised(checkout, instance, on(11), on(58))


def test_references_that_do_not_apply_together_are_named(
    checkout: FakeCheckout, instance: Instance, tmp_path: Path
) -> None:
    rival = (tmp_path / "reference" / "near.diff").read_text().replace("+near", "+rival")
    (tmp_path / "reference" / "far.diff").write_text(rival)
    with pytest.raises(AgentError, match="references of near, far do not apply together"):
        revised(checkout, instance, on(11), on(50))


def test_a_reference_that_is_gone_is_named(checkout: FakeCheckout, instance: Instance, tmp_path: Path) -> None:
    (tmp_path / "reference" / "near.diff").unlink()
    with pytest.raises(AgentError, match=r"near\.diff cannot be read"):
        revised(checkout, instance, on(11))


def test_the_identity_follows_the_references(instance: Instance, tmp_path: Path) -> None:
    before = SimulatedAgent().bind(instance).identity()
    (tmp_path / "reference" / "near.diff").write_text("other")
    assert SimulatedAgent().bind(instance).identity() != before


def test_it_says_that_it_is_simulated(instance: Instance) -> None:
    assert SimulatedAgent().simulated
    assert SimulatedAgent().bind(instance).simulated


numbers = st.integers(1, 80)
spans = st.tuples(numbers, st.integers(0, 30)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(spans, spans, st.sampled_from(Side), st.sampled_from(Side), st.booleans())
def test_the_overlap_rule(
    finding_lines: tuple[int, int],
    lines: tuple[int, int],
    side: Side,
    other: Side,
    same_path: bool,  # noqa: FBT001
) -> None:
    comment = Comment(
        id="c",
        path="a.py",
        lines=lines,
        side=side,
        body="B",
        category=Category.DESIGN,
        kind=Kind.STRUCTURAL,
        oracle=Oracle(file="o.py"),
    )
    start, end = finding_lines
    covered = set(range(start, end + 1))
    own = set(range(lines[0], lines[1] + 1))
    expected = same_path and side is other and bool(covered & own) and len(covered) <= max(20, len(own))
    finding = Finding(path="a.py" if same_path else "b.py", start=start, end=end, side=other, body="B")
    assert hits(finding, comment) is expected
    assert hits(Finding(path="a.py", start=lines[0], end=lines[1], side=side, body="B"), comment)
