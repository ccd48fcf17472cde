from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from fake_checkout import FakeCheckout
from pytest_crab.errors import ReviewerError
from pytest_crab.reviewers.ruff import Diagnostic, RuffReviewer, read_diagnostics, ruff_program, touching
from pytest_crab.types import Finding


def found(
    checkout: FakeCheckout, reviewer: RuffReviewer | None = None
) -> list[tuple[str | None, str | None, int | None]]:
    review = (reviewer or RuffReviewer()).review(checkout.pull_request(), checkout)
    return [(finding.rule, finding.path, finding.start) for finding in review.findings]


def test_only_what_touches_added_lines_of_python_files_is_said(checkout: FakeCheckout) -> None:
    """The unused import on line 1 was there before, and notes.txt is no Python."""
    review = RuffReviewer().review(checkout.pull_request(), checkout)
    assert review.findings == (
        Finding(
            path="calc.py",
            start=4,
            end=4,
            title="mutable argument default",
            body="Do not use mutable data structures for argument defaults",
            rule="B006",
        ),
    )
    assert review.version is not None
    assert review.version.startswith("ruff ")


def test_it_runs_on_a_clone_that_sees_ruff_and_no_network(checkout: FakeCheckout) -> None:
    found(checkout)
    (opening,) = checkout.openings
    assert (opening.place, opening.readable, opening.network) == ("clone", (ruff_program(),), False)


def test_rules_can_be_chosen(checkout: FakeCheckout) -> None:
    assert found(checkout, RuffReviewer(select=("F",))) == []
    assert found(checkout, RuffReviewer(ignore=("B006",))) == []


def test_the_tree_cannot_switch_rules_off(tmp_path: Path) -> None:
    head = {"a.py": b"def f(x=[]):\n    return x\n", "ruff.toml": b'exclude = ["*.py"]\n', ".gitignore": b"*.py\n"}
    assert found(FakeCheckout(tmp_path / "x", head=head)) == [("B006", "a.py", 1)]


def test_a_pull_request_without_python_opens_no_checkout(tmp_path: Path) -> None:
    checkout = FakeCheckout(tmp_path / "x", head={"a.txt": b"x\n"}, base={"b.py": b"import os\n"})
    assert found(checkout) == []
    assert checkout.openings == []


def test_odd_names_and_types_files_are_read(tmp_path: Path) -> None:
    head = {"-x y.py": b"import os\n", "src/\xe9.pyi": b"import os\n"}
    assert found(FakeCheckout(tmp_path / "x", head=head)) == [("F401", "-x y.py", 1), ("F401", "src/\xe9.pyi", 1)]


def test_a_syntax_error_is_a_finding(tmp_path: Path) -> None:
    head = {"a.py": b"def f(:\n    return 1\n", "b.py": b"\xff\xfe\x00"}
    assert found(FakeCheckout(tmp_path / "x", head=head))[0] == ("invalid-syntax", "a.py", 1)


def test_a_syntax_error_that_shows_elsewhere_is_a_finding(tmp_path: Path) -> None:
    rest = b"x = 1\n" * 3
    checkout = FakeCheckout(tmp_path / "x", head={"a.py": b"y = (\n" + rest}, base={"a.py": b"y = 0\n" + rest})
    assert [rule for rule, _, _ in found(checkout)] == ["invalid-syntax"]


def test_new_syntax_is_no_fault(tmp_path: Path) -> None:
    head = {"a.py": b"type Pair[T] = tuple[T, T]\n"}
    assert found(FakeCheckout(tmp_path / "x", head=head)) == []


def test_a_rule_that_ruff_does_not_know_is_a_reviewer_error(checkout: FakeCheckout) -> None:
    with pytest.raises(ReviewerError, match=r"exit code 2.*NOPE1.*crab\.yaml"):
        found(checkout, RuffReviewer(select=("NOPE1",)))


def test_a_slow_ruff_is_a_reviewer_error(checkout: FakeCheckout) -> None:
    with pytest.raises(ReviewerError, match="did not end within 1e-06 seconds"):
        found(checkout, RuffReviewer(timeout=1e-6))


@pytest.mark.parametrize("report", [b"", b"All checks passed!", b"{}x", b"[1]", b'[{"filename": "/tree/a.py"}]', b"7"])
def test_garbage_is_a_reviewer_error(report: bytes) -> None:
    with pytest.raises(ReviewerError, match="no report"):
        list(read_diagnostics(report, "/tree"))


def test_a_path_outside_the_tree_is_a_reviewer_error() -> None:
    place = {"row": 1, "column": 1}
    item = {"code": None, "message": "m", "filename": "/etc/a.py", "location": place, "end_location": place}
    with pytest.raises(ReviewerError, match="does not lie below"):
        list(read_diagnostics(json.dumps([item]).encode(), "/tree"))


def test_the_identity_follows_the_settings() -> None:
    reviewer = RuffReviewer()
    identity = reviewer.identity()
    assert str(identity["version"]).startswith("ruff ")
    assert dataclasses.replace(reviewer, timeout=5).identity() == identity
    for other in ({"select": ("F",)}, {"ignore": ()}, {"target_version": "py312"}):
        assert dataclasses.replace(reviewer, **other).identity() != identity


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 9), st.integers(0, 4), st.sampled_from(["F1", None]))),
    st.dictionaries(st.sampled_from("ab"), st.sets(st.integers(1, 9))),
)
def test_what_is_kept_touches_or_is_a_first_syntax_error(
    items: list[tuple[str, int, int, str | None]], added: dict[str, set[int]]
) -> None:
    diagnostics = [Diagnostic(path, start, start + more, rule, None, "m") for path, start, more, rule in items]
    kept = list(touching(diagnostics, added))
    for one in diagnostics:
        if set(range(one.start, one.end + 1)) & added.get(one.path, set()):
            assert one in kept
        elif one.rule is not None:
            assert one not in kept
    broken = {one.path for one in diagnostics if one.rule is None}
    assert broken <= {one.path for one in kept}
