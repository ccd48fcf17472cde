"""The numbers of recorded judgements: precision, recall, F and false alarms by reviewer, and how far judges agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from pytest_crab.scoring.judges.judging import JudgeAgreement, judge_agreements
from pytest_crab.statistics.shares import mean_of
from pytest_crab.statistics.signal import f_measure

#: A known issue under one reviewer: reviewer, pull request, number.
_Cell = tuple[str, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """One reviewer's run under one judge, in counts of comments."""

    reviewer: str
    judge: str
    #: The version of the known issues, by count and digest.
    golden: str
    pull_requests: int
    #: Known issues.
    expected: int
    #: Known issues that the judge found in the review.
    matched: int
    #: The reviewer's comments that match no known issue.
    incorrect: int
    #: Comments that count neither for nor against the reviewer.
    neutral: int = 0
    #: Pull requests without a known issue.
    clean: int = 0
    #: Pull requests without a known issue on which the reviewer commented.
    alarmed: int = 0
    #: Whether each known issue, by pull request and number, was matched; empty where the release has counts only.
    found: Mapping[tuple[str, int], bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRelease:
    """The runs of a release."""

    benchmark: str
    #: The version of its known issues, by count and digest.
    golden: str
    runs: tuple[JudgedRun, ...]
    #: Sentences on the runs that counted other known issues than these.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRates:
    """The rates of one reviewer under one judge, each a mean over its runs; None where nothing can be divided."""

    reviewer: str
    judge: str
    #: The version of the known issues.
    golden: str
    #: The number of its runs under this judge.
    runs: int
    expected: float
    matched: float
    incorrect: float
    #: Comments that count neither way.
    neutral: float
    #: matched / (matched + incorrect).
    precision: float | None
    #: matched / expected.
    recall: float | None
    f1: float | None
    f_half: float | None
    f2: float | None
    #: The share of pull requests without a known issue on which the reviewer commented.
    false_alarms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSummary:
    """The numbers of a release."""

    benchmark: str
    golden: str
    rates: tuple[JudgedRates, ...]
    #: The number of known issues that any reviewer found, by judge.
    union: dict[str, int]
    agreements: tuple[JudgeAgreement, ...]
    #: Sentences on the runs that counted other known issues.
    notes: tuple[str, ...] = ()


def summarise_judged(release: JudgedRelease) -> JudgedSummary:
    """Sum up the runs of a release, repeats of one reviewer under one judge together."""
    groups: dict[tuple[str, str, str], list[JudgedRun]] = {}
    for run in release.runs:
        groups.setdefault((run.judge, run.reviewer, run.golden), []).append(run)
    judges = sorted({run.judge for run in release.runs})
    found: dict[str, dict[_Cell, bool]] = {judge: {} for judge in judges}
    for run in release.runs:
        found[run.judge].update(((run.reviewer, *key), hit) for key, hit in run.found.items())
    return JudgedSummary(
        benchmark=release.benchmark,
        golden=release.golden,
        rates=tuple(_rates(runs) for _, runs in sorted(groups.items())),
        union={judge: len({key[1:] for key, hit in cells.items() if hit}) for judge, cells in found.items() if cells},
        agreements=tuple(judge_agreements(found)),
        notes=release.notes,
    )


def _rates(runs: Sequence[JudgedRun]) -> JudgedRates:
    each = [_precision_recall(run) for run in runs]
    return JudgedRates(
        reviewer=runs[0].reviewer,
        judge=runs[0].judge,
        golden=runs[0].golden,
        runs=len(runs),
        expected=fmean(run.expected for run in runs),
        matched=fmean(run.matched for run in runs),
        incorrect=fmean(run.incorrect for run in runs),
        neutral=fmean(run.neutral for run in runs),
        precision=mean_of([precision for precision, _ in each]),
        recall=mean_of([recall for _, recall in each]),
        f1=mean_of([f_measure(*pair) for pair in each]),
        f_half=mean_of([f_measure(*pair, beta=0.5) for pair in each]),
        f2=mean_of([f_measure(*pair, beta=2) for pair in each]),
        false_alarms=mean_of([run.alarmed / run.clean if run.clean else None for run in runs]),
    )


def _precision_recall(run: JudgedRun) -> tuple[float | None, float | None]:
    said = run.matched + run.incorrect
    return run.matched / said if said else None, run.matched / run.expected if run.expected else None
