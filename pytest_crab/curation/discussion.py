"""Review comments as GitHub's API has them: read, and made the comments of a candidate.

The same fields come from the API itself, from ``gh api repos/OWNER/NAME/pulls/comments --paginate`` and from a file
that was written by hand, of which only ``pull``, ``path`` and ``body`` are needed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_crab.errors import BadInput
from pytest_crab.text import split_lines
from pytest_crab.types import CandidateComment, Comment, Side

_PULL = re.compile(r"/pulls?/(\d+)\b")
_SHA = re.compile(r"[0-9a-f]{40}")


def read_discussions(file: Path) -> dict[int, list[CandidateComment]]:
    """Return the comments of a file by the number of their pull request. Raises BadInput with every fault.

    The file is a JSON list, or JSON lines, of the fields of GitHub's review comments; ``pull`` is the number, where
    ``pull_request_url`` does not say it.
    """
    try:
        text = file.read_text("utf-8")
        rows = (
            json.loads(text) if text.lstrip()[:1] == "[" else [json.loads(line) for line in split_lines(text) if line]
        )
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(str(file), [f"it cannot be read as JSON ({error})"]) from None
    found: dict[int, list[CandidateComment]] = {}
    problems = []
    for number, row in enumerate(rows, start=1):
        try:
            pull = _pull_number(row)
            found.setdefault(pull, []).append(to_comment(row, f"c{len(found.get(pull, ()))}"))
        except (ValueError, TypeError, AttributeError) as error:
            problems.append(f"comment {number}: {error}")
    if problems:
        raise BadInput(str(file), problems)
    return found


def _pull_number(row: Mapping[str, Any]) -> int:
    pull = row.get("pull")
    if isinstance(pull, int) and not isinstance(pull, bool):
        return pull
    match = _PULL.search(str(row.get("pull_request_url") or row.get("html_url") or ""))
    if match is None:
        raise ValueError("pull is missing; it should be the number of the pull request")
    return int(match[1])


def to_comment(row: Mapping[str, Any], name: str) -> CandidateComment:
    """Return a comment of GitHub's API as one of a candidate, called ``name`` if it has no id. Raises ValueError."""
    path, body = row.get("path"), row.get("body")
    if not isinstance(path, str) or not path or not isinstance(body, str):
        raise ValueError("path and body should be texts")
    written_on = row.get("original_commit_id") or row.get("commit_id")
    if written_on and not _SHA.fullmatch(str(written_on)):
        raise ValueError(f"original_commit_id is {written_on}; it should be a full sha of 40 digits")
    user = row.get("user")
    url = row.get("html_url")
    return CandidateComment(
        comment=Comment(
            id=f"r{row['id']}" if row.get("id") else name,
            path=path,
            lines=_lines(row),
            side=Side.LEFT if row.get("side") == "LEFT" else Side.RIGHT,
            body=body.replace("\r\n", "\n"),
            url=url if isinstance(url, str) and url.startswith("https://") else None,
        ),
        author=str(user.get("login", "")) if isinstance(user, Mapping) else str(user or ""),
        reply_to=f"r{row['in_reply_to_id']}" if row.get("in_reply_to_id") else None,
        written=row.get("created_at"),
        written_on=written_on or None,
    )


def _lines(row: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return first and last line in the commit that the comment was written on; None: the whole file."""
    last = row.get("original_line") or row.get("line")
    first = (row.get("original_start_line") if row.get("original_line") else row.get("start_line")) or last
    if not isinstance(last, int) or not isinstance(first, int):
        return None
    return (first, last) if 1 <= first <= last else (last, last) if last >= 1 else None


def most_discussed(comments: Sequence[CandidateComment]) -> str | None:
    """Return the commit that most comments were written on, the later one of equals; None where none is on record.

    AACR-Bench reviews this revision of a pull request (arXiv 2601.19494, section B.1).
    """
    counts = Counter(one.written_on for one in comments if one.written_on is not None and one.reply_to is None)
    order = {one.written_on: at for at, one in enumerate(comments)}
    return max(counts, key=lambda sha: (counts[sha], order[sha]), default=None)
