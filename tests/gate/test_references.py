from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.errors import BadInput
from pytest_crab.gate.pairing import design, flips
from pytest_crab.gate.planning import measure_of
from pytest_crab.gate.references import _pool_reviews, load_reference, repeated_run
from pytest_crab.results.files import write_trials
from pytest_crab.results.outcomes import OracleRecord
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import Provenance, Reason, Review, Usage


def write(folder: Path, *repeats: str, agent: str = "mini", **fields: Any) -> Path:
    """Write a run with an oracle a letter of each repeat, each of its own repository: c caught, m missed."""
    folder.mkdir()
    write_trials(
        folder / "trials.jsonl",
        [
            trial_of(
                instance=f"i{at}",
                repo=f"owner/r{at}",
                provenance=Provenance.GITHUB,
                reviewer="mine",
                agent=agent,
                runtime="docker",
                repeat=number,
                **fields,
                results=(
                    comment_result(
                        "c0", category="design", kind="behavioral", reason=Reason.GREEN if one == "c" else Reason.FAILED
                    ),
                ),
            )
            for number, verdicts in enumerate(repeats, 1)
            for at, one in enumerate(verdicts)
        ],
    )
    return folder


def test_noise_is_taken_from_the_newest_run_that_has_repeats(tmp_path: Path) -> None:
    """A baseline without repeats is planned for by what its reviewer and agent showed in other runs of the store."""
    (once,) = load_reference([write(tmp_path / "baseline", "ccmm")]).summary.reviewers
    assert repeated_run(tmp_path / ".crab", once) is None
    runs = tmp_path / ".crab" / "runs"
    runs.mkdir(parents=True)
    for at, (verdicts, agent) in enumerate(
        [(("cccc", "cccm"), "mini"), (("ccmm", "mmcc"), "codex"), (("cc",), "mini")]
    ):
        write(runs / f"{at}-mine", *verdicts, agent=agent)
    (runs / "3-killed").mkdir()
    (runs / "3-killed" / "run.json").touch()
    found = repeated_run(tmp_path / ".crab", once)
    assert found is not None
    assert (flips(found[0]), found[1]) == (pytest.approx(1 / 4), f"the repeats of {runs}/0-mine")
    assert repeated_run(tmp_path / ".crab", found[0]) == (found[0], "its own repeats")
    planned, assumed = design(once, repeated=found[0]), design(once)
    assert planned is not None and assumed is not None
    assert (planned.noise, assumed.noise) == (pytest.approx(1 / 4), pytest.approx(0.1))
    measure = measure_of(once, found)
    assert measure is not None
    assert (measure.noise, measure.grounds) == (pytest.approx(1 / 4), found[1])


def test_runs_are_pooled_as_repeats(tmp_path: Path) -> None:
    runs = [write(tmp_path / "mon", "ccmm"), write(tmp_path / "tue", "cmmm"), write(tmp_path / "wed", "cccmc")]
    found = load_reference(runs)
    (mine,) = found.summary.reviewers
    assert found.name == "mon pooled with 2 other runs"
    assert {oracle.instance: oracle.verdicts for oracle in mine.oracles} == {
        "i0": "ccc",
        "i1": "cmc",
        "i2": "mmc",
        "i3": "mmm",
        "i4": "c",
    }
    assert mine.repeats == 3
    assert mine.stability is not None
    assert mine.stability.flips == pytest.approx((0 + 2 / 3 + 2 / 3 + 0) / 4)


def test_one_run_is_taken_as_it_is(tmp_path: Path) -> None:
    found = load_reference([write(tmp_path / "mon", "ccmm")], role="anchor ")
    assert found.name == "anchor mon"
    assert found.summary.reviewers[0].overall.micro == 0.5


def test_the_load_of_pooled_runs_is_of_all_of_them(tmp_path: Path) -> None:
    runs = [
        write(tmp_path / day, "ccmm", review=Review(usage=usage, count=findings, version=version))
        for day, findings, version, usage in (
            ("mon", 1, "1.0", Usage(cost_usd=0.25)),
            ("tue", 4, "1.1", Usage(cost_usd=0.75)),
        )
    ]
    (mine,) = load_reference(runs).summary.reviewers
    assert (mine.trials, mine.comments_per_pull_request, mine.cost_usd, mine.unpriced) == (8, 2.5, 4.0, 0)
    assert mine.versions["reviewer"] == ("1.0", "1.1")
    unmeasured = write(tmp_path / "wed", "ccmm", review=Review(count=1, version="1.0"))
    (mine,) = load_reference([*runs, unmeasured]).summary.reviewers
    assert (mine.comments_per_pull_request, mine.cost_usd, mine.unpriced) == (2.0, None, 4)


def test_rates_of_pooled_runs_are_those_of_the_first(tmp_path: Path) -> None:
    (mine,) = load_reference([write(tmp_path / "mon", "cccm"), write(tmp_path / "tue", "mmmm")]).summary.reviewers
    assert mine.overall.micro == 0.75


def test_runs_under_other_conditions_are_not_pooled(tmp_path: Path) -> None:
    runs = [write(tmp_path / "mon", "ccmm"), write(tmp_path / "tue", "ccmm", agent="other")]
    with pytest.raises(BadInput, match=r"cannot be pooled with .*mon: the agent was mini and is other"):
        load_reference(runs)
    assert load_reference(runs, allowed="agent").summary.reviewers[0].repeats == 2


def test_an_anchor_stops_what_a_rolling_baseline_lets_go(tmp_path: Path) -> None:
    """Two steps of -4 points: each passes a margin of 8, and both together do not."""
    anchor, before, after = (
        write(tmp_path / name, "c" * (200 - lost) + "m" * (200 + lost))
        for name, lost in (("release", 0), ("last", 16), ("now", 32))
    )
    arguments = ["compare", str(before), str(after), "--margin=8"]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    told = CliRunner().invoke(main, [*arguments, f"--anchor={anchor}"])
    assert told.exit_code == 1
    assert "mine: worse, within the margin of 8 points, than last: " in told.output
    assert "mine: worse than the anchor release: " in told.output


@pytest.mark.parametrize(
    ("one", "other", "pooled"),
    [
        ((), (), ()),  # each verdict has a review of its own
        ((1, 1), (1, 1), (1, 1, 2, 2)),
        ((1, 1), (), (1, 1, 2, 3)),
        ((), (1, 1), (1, 2, 3, 3)),
    ],
)
def test_reviews_of_pooled_runs_are_told_apart(
    one: tuple[int, ...], other: tuple[int, ...], pooled: tuple[int, ...]
) -> None:
    first, second = (
        OracleRecord(instance="i", comment="c0", repo="r", verdicts="cm", reviews=own) for own in (one, other)
    )
    assert _pool_reviews(first, second) == pooled


def test_compare_takes_the_terms_of_a_run_and_refuses_what_a_run_refuses(tmp_path: Path) -> None:
    before, after = write(tmp_path / "last", "ccccmmmm"), write(tmp_path / "now", "cccmmmmm")
    arguments = ["compare", str(before), str(after), "--margin=5"]
    assert CliRunner().invoke(main, arguments).exit_code == 8
    assert CliRunner().invoke(main, [*arguments, "--fail-on=worse"]).exit_code == 0
    for option, value in (("margin", "wide"), ("max-broken", "200%"), ("unit", "team"), ("fail-on", "better")):
        told = CliRunner().invoke(main, [*arguments, f"--{option}={value}"])
        assert told.exit_code == 2
        assert f"'--{option}'" in told.output
        assert repr(value) in told.output
        assert "it should be" in told.output
