"""SWE-CARE's plain rows: pull requests with comments and without oracles."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_crab.cli.importing import import_command
from pytest_crab.instances.inferred import category_of
from pytest_crab.instances.native import Import, import_rows
from pytest_crab.instances.rows import PullRequestRow, read_rows, to_instance
from pytest_crab.types import Comment, Instance


def import_swecare(file: Path, out: Path, *, only: re.Pattern[str] | None = None) -> Import:
    """Import the rows of a JSON lines file into ``out``, which must be new or empty; bases stay as the rows have them.

    Raises BadInput with every line that is no row and every id that is there twice; then nothing is written.
    """
    return import_rows(file, out, ((row.instance_id, row) for row in read_rows(file)), _instance, only=only)


def _instance(row: PullRequestRow, folder: Path) -> Instance:
    comments = tuple(
        Comment(
            id=f"c{number}", path=remark.path, lines=remark.lines, body=remark.text, category=category_of(remark.text)
        )
        for number, remark in enumerate(row.reference_review_comments)
    )
    return to_instance(row, folder, comments, row.base_commit, {"category": "inferred", "base": "unchecked"})


swecare = import_command(
    import_swecare,
    "Import the rows of SWE-CARE's FILE, JSON lines, as instances without oracles.",
)
