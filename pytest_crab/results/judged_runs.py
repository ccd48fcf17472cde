"""The numbers of recorded judgements: precision, recall, F and false alarms by reviewer, and how far judges agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from pytest_crab.scoring.judges.judging import JudgeAgreement, judge_agreements
from pytest_crab.statistics.signal import f_measure

#: A known issue under one reviewer: reviewer, pull request, number.
_Cell = tuple[str, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRun:
    """One reviewer's run under one judge, in counts of comments.

    ``golden`` names the version of the known issues. ``expected`` are known issues, ``matched`` those that the judge
    found in the review, ``incorrect`` the reviewer's comments that match none. Comments that count neither for nor
    against are ``neutral``. ``found`` says of each known issue, by pull request and number, whether it was matched;
    empty where the release has counts only. ``clean`` are pull requests without a known issue, ``alarmed`` those of
    them on which the reviewer commented.
    """

    reviewer: str
    judge: str
    golden: str
    pull_requests: int
    expected: int
    matched: int
    incorrect: int
    neutral: int = 0
    clean: int = 0
    alarmed: int = 0
    found: Mapping[tuple[str, int], bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRelease:
    """The runs of a release; ``golden`` names the version of its known issues, by count and digest.

    ``notes`` say which runs counted other known issues than these.
    """

    benchmark: str
    golden: str
    runs: tuple[JudgedRun, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedRates:
    """The rates of one reviewer under one judge, each a mean over its ``runs``; None where nothing can be divided.

    ``precision`` is matched / (matched + incorrect), so that ``neutral`` comments count neither way; ``recall`` is
    matched / expected. ``golden`` names the version of the known issues. ``false_alarms`` is the share of clean pull
    requests on which the reviewer commented.
    """

    reviewer: str
    judge: str
    golden: str
    runs: int
    expected: float
    matched: float
    incorrect: float
    neutral: float
    precision: float | None
    recall: float | None
    f1: float | None
    f_half: float | None
    f2: float | None
    false_alarms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSummary:
    """The numbers of a release; ``union`` has by judge how many known issues any reviewer found.

    ``notes`` say which runs counted other known issues.
    """

    benchmark: str
    golden: str
    rates: tuple[JudgedRates, ...]
    union: dict[str, int]
    agreements: tuple[JudgeAgreement, ...]
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
        precision=_mean([precision for precision, _ in each]),
        recall=_mean([recall for _, recall in each]),
        f1=_mean([f_measure(*pair) for pair in each]),
        f_half=_mean([f_measure(*pair, beta=0.5) for pair in each]),
        f2=_mean([f_measure(*pair, beta=2) for pair in each]),
        false_alarms=_mean([run.alarmed / run.clean if run.clean else None for run in runs]),
    )


def _precision_recall(run: JudgedRun) -> tuple[float | None, float | None]:
    said = run.matched + run.incorrect
    return run.matched / said if said else None, run.matched / run.expected if run.expected else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None
