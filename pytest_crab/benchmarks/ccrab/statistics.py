"""The statistics command: c-CRAB's release in the numbers of the paper's table 4 (arXiv 2603.23448)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from pytest_crab import diffs
from pytest_crab.benchmarks.ccrab import reader as parts
from pytest_crab.benchmarks.ccrab.recorded import HUMAN
from pytest_crab.cli.shared_options import json_option
from pytest_crab.formats import format_decimal, format_percent, format_table
from pytest_crab.instances.rows import read_rows
from pytest_crab.results.recorded_results import Told
from pytest_crab.statistics.shares import mean_of
from pytest_crab.text import split_lines
from pytest_crab.types import Kind

#: The stage whose rows are the final pull requests.
_FINAL = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseStatistics:
    """The sizes of a release; means are None where there is nothing to take them over."""

    repositories: int
    instances: int
    #: The number of patches that the rows hold.
    patches: int
    #: The mean over ``patches``.
    modified_lines: float | None
    comments: int
    #: Inferred from the tests.
    kinds: dict[str, int]
    tests_per_instance: float | None
    lines_per_test: float | None


@click.command()
@click.argument("release", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def statistics(release: Path) -> Told:
    """Print the sizes of c-CRAB's RELEASE as the paper's table 4 has them: pull requests, tests and their kinds."""
    found = release_statistics(parts.read(parts.find(release)))
    return found, format_table(_rows(found))


def release_statistics(release: parts.Release) -> ReleaseStatistics:
    """Count the comments that were resolved, with their tests and pull requests. Raises BadInput."""
    outcomes = release.outcomes.get(HUMAN, {})
    texts = {name: own for name in outcomes if (own := release.resolved_texts(name))}
    oracles = [release.oracles.get(name, {}).get(text) for name, own in texts.items() for text in own]
    tests = [oracle for oracle in oracles if oracle is not None]
    rows = read_rows(release.place.stages[_FINAL]) if _FINAL in release.place.stages else ()
    patches = [row.commit_to_review.patch_to_review for row in rows if row.instance_id in texts]
    changed = [lines for patch in patches if (lines := _modified(patch or "")) is not None]
    return ReleaseStatistics(
        repositories=len({outcomes[name].repo for name in texts}),
        instances=len(texts),
        patches=len(changed),
        modified_lines=mean_of(changed),
        comments=len(oracles),
        kinds={kind.value: sum(test.kind is kind for test in tests) for kind in Kind},
        tests_per_instance=len(tests) / len(texts) if texts else None,
        lines_per_test=mean_of([len(split_lines(test.code)) for test in tests]),
    )


def _rows(found: ReleaseStatistics) -> list[tuple[str, str]]:
    total = sum(found.kinds.values())
    return [
        ("statistic", "value"),
        ("repositories", str(found.repositories)),
        ("pull requests", str(found.instances)),
        (f"modified lines, mean of {found.patches}", format_decimal(found.modified_lines, 1)),
        ("resolved comments", str(found.comments)),
        *(
            (f"tests that are {kind}, inferred", f"{count} ({format_percent(count / total if total else None)}%)")
            for kind, count in found.kinds.items()
        ),
        ("tests per pull request", format_decimal(found.tests_per_instance)),
        ("lines per test", format_decimal(found.lines_per_test, 1)),
    ]


def _modified(patch: str) -> int | None:
    """Return how many lines a patch removes and adds; None for what is no git diff."""
    try:
        return sum(len(file.removed) + len(file.added) for file in diffs.parse(diffs.normalise(patch))) or None
    except ValueError:
        return None
