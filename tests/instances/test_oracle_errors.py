"""oracle-errors.json: rates from counts, what people decided, and what a damaged file says."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.instances.oracle_errors import (
    FILE,
    ErrorDecision as D,
    Measurement,
    OracleErrors,
    error_rate,
    measured_again,
    read_errors,
    write_decision,
    write_measurements,
)
from pytest_crab.types import ErrorRate, OracleError

MUTANTS = Measurement(
    error=OracleError.FALSE_ACCEPT, total=10, wrong=("a",), undecided=("b", "c"), oracle="o", date="2026-01-01"
)
FIXES = Measurement(error=OracleError.FALSE_REJECT, total=4, oracle="o", date="2026-01-01")


@pytest.mark.parametrize(
    ("decisions", "rate", "words"),
    [
        ({}, ErrorRate(wrong=1, undecided=2, total=10), "10.0% to 30.0% (2 undecided) (1 of 10)"),
        (
            {"b": D.EQUIVALENT},
            ErrorRate(wrong=1, undecided=1, total=9),
            "11.1% to 22.2% (1 undecided) (1 of 9)",
        ),
        (
            {"b": D.WRONG, "c": D.RIGHT},
            ErrorRate(wrong=2, undecided=0, total=9),
            "22.2% (2 of 9)",
        ),
        (
            {"a": D.EQUIVALENT},
            ErrorRate(wrong=0, undecided=2, total=9),
            "0.0% to 22.2% (2 undecided) (0 of 9)",
        ),
    ],
)
def test_a_decision_takes_a_doubt_away(decisions: dict[str, D], rate: ErrorRate, words: str) -> None:
    found = error_rate([OracleErrors(measurements={"mutants": MUTANTS}, decisions=decisions)], OracleError.FALSE_ACCEPT)
    assert (found.wrong, found.undecided, found.total) == (rate.wrong, rate.undecided, rate.total)
    assert found.figures == words
    assert str(found) == f"{words} (checks, after repair, 2026-01-01)"


def test_errors_of_the_two_kinds_are_never_mixed() -> None:
    errors = [OracleErrors(measurements={"mutants": MUTANTS, "right fixes": FIXES})]
    assert error_rate(errors, OracleError.FALSE_REJECT).total == 4
    assert not error_rate(errors, OracleError.FALSE_REJECT_IN_COMPANY).total
    assert error_rate(errors, OracleError.FALSE_ACCEPT, "right fixes").low is None


def test_a_rate_says_what_it_was_measured_on() -> None:
    by_two = dataclasses.replace(MUTANTS, authors=2, date="2026-01-02")
    by_one = dataclasses.replace(MUTANTS, authors=1)
    both = error_rate([OracleErrors(measurements={"a": by_two, "b": by_one})], OracleError.FALSE_ACCEPT)
    assert both.basis == "fresh, 2 authors, 2026-01-01 to 2026-01-02"
    mixed = error_rate([OracleErrors(measurements={"a": by_one, "b": MUTANTS})], OracleError.FALSE_ACCEPT)
    assert mixed.basis == "fresh, 1 author, some after repair, 2026-01-01"


@pytest.mark.parametrize(
    ("oracle", "changes", "authors"),
    [("o", "x", 2), ("mended", "x", 0), ("mended", "new", 2), ("o", None, 2)],
)
def test_changes_that_an_oracle_was_mended_on_have_no_authors(oracle: str, changes: str | None, authors: int) -> None:
    known = OracleErrors(measurements={"right fixes": dataclasses.replace(FIXES, authors=2, changes="x")})
    again = dataclasses.replace(FIXES, authors=2, changes=changes, oracle=oracle)
    assert measured_again(known, {"right fixes": again}).measurements["right fixes"].authors == authors


def test_what_is_written_is_read_and_decisions_outlive_a_new_measurement(tmp_path: Path) -> None:
    write_measurements(tmp_path, "shop-1", {"c0": {"mutants": MUTANTS}})
    write_decision(tmp_path, "shop-1", "c0", "b", D.EQUIVALENT)
    write_measurements(tmp_path, "shop-1", {"c0": {"right fixes": FIXES}, "c1": {"right fixes": FIXES}})
    found = read_errors(tmp_path)["shop-1"]
    assert found["c0"] == OracleErrors(
        measurements={"mutants": MUTANTS, "right fixes": FIXES}, decisions={"b": D.EQUIVALENT}
    )
    assert found["c1"].measurements == {"right fixes": FIXES}


def test_a_decision_on_nothing_and_a_damaged_file_are_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="shop-1 c0 has no answer x on record"):
        write_decision(tmp_path, "shop-1", "c0", "x", D.WRONG)
    (tmp_path / FILE).write_text('{"schema": 1, "instances": []}')
    with pytest.raises(BadInput, match="measure again"):
        read_errors(tmp_path)
