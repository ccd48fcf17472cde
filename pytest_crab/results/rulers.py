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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_crab.errors import BadInput
from pytest_crab.instances.pull_requests import Subject, read_subject
from pytest_crab.results.files import read_trials
from pytest_crab.results.recorded_rulers import RecordedRuler, recorded_rulers
from pytest_crab.results.ruler_cells import BINARY, Cell, cells_of, hit_rulers_of
from pytest_crab.scoring.judges.bench import JudgeBench, JudgeUse
from pytest_crab.scoring.judges.judging import JudgeReport, judge_report, judge_trials
from pytest_crab.scoring.review_rulers import PAPER
from pytest_crab.scoring.similarity import Similarity
from pytest_crab.statistics.paired import kappa
from pytest_crab.statistics.rank_agreement import FEWEST, RankAgreement, rank_agreement
from pytest_crab.types import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class RulerRate:
    """The mean value of a reviewer's comments by one ruler."""

    reviewer: str
    ruler: str
    #: Comments that have a value.
    comments: int
    mean: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RulerPair:
    """The agreement of two rulers on the ranking of reviewers, and on each comment where both know hits."""

    one: str
    other: str
    reviewers: int
    ranks: RankAgreement
    #: Comments of trials that both rulers measured and hit.
    both: int | None = None
    #: Those that only the first one hits.
    only_one: int | None = None
    #: Those that only the second one hits.
    only_other: int | None = None
    #: Those that neither hits.
    neither: int | None = None
    kappa: float | None = None

    @property
    def missed_by_other(self) -> float | None:
        """The share of what ``one`` hits that ``other`` misses; None where it hits nothing, or hits are not known."""
        return _share(self.only_one, self.both)

    @property
    def missed_by_one(self) -> float | None:
        """The share of what ``other`` hits that ``one`` misses, likewise."""
        return _share(self.only_other, self.both)


def _share(alone: int | None, both: int | None) -> float | None:
    return alone / (alone + both) if alone is not None and both is not None and alone + both else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RulerComparison:
    """All rulers over one report."""

    rulers: tuple[str, ...]
    #: The rulers that know hits.
    hit_rulers: tuple[str, ...] = BINARY
    location_rule: str = "paper"
    trials: int
    rates: tuple[RulerRate, ...]
    pairs: tuple[RulerPair, ...]
    #: The comments of trials that one ruler hits and another does not.
    differing: tuple[Cell, ...]
    #: The reports of ``judges``.
    judged: tuple[JudgeReport, ...] = ()
    #: The judges that were asked for this comparison.
    judges: tuple[JudgeUse, ...] = ()
    #: What the trials' records say of the rulers that scored them.
    recorded: Mapping[str, RecordedRuler] = field(default_factory=dict)


def reviews_of(trials_file: Path) -> list[Trial]:
    """Return the last record of each trial that is measured. Raises BadInput where none has a review."""
    last = {trial.id: trial for trial in read_trials(trials_file)}
    trials = [trial for trial in last.values() if trial.review is not None and trial.variant is None]
    if not trials:
        raise BadInput(str(trials_file), ["no trial in it has a review; name the report of a run that asked reviewers"])
    return trials


def compare_rulers(
    trials_file: Path,
    *,
    similarities: Mapping[str, Similarity] | None = None,
    judges: Sequence[JudgeBench] = (),
    location_rule: str = "paper",
) -> RulerComparison:
    """Measure the stored reviews of a trials.jsonl by every ruler. Controls and trials without a review are left out.

    ``similarities`` are measures by name. ``judges`` are asked, and their names are then rulers: a finding hits a
    comment if it gets the judge's first label. ``location_rule`` is the name of one of the RULES by location. The last
    record of a trial counts. Raises BadInput for a damaged report, and where no review is on record, and what the
    judges raise.
    """
    trials, report = reviews_of(trials_file), trials_file.parent
    judged = {judge.name: judge_trials(trials, report, judge) for judge in judges}
    cells = [
        cell
        for trial in trials
        for cell in cells_of(
            trial,
            _texts_of(read_subject(report, trial.instance)),
            judged={name: own.get(trial.id) for name, own in judged.items()},
            similarities=similarities,
            rule=location_rule,
        )
    ]
    found = dict.fromkeys(ruler for trial in trials for ruler in hit_rulers_of(trial))
    compared = compare_cells(
        cells,
        hit_rulers=(*found, *(name for name in judged if name not in found)),
        recorded=recorded_rulers(trials),
        location_rule=location_rule,
    )
    return dataclasses.replace(
        compared, judged=tuple(judge_report(judge, trials, judged[judge.name]) for judge in judges)
    )


def compare_cells(
    cells: Sequence[Cell],
    *,
    hit_rulers: Sequence[str],
    recorded: Mapping[str, RecordedRuler],
    location_rule: str = PAPER,
) -> RulerComparison:
    """Compare rulers over cells; ``hit_rulers`` are those that know hits, in their order.

    A ruler that measured no comment is left out.
    """
    measured = dict.fromkeys(ruler for cell in cells for ruler, value in cell.values.items() if value is not None)
    hit_rulers = [ruler for ruler in hit_rulers if ruler in measured]
    rulers = (*hit_rulers, *(ruler for ruler in measured if ruler not in hit_rulers))
    return RulerComparison(
        rulers=rulers,
        hit_rulers=tuple(hit_rulers),
        location_rule=location_rule,
        trials=len({(cell.instance, cell.reviewer, cell.repeat) for cell in cells}),
        rates=tuple(_rates(cells, rulers)),
        pairs=tuple(_pair(cells, one, other, hit_rulers) for one, other in itertools.combinations(rulers, 2)),
        differing=tuple(cell for cell in cells if cell.differs(hit_rulers)),
        recorded=recorded,
    )


def _texts_of(subject: Subject | None) -> dict[str, str]:
    return {} if subject is None else {comment.id: comment.body for comment in subject.comments}


def _rates(cells: Sequence[Cell], rulers: Sequence[str]) -> Iterator[RulerRate]:
    own: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        own[cell.reviewer].append(cell)
    for reviewer, found in own.items():
        for ruler in rulers:
            values = _by_comment(found, ruler)
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
    names = dict.fromkeys(cell.reviewer for cell, _, _ in measured)
    reviewers = {name: place for place, name in enumerate(names)}
    clusters: dict[str, list[tuple[int, float, float]]] = defaultdict(list)
    for cell, a, b in measured:
        clusters[cell.repo].append((reviewers[cell.reviewer], a, b))
    ranks = rank_agreement(clusters.values(), len(reviewers)) if len(reviewers) >= FEWEST else RankAgreement()
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
