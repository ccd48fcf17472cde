"""One stored review measured by several rulers, and where they differ.

A ruler gives each comment of a trial a value from 0 (missed) to 1 (hit). ``tests`` are the verdicts of oracles,
``location`` the one-to-one matching by overlapping lines of arXiv 2601.19494, and a judge is a model that says whether
a finding hits the comment; these know hits. The measures of similarity give the best value of any finding, and no hits.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.errors import BadInput
from pytest_crab.report.files import read_trials
from pytest_crab.report.judging import JudgeReport
from pytest_crab.report.judging import judge_report
from pytest_crab.report.judging import judge_trials
from pytest_crab.report.pull_requests import read_subject
from pytest_crab.scoring import similarity
from pytest_crab.scoring.judges.reviews import JudgedTrial
from pytest_crab.scoring.judges.votes import Decide
from pytest_crab.scoring.location import RULES
from pytest_crab.scoring.location import Place
from pytest_crab.scoring.location import place_of_finding
from pytest_crab.statistics.paired import kappa
from pytest_crab.statistics.rank_agreement import RankAgreement
from pytest_crab.statistics.rank_agreement import rank_agreement
from pytest_crab.types import Trial
from pytest_crab.types import Verdict

#: The rulers that need neither a library nor a model; their value is a hit (1) or none (0).
TESTS, LOCATION = BINARY = ("tests", "location")

_VALUES = {Verdict.CAUGHT: 1.0, Verdict.MISSED: 0.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One comment and one trial: each ruler's value, None where it has none, and the texts.

    ``matched`` is the finding that lies there, else the one that a judge says hits the comment. ``differs``: of the
    rulers that know hits one has a hit here and another has none.
    """

    instance: str
    repo: str
    reviewer: str
    repeat: int
    comment: str
    text: str | None
    values: Mapping[str, float | None]
    matched: str | None = None
    differs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RulerRate:
    """The mean value of a reviewer's comments by one ruler; ``comments`` counts those that have a value."""

    reviewer: str
    ruler: str
    comments: int
    mean: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RulerPair:
    """The agreement of two rulers on the ranking of reviewers, and on each comment where both know hits.

    ``both``, ``only_one``, ``only_other`` and ``neither`` count comments and trials that both rulers measured.
    """

    one: str
    other: str
    reviewers: int
    ranks: RankAgreement
    both: int | None = None
    only_one: int | None = None
    only_other: int | None = None
    neither: int | None = None
    kappa: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RulerComparison:
    """All rulers over one report: rates, pairs of rulers, and the cells in which a hit of one is none of the other.

    ``hit_rulers`` are the rulers that know hits, ``judges`` the reports of the judges among them.
    """

    rulers: tuple[str, ...]
    hit_rulers: tuple[str, ...] = BINARY
    location_rule: str = "paper"
    trials: int
    rates: tuple[RulerRate, ...]
    pairs: tuple[RulerPair, ...]
    differing: tuple[Cell, ...]
    judges: tuple[JudgeReport, ...] = ()


def reviews_of(trials_file: Path) -> list[Trial]:
    """Return the last record of each trial that is measured. Raises BadInput where none has a review."""
    last = {trial.id: trial for trial in read_trials(trials_file)}
    trials = [trial for trial in last.values() if trial.review is not None and trial.arm is None]
    if not trials:
        raise BadInput(str(trials_file), ["no trial in it has a review; name the report of a run that asked reviewers"])
    return trials


def compare_rulers(
    trials_file: Path,
    *,
    similarities: bool = False,
    judges: Mapping[str, Decide] | None = None,
    location_rule: str = "paper",
) -> RulerComparison:
    """Measure the stored reviews of a trials.jsonl by every ruler. Controls and trials without a review are left out.

    ``judges`` decide questions by their names, which are then rulers; ``location_rule`` is the name of one of the RULES
    by location. The last record of a trial counts. Raises BadInput for a damaged report, and where no review is on
    record, and what the judges raise.
    """
    trials, report = reviews_of(trials_file), trials_file.parent
    judged = {name: judge_trials(trials, report, decide) for name, decide in (judges or {}).items()}
    hit_rulers = (*BINARY, *judged)
    rulers = (*hit_rulers, *(similarity.measures() if similarities else ()))
    cells = [
        dataclasses.replace(cell, differs={0.0, 1.0} <= {cell.values.get(ruler) for ruler in hit_rulers})
        for trial in trials
        for cell in _cells(
            trial, report, {name: own.get(trial.id) for name, own in judged.items()}, similarities, location_rule
        )
    ]
    return RulerComparison(
        rulers=rulers,
        hit_rulers=hit_rulers,
        location_rule=location_rule,
        trials=len(trials),
        rates=tuple(_rates(cells, rulers)),
        pairs=tuple(_pair(cells, one, other, hit_rulers) for one, other in itertools.combinations(rulers, 2)),
        differing=tuple(cell for cell in cells if cell.differs),
        judges=tuple(judge_report(name, trials, own) for name, own in judged.items()),
    )


