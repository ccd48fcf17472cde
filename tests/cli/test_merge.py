"""The merge command on reports of made-up trials; shards as runs leave them are in tests/plugin/test_shards.py."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.cli.compare import compare
from pytest_crab.results.files import read_summary, read_trials, write_summary, write_trials
from pytest_crab.results.summary import Summary, summarise
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import Category, Kind, Provenance, Reason, Trial

#: Two sets as ``pytest one two`` runs them: neither the sets nor their repositories follow one another by id.
SETS = (("apple-1", "melon-4", "zebra-9"), ("aspen-3", "birch-5", "mango-2", "zinnia-7"))


def trial(instance: str, reviewer: str, shard: str | None = None, reason: Reason = Reason.GREEN) -> Trial:
    result = comment_result("c0", category=Category.FUNCTIONAL, kind=Kind.BEHAVIORAL, reason=reason)
    return trial_of(
        instance=instance,
        repo=f"owner/{instance[0]}",
        provenance=Provenance.GITHUB,
        reviewer=reviewer,
        agent="mine",
        runtime="docker",
        results=(result,),
        versions={"instance": f"digest of {instance}", **({} if shard is None else {"shard": shard})},
    )


def measured(instance: str, shard: str | None = None) -> list[Trial]:
    reasons = {"strict": Reason.GREEN if "n" in instance else Reason.FAILED, "lenient": Reason.FAILED}
    return [trial(instance, reviewer, shard, reason) for reviewer, reason in reasons.items()]


def merged(folder: Path, *parts: str) -> Result:
    names = [part if part.startswith("--") else str(folder / part) for part in parts]
    return CliRunner().invoke(main, ["merge", *names, f"--into={folder / 'whole'}"], catch_exceptions=False)


@pytest.mark.parametrize("sets", [SETS, SETS[::-1]])
def test_shards_of_two_sets_make_the_summary_of_one_run(tmp_path: Path, sets: Sequence[Sequence[str]]) -> None:
    order = [instance for one in sets for instance in one]
    for at in (1, 2, 3):
        mine = sorted(order)[at - 1 :: 3]
        trials = [each for instance in order if instance in mine for each in measured(instance, f"{at}/3")]
        write_trials(tmp_path / f"part{at}" / "trials.jsonl", trials)
    done = merged(tmp_path, "part3", "part1", "part2")
    assert done.exit_code == 0, done.output
    whole = summarise(each for instance in order for each in measured(instance))
    assert read_summary(tmp_path / "whole" / "summary.json") == whole
    assert [one.reviewer for one in whole.reviewers] == ["strict", "lenient"]
    assert [oracle.instance for oracle in whole.reviewers[0].oracles] == sorted(order)
    assert list(whole.digests) == sorted(order)


def test_a_shard_without_trials_is_told_from_one_without_a_report(tmp_path: Path) -> None:
    write_trials(tmp_path / "part1" / "trials.jsonl", measured("apple-1", "1/2"))
    write_trials(tmp_path / "part2" / "trials.jsonl", [])
    lacking = merged(tmp_path, "part1", "part2")
    assert lacking.exit_code == 1
    assert "no report is that of shard 2/2; name it too, or merge with --incomplete" in lacking.output
    assert not (tmp_path / "whole").exists()
    write_summary(tmp_path / "part2" / "summary.json", Summary(shard="2/2"))
    assert merged(tmp_path, "part1", "part2").exit_code == 0
    assert read_summary(tmp_path / "whole" / "summary.json") == summarise(measured("apple-1"))


def test_a_record_whose_shard_has_no_size_belongs_to_none(tmp_path: Path) -> None:
    write_trials(tmp_path / "part1" / "trials.jsonl", measured("apple-1", "whole"))
    assert merged(tmp_path, "part1").exit_code == 0


def test_a_gate_looks_at_the_shards_that_there_are(tmp_path: Path) -> None:
    write_trials(tmp_path / "good" / "trials.jsonl", [each for name in SETS[0] + SETS[1] for each in measured(name)])
    for at, name in ((1, "apple-1"), (2, "melon-4")):
        write_trials(tmp_path / f"part{at}" / "trials.jsonl", measured(name, f"{at}/5"))
    assert merged(tmp_path, "part1", "part2", "--incomplete").exit_code == 0
    both = [str(tmp_path / "good"), str(tmp_path / "whole"), "--reviewer=strict", "--looks=5", "--json"]
    for options, pairs in ((["--part"], 2), ([], 7)):
        told = CliRunner().invoke(compare, [*both, "--margin=100", *options])
        found = json.loads(told.output)["strict"]["comparison"]
        assert (found["pairs"], found["level"]) == (pairs, 0.99)


def test_which_record_counts(tmp_path: Path) -> None:
    """A measured one before one that was not run, a later report before an earlier one, half a line not at all."""
    not_run, missed, caught = (trial("a", "r", reason=one) for one in (Reason.NOT_RUN, Reason.FAILED, Reason.GREEN))
    write_trials(tmp_path / "one" / "trials.jsonl", [missed, trial("b", "r")])
    write_trials(tmp_path / "two" / "trials.jsonl", [not_run, caught])
    write_trials(tmp_path / "three" / "trials.jsonl", [not_run, trial("c", "r")])
    file = tmp_path / "three" / "trials.jsonl"
    file.write_bytes(file.read_bytes().rstrip(b"\n"))  # a last line that is whole, as the next one was cut off
    half = tmp_path / "two" / "trials.jsonl"
    half.write_bytes(half.read_bytes() + b'{"schema": 1, "inst')
    assert merged(tmp_path, "one", "two", "three").exit_code == 0
    assert list(read_trials(tmp_path / "whole" / "trials.jsonl")) == [caught, trial("b", "r"), trial("c", "r")]
