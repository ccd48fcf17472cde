"""SWE-CARE's plain rows: pull requests with comments and without oracles."""

from __future__ import annotations

import re
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from pytest_crab.benchmarks.inferred import category_of
from pytest_crab.benchmarks.native import new_set
from pytest_crab.benchmarks.native import write_instance
from pytest_crab.benchmarks.rows import Row
from pytest_crab.benchmarks.rows import read_rows
from pytest_crab.benchmarks.rows import to_instance
from pytest_crab.errors import BadInput
from pytest_crab.types import Comment


@dataclass(slots=True)
class Import:
    """What an import did: counts, and a sentence for each row that is not there."""

    instances: int = 0
    comments: int = 0
    notes: list[str] = field(default_factory=list)


def import_swecare(file: Path, out: Path, *, only: re.Pattern[str] | None = None) -> Import:
    """Import the rows of a JSON lines file into ``out``, which must be new or empty; bases stay as the rows have them.

    Raises BadInput with every line that is no row and every id that is there twice; then nothing is written.
    """
    done = Import()
    with new_set(out) as aside:
        for row in read_rows(file):
            if only is None or only.search(row.instance_id):
                _write(row, aside, done)
        if not done.instances:
            wanted = f" whose id has {only.pattern}" if only else ""
            raise BadInput(str(file), [f"it has no row{wanted} that can be imported", *done.notes])
    return done


def _write(row: Row, aside: Path, done: Import) -> None:
    comments = tuple(
        Comment(
            id=f"c{number}", path=remark.path, lines=remark.lines, body=remark.text, category=category_of(remark.text)
        )
        for number, remark in enumerate(row.reference_review_comments)
    )
    folder = aside / row.instance_id
    try:
        instance = to_instance(row, folder, comments, row.base_commit, {"category": "inferred", "base": "unchecked"})
    except ValueError as error:
        done.notes.append(f"{row.instance_id}: not imported: {error}")
        return
    problem = write_instance(folder, instance, {})
    if problem:
        done.notes.append(f"{row.instance_id}: not imported: {problem}")
        return
    done.instances += 1
    done.comments += len(comments)
