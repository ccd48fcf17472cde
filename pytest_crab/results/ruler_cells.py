"""One trial measured by several rulers, comment by comment, from its record alone."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crab.scoring import similarity
from pytest_crab.scoring.judges.reviews import JudgedTrial
from pytest_crab.scoring.oracles import OracleScorer
from pytest_crab.scoring.review_rulers import LOCATION, PAPER, best_match, has_place, has_texts, match_by_place
from pytest_crab.scoring.similarity import Similarity
from pytest_crab.types import COMPARED, Finding, Score, Trial, Unit

#: The ruler by oracles.
TESTS = "tests"

#: The rulers that need neither a library nor a model; their value is a hit (1) or none (0).
BINARY = (TESTS, LOCATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One comment of one trial, as each ruler sees it."""

    instance: str
    repo: str
    reviewer: str
    repeat: int
    comment: str
    #: The comment's text; None: not on record.
    text: str | None
    #: The value by each ruler, None where it has none.
    values: Mapping[str, float | None]
    #: The position, from 0, of the finding that hits the comment, for each ruler that can say it.
    found: Mapping[str, int] = field(default_factory=dict)
    #: The finding that lies there, else the one that a judge says hits the comment; None where rulers do not differ.
    matched: str | None = None

    def differs(self, hit_rulers: Iterable[str]) -> bool:
        """Return whether, of these rulers that know hits, one has a hit here and another has none."""
        return _differ(self.values, hit_rulers)


def _differ(values: Mapping[str, float | None], hit_rulers: Iterable[str]) -> bool:
    return {0.0, 1.0} <= set(map(values.get, hit_rulers))


#: Many cells hold the same few.
_same_values = functools.lru_cache(4096)(dict[str, "float | None"])
_same_found = functools.lru_cache(4096)(dict[str, int])


def hit_rulers_of(trial: Trial) -> tuple[str, ...]:
    """Return the rulers of a trial that know hits: tests, location, and the other scorers on its record that do."""
    scorers = dict.fromkeys([score.scorer for score in _own_scores(trial) if score.label != COMPARED])
    return (*BINARY, *(name for name in scorers if not similarity.is_measure(name)))


def cells_of(
    trial: Trial,
    texts: Mapping[str, str],
    *,
    judged: Mapping[str, JudgedTrial | None] | None = None,
    similarities: Mapping[str, Similarity] | None = None,
    rule: str = PAPER,
) -> Iterator[Cell]:
    """Yield a cell for each comment of a trial that has a review, by every ruler that is on record or can be computed.

    ``texts`` are those of comments, by id. ``judged`` are judges that were asked since. ``rule`` is the name of one of
    the RULES by location, and ``similarities`` are measures to compute, by name.
    """
    assert trial.review is not None
    findings, judges = trial.review.findings, judged or {}
    hit_rulers = (*hit_rulers_of(trial), *judges)
    told = has_texts(trial.review)
    tests = {score.subject: score.value for score in trial.scores if score.scorer == OracleScorer.name and _of(score)}
    places = match_by_place(findings, trial.comments, rule)
    recorded: dict[str, dict[str, Score]] = {}
    for score in _own_scores(trial):
        recorded.setdefault(score.subject, {})[score.scorer] = score
    for comment in trial.comments:
        own = recorded.get(comment.id, {})
        by_place = {LOCATION: places[comment.id]} if comment.id in places else {}
        text = texts.get(comment.id)
        values: dict[str, float | None] = {
            TESTS: tests.get(comment.id),
            LOCATION: float(bool(by_place)) if told and has_place(comment, rule) else None,
            **{name: score.value for name, score in own.items()},
            **{name: _hit_value(judge, comment.id) for name, judge in judges.items()},
            **(_similar(text, findings, similarities) if similarities and told else {}),
        }
        found = {**by_place, **_hits_by_ruler(comment.id, own, judges, findings)}
        at = next(iter(found.values())) if found and _differ(values, hit_rulers) else None
        yield Cell(
            instance=trial.instance,
            repo=trial.repo,
            reviewer=trial.reviewer,
            repeat=trial.repeat,
            comment=comment.id,
            text=text,
            values=_same_values(tuple(values.items())),
            found=_same_found(tuple(found.items())),
            matched=None if at is None else findings[at].body,
        )


def _hits_by_ruler(
    comment: str, own: Mapping[str, Score], judges: Mapping[str, JudgedTrial | None], findings: Sequence[Finding]
) -> dict[str, int]:
    """Return the finding that hits a comment by each scorer on record and by each judge that was asked since."""
    by_record = {name: at for name, score in own.items() if (at := _finding(score, findings)) is not None}
    asked = {name: judge.matched for name, judge in judges.items() if judge is not None}
    return {**by_record, **{name: matched[comment] for name, matched in asked.items() if comment in matched}}


def _of(score: Score) -> bool:
    return score.unit is Unit.COMMENT


def _own_scores(trial: Trial) -> list[Score]:
    """Return the scores of comments by scorers that have no other name as rulers."""
    return [one for one in trial.scores if one.scorer not in (OracleScorer.name, LOCATION) and _of(one)]


def _finding(score: Score, findings: Sequence[Finding]) -> int | None:
    """Return the finding that a recorded score says to hit its comment."""
    at = score.evidence.get("finding")
    return at if score.label != COMPARED and isinstance(at, int) and 0 <= at < len(findings) else None


def _hit_value(judged: JudgedTrial | None, comment: str) -> float | None:
    hit = None if judged is None else judged.hits.get(comment)
    return None if hit is None else float(hit)


def _similar(
    text: str | None, findings: Sequence[Finding], measures: Mapping[str, Similarity]
) -> dict[str, float | None]:
    if text is None:
        return {}
    return {name: best_match(measure, text, findings)[0] for name, measure in measures.items()}
