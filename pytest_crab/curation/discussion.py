"""Review comments as GitHub's API has them: read, and made the comments of a candidate.

The same fields come from the API itself, from ``gh api repos/OWNER/NAME/pulls/comments --paginate`` and from a file
that was written by hand, of which only ``pull``, ``path`` and ``body`` are needed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_crab.errors import BadInput
from pytest_crab.formats import format_names
from pytest_crab.text import split_lines
from pytest_crab.types import CandidateComment, Comment, PullCandidate, Side

#: The tags of the commit that was commented on, and of the last one of the pull request.
REVIEWED, LAST = "reviewed_commit", "last_commit"

#: The tag with the files of a fix that are other people's work: no commit of the pull request touches them.
OTHERS = "fix_of_others"

#: The reason where no commit after the review touches what the pull request does.
NO_FIX = "nothing changed after the review"

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
    problems: list[str] = []
    found = group_comments(rows, problems)
    if problems:
        raise BadInput(str(file), problems)
    return found


def group_comments(rows: Iterable[Mapping[str, Any]], problems: list[str]) -> dict[int, list[CandidateComment]]:
    """Return comments as GitHub's API has them by the number of their pull request; add a sentence on each bad one."""
    found: dict[int, list[CandidateComment]] = {}
    for number, row in enumerate(rows, start=1):
        try:
            pull = _pull_number(row)
            found.setdefault(pull, []).append(to_comment(row, f"c{len(found.get(pull, ()))}"))
        except (ValueError, TypeError, AttributeError) as error:
            problems.append(f"comment {number}: {error}")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRound:
    """The comments that were written on one commit."""

    #: The commit; None: none is on record.
    head: str | None
    comments: tuple[CandidateComment, ...]


def review_rounds(comments: Sequence[CandidateComment]) -> list[ReviewRound]:
    """Return the rounds of a review: the commit with most comments first, the later of equals, then the others.

    AACR-Bench reviews the first of them alone (arXiv 2601.19494, section B.1). Comments without a commit are its.
    """
    opening = [one.written_on for one in comments if one.written_on is not None and one.reply_to is None]
    counts, order = Counter(opening), {sha: at for at, sha in enumerate(opening)}
    first = max(counts, key=lambda sha: (counts[sha], order[sha]), default=None)
    heads = [first, *(sha for sha in counts if sha != first)]
    return [
        ReviewRound(
            head=head,
            comments=tuple(one for one in comments if (one.written_on if one.written_on in counts else first) == head),
        )
        for head in heads
    ]


def as_rounds(pull: PullCandidate, comments: Sequence[CandidateComment]) -> Iterator[PullCandidate]:
    """Yield a candidate for each round; the first keeps the id, the others' have their commit's too."""
    for at, one in enumerate(review_rounds(comments)):
        name = f"{pull.id}@{one.head[:7]}" if at and one.head else pull.id
        tags = {**pull.tags, **({REVIEWED: one.head} if one.head else {})}
        yield replace(pull, id=name, comments=one.comments, tags=tags)


def with_others(pull: PullCandidate, others: Sequence[str]) -> PullCandidate:
    """Return a candidate that says which files of its fix are other people's work."""
    if not others:
        return pull
    doubt = f"its fix has other people's work in {format_names(others, 3)}"
    return replace(pull, flags=(*pull.flags, doubt), tags={**pull.tags, OTHERS: format_names(others, 20)})
