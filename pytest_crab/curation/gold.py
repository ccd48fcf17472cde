"""The gold set of a filter: comments that people labelled, and how a judge agrees with them (arXiv 2603.23448, 4.2.1).

Each annotator has a file of labels. The gold label of a comment is the one that all its annotators give, or the one of
the file ``resolved``, which is written where they differ. Half of the comments, told by their digest, is the tuning
part: a prompt may be refined on its mistakes alone. The other half is the test part, whose precision counts.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count, format_table
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.judges.calibration import CALIBRATION
from pytest_crab.statistics.paired import kappa
from pytest_crab.text import split_lines
from pytest_crab.types import CandidateComment, PullCandidate

#: The folder of annotations beside a set, and the annotator whose labels end a disagreement.
FOLDER, RESOLVED = "annotations", "resolved"

#: The two parts of a gold set.
TUNING, TEST = "tuning", "test"

#: A comment by its candidate's id and its own.
CommentKey = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """The label of one comment by one person."""

    candidate: str
    comment: str
    label: str
    why: str = ""

    @property
    def key(self) -> CommentKey:
        """The comment."""
        return self.candidate, self.comment


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterCalibration:
    """A judge measured on the test part of a gold set."""

    compared: int
    #: Of the labels that keep a comment.
    precision: float | None


def _digest(key: CommentKey) -> str:
    return hashlib.sha256("\n".join(key).encode()).hexdigest()


def part_of(key: CommentKey) -> str:
    """Return the part of the gold set that a comment is in."""
    return TUNING if int(_digest(key), 16) % 2 == 0 else TEST


def sample(candidates: Iterable[PullCandidate], size: int) -> list[tuple[PullCandidate, CandidateComment]]:
    """Return so many comments, the same for everybody, in an order that has nothing to do with them."""
    every = [(one, comment) for one in candidates for comment in one.comments]
    return sorted(every, key=lambda pair: _digest((pair[0].id, pair[1].comment.id)))[:size]


def read_annotations(out: Path) -> dict[str, dict[CommentKey, Annotation]]:
    """Return the annotations beside a set by annotator. Raises BadInput."""
    found: dict[str, dict[CommentKey, Annotation]] = {}
    for path in sorted((out / FOLDER).glob("*.jsonl")):
        problems: list[str] = []
        try:
            rows = [json.loads(line) for line in split_lines(path.read_text("utf-8")) if line.strip()]
        except (OSError, ValueError) as error:
            raise BadInput(str(path), [f"it cannot be read ({error})"]) from None
        read = [serialization.read(Annotation, row, problems, f"line {n}") for n, row in enumerate(rows, 1)]
        if problems:
            raise BadInput(str(path), problems)
        found[path.stem] = {one.key: one for one in read if one is not None}
    return found


def append_annotation(out: Path, annotator: str, annotation: Annotation) -> None:
    """Add one label to an annotator's file. Raises BadInput where it cannot be written."""
    path = out / FOLDER / f"{annotator}.jsonl"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(serialization.dump(annotation), ensure_ascii=False) + "\n")
    except OSError as error:
        raise BadInput(str(path), [f"it cannot be written ({error.strerror})"]) from None


def disagreements(annotations: Mapping[str, Mapping[CommentKey, Annotation]]) -> list[CommentKey]:
    """Return the comments whose annotators give different labels, and that are not resolved."""
    people = {name: own for name, own in annotations.items() if name != RESOLVED}
    labels: dict[CommentKey, set[str]] = {}
    for own in people.values():
        for key, one in own.items():
            labels.setdefault(key, set()).add(one.label)
    return sorted(key for key, known in labels.items() if len(known) > 1 and key not in annotations.get(RESOLVED, {}))


def gold_labels(annotations: Mapping[str, Mapping[CommentKey, Annotation]]) -> dict[CommentKey, str]:
    """Return the gold labels: those that all annotators of a comment give, and the resolved ones."""
    open_ones = set(disagreements(annotations))
    found = {key: one.label for own in annotations.values() for key, one in own.items() if key not in open_ones}
    return {**found, **{key: one.label for key, one in annotations.get(RESOLVED, {}).items()}}


def agreement_lines(annotations: Mapping[str, Mapping[CommentKey, Annotation]]) -> Iterator[str]:
    """Yield how far each two annotators agree, with Cohen's kappa."""
    people = sorted(name for name in annotations if name != RESOLVED)
    for one, other in itertools.combinations(people, 2):
        both = sorted(annotations[one].keys() & annotations[other].keys())
        first, second = ([annotations[name][key].label for key in both] for name in (one, other))
        alike = sum(a == b for a, b in zip(first, second, strict=True))
        value = kappa(first, second)
        told = "not defined" if value is None else f"{value:.2f}"
        yield f"{one} and {other}: {alike} of {format_count(len(both), 'comment')} alike, kappa {told}"
    left = len(disagreements(annotations))
    if left:
        yield f"{format_count(left, 'disagreement')} not resolved: call it again with --as {RESOLVED}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """Counts of comments by gold label and by the judge's label."""

    #: By the gold label and the judge's; None is no label.
    counts: Mapping[tuple[str, str | None], int]

    def precision(self, keep: Sequence[str]) -> float | None:
        """Return the share of those that the judge keeps that people keep too; None where it keeps none."""
        kept = {pair: count for pair, count in self.counts.items() if pair[1] in keep}
        right = sum(count for (gold, _), count in kept.items() if gold in keep)
        return right / sum(kept.values()) if kept else None

    def recall(self, keep: Sequence[str]) -> float | None:
        """Return the share of those that people keep that the judge keeps too; None where people keep none."""
        wanted = {pair: count for pair, count in self.counts.items() if pair[0] in keep}
        right = sum(count for (_, own), count in wanted.items() if own in keep)
        return right / sum(wanted.values()) if wanted else None

    def lines(self) -> Iterator[str]:
        """Yield the matrix as a table: a row for each gold label, a column for each of the judge's."""
        rows = sorted({gold for gold, _ in self.counts})
        columns = sorted({own for _, own in self.counts if own is not None})
        cells = ([gold, *(str(self.counts.get((gold, own), 0)) for own in (*columns, None))] for gold in rows)
        yield from format_table([["gold", *columns, "no label"], *cells])


def confusion(gold: Mapping[CommentKey, str], found: Mapping[CommentKey, str | None], part: str) -> Confusion:
    """Return the counts on one part of the gold set."""
    return Confusion(counts=Counter((gold[key], found[key]) for key in gold if key in found and part_of(key) == part))


def _calibration_key(bench: JudgeBench) -> str:
    return serialization.digest({"judge": bench.judge.identity(), "votes": bench.judge.votes, "of": "filter"})


def keep_filter_calibration(bench: JudgeBench, found: FilterCalibration) -> None:
    """Keep a judge's calibration under its identity: another prompt or model has none. Raises StoreError."""
    bench.cache.store.put(CALIBRATION, _calibration_key(bench), serialization.dump(found))


def find_filter_calibration(bench: JudgeBench) -> FilterCalibration | None:
    """Return the calibration of a judge as it is; None if there is none. Raises StoreError."""
    value = bench.cache.store.get(CALIBRATION, _calibration_key(bench))
    return None if value is None else serialization.read(FilterCalibration, value, [])
