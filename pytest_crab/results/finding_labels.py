"""Labels of findings from a CSV file, as people give them: a category, or how useful a finding is."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pytest_crab.errors import BadInput
from pytest_crab.results.files import read_trials, write_trials
from pytest_crab.results.labelled_findings import CONFIDENCE, SEVERITY
from pytest_crab.types import Reason, Score, Trial, TrialId, Unit

#: The columns that name a finding: its trial, as INSTANCE::REVIEWER, and its place in the review from 0.
TRIAL, FINDING = "trial", "finding"

#: The dimensions that findings have from their review.
_OWN = frozenset({SEVERITY, CONFIDENCE})

_PLACE = re.compile(r"[0-9]{1,9}")


def add_finding_labels(records: Path, labels: Path) -> None:
    """Write the labels of a CSV file into a report's records, as scores of findings.

    Every column but ``trial`` and ``finding`` is a dimension; an empty cell is no label. Labels that the records have
    of these dimensions are replaced. Raises OSError, and BadInput for a file that cannot be read, names no finding, or
    has a dimension that findings have from their review: severity, confidence.
    """
    dimensions, scores = _read(labels)
    known = {trial.id: 0 if trial.review is None else len(trial.review.findings) for trial in read_trials(records)}
    problems = [
        f"{name} has no finding {score.subject}"
        for name, own in scores.items()
        for score in own
        if int(score.subject) >= known.get(name, 0)
    ]
    if problems:
        raise BadInput(str(labels), list(dict.fromkeys(problems)))
    write_trials(records, _with_scores(read_trials(records), dimensions, scores))


def _read(path: Path) -> tuple[frozenset[str], dict[TrialId, list[Score]]]:
    found: dict[TrialId, list[Score]] = {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            dimensions = frozenset(rows.fieldnames or ()) - {TRIAL, FINDING}
            if not dimensions or len(dimensions) + 2 != len(rows.fieldnames or ()):
                raise BadInput(str(path), [f"should have the columns {TRIAL}, {FINDING} and one for each dimension"])
            if taken := sorted(dimensions & _OWN):
                problem = f"the column {taken[0]} should have another name: findings have one from their review"
                raise BadInput(str(path), [problem])
            for row in rows:
                trial, scores = _scores(row, dimensions)
                found.setdefault(trial, []).extend(scores)
    except OSError as error:
        raise BadInput(str(path), [f"cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise BadInput(str(path), ["should be UTF-8"]) from error
    except (ValueError, csv.Error) as error:
        raise BadInput(str(path), [f"line {rows.line_num}: {error}"]) from error
    return dimensions, found


def _scores(row: Mapping[str, str], dimensions: Iterable[str]) -> tuple[TrialId, list[Score]]:
    place = (row[FINDING] or "").strip()
    if not _PLACE.fullmatch(place):
        raise ValueError(f"{FINDING} should be a number from 0")
    labels = {dimension: (row[dimension] or "").strip() for dimension in dimensions}
    scores = [
        Score(scorer=dimension, unit=Unit.FINDING, subject=f"{int(place)}", label=label, reason=Reason.GREEN)
        for dimension, label in sorted(labels.items())
        if label
    ]
    return TrialId.parse(row[TRIAL] or ""), scores


def _with_scores(
    trials: Iterable[Trial], dimensions: frozenset[str], scores: Mapping[TrialId, list[Score]]
) -> Iterator[Trial]:
    for trial in trials:
        kept = (one for one in trial.scores if one.unit is not Unit.FINDING or one.scorer not in dimensions)
        yield replace(trial, scores=(*kept, *scores.get(trial.id, ())))