def _cells(
    trial: Trial,
    report: Path,
    judged: Mapping[str, JudgedTrial | None],
    similarities: bool,  # noqa: FBT001 - whether a ruler takes part, as in the caller
    rule: str,
) -> Iterator[Cell]:
    assert trial.review is not None
    findings = trial.review.findings
    told = trial.review.count is None or not trial.review.count
    subject = read_subject(report, trial.instance)
    texts = {} if subject is None else {comment.id: comment.body for comment in subject.comments}
    verdicts = {result.comment: _VALUES.get(result.verdict) for result in trial.results}
    by_place = _match_by_place(trial, rule)
    for comment in trial.comments:
        values: dict[str, float | None] = {TESTS: verdicts.get(comment.id)}
        has_place = comment.path is not None or not RULES[rule].needs_path
        values[LOCATION] = float(comment.id in by_place) if told and has_place else None
        values |= {name: _hit_value(own, comment.id) for name, own in judged.items()}
        text = texts.get(comment.id)
        if similarities:
            values |= _similar(text, [finding.body for finding in findings]) if told else {}
        hits = (by_place, *(own.matched for own in judged.values() if own is not None))
        finding = next((own[comment.id] for own in hits if comment.id in own), None)
        yield Cell(
            instance=trial.instance,
            repo=trial.repo,
            reviewer=trial.reviewer,
            repeat=trial.repeat,
            comment=comment.id,
            text=text,
            values=values,
            matched=None if finding is None else findings[finding].body,
        )


def _hit_value(judged: JudgedTrial | None, comment: str) -> float | None:
    hit = None if judged is None else judged.hits.get(comment)
    return None if hit is None else float(hit)


def _match_by_place(trial: Trial, rule: str) -> dict[str, int]:
    """Return the position of the finding that each comment is matched with by place."""
    assert trial.review is not None
    comments = [Place(path=each.path, lines=each.lines, side=each.side) for each in trial.comments]
    findings = [place_of_finding(finding) for finding in trial.review.findings]
    matches = RULES[rule].match(findings, comments, lambda _finding, _comment: False)
    return {trial.comments[comment].id: finding for finding, comment in matches.line}


def _similar(text: str | None, findings: Sequence[str]) -> dict[str, float | None]:
    if text is None:
        return {}
    return {
        name: max((measure(finding, text) for finding in findings), default=0.0)
        for name, measure in similarity.measures().items()
    }


def _rates(cells: Sequence[Cell], rulers: Sequence[str]) -> Iterator[RulerRate]:
    for reviewer in dict.fromkeys(cell.reviewer for cell in cells):
        for ruler in rulers:
            values = _by_comment((cell for cell in cells if cell.reviewer == reviewer), ruler)
            mean = math.fsum(values.values()) / len(values) if values else None
            yield RulerRate(reviewer=reviewer, ruler=ruler, comments=len(values), mean=mean)


def _by_comment(cells: Iterable[Cell], ruler: str) -> dict[tuple[str, str], float]:
    """Return the mean over repeats of each comment that has a value."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for cell in cells:
        value = cell.values.get(ruler)
        if value is not None:
            found[cell.instance, cell.comment].append(value)
    return {key: math.fsum(values) / len(values) for key, values in found.items()}


def _pair(cells: Sequence[Cell], one: str, other: str, hit_rulers: Sequence[str]) -> RulerPair:
    both = [(cell, cell.values.get(one), cell.values.get(other)) for cell in cells]
    measured = [(cell, a, b) for cell, a, b in both if a is not None and b is not None]
    reviewers = list(dict.fromkeys(cell.reviewer for cell, _, _ in measured))
    clusters: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for cell, a, b in measured:
        clusters[cell.repo].append((reviewers.index(cell.reviewer), a, b))
    ranks = rank_agreement(clusters.values(), len(reviewers)) if len(reviewers) > 1 else RankAgreement(tau=None)
    pair = RulerPair(one=one, other=other, reviewers=len(reviewers), ranks=ranks)
    if not {one, other} <= set(hit_rulers):
        return pair
    hits = [(a == 1, b == 1) for _, a, b in measured]
    return dataclasses.replace(
        pair,
        both=hits.count((True, True)),
        only_one=hits.count((True, False)),
        only_other=hits.count((False, True)),
        neither=hits.count((False, False)),
        kappa=kappa([hit for hit, _ in hits], [hit for _, hit in hits]),
    )
