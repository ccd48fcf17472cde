"""Pull requests on a forge with GitHub's REST API: the latest commit, and what one account wrote in review of one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_crab.clients.hosted import Asker
from pytest_crab.clients.hosted import Service
from pytest_crab.diffs import parse
from pytest_crab.types import Finding
from pytest_crab.types import Side

_PULL = re.compile(r"https?://[^/]+/(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)/pull/(?P<number>\d+)/?")
_PAGE = 100
_MOST_PAGES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """One pull request by the address that people see."""

    url: str
    path: str

    @classmethod
    def of(cls, url: str) -> Pull | None:
        """The pull request at an address such as https://github.com/owner/name/pull/7; None for any other."""
        match = _PULL.fullmatch(url)
        if match is None:
            return None
        return cls(url=url, path=f"/repos/{match['owner']}/{match['name']}/pulls/{match['number']}")


def latest_commit(forge: Service, asker: Asker, pull: Pull) -> str:
    """The pull request's latest commit. Raises ReviewerError, Cancelled."""
    answer = forge.get(pull.path)
    if answer is None:
        raise asker.failed({"code": 404}, f"the forge has no {pull.url}, or does not show it to this key")
    head = answer.data.get("head") if isinstance(answer.data, dict) else None
    sha = head.get("sha") if isinstance(head, dict) else None
    if not isinstance(sha, str):
        raise asker.failed({"state": "garbage"}, f"the forge tells no latest commit of {pull.url}")
    return sha


def comments_of(forge: Service, asker: Asker, pull: Pull, *, login: str, commit: str) -> list[Mapping[str, Any]]:
    """The review comments that this account wrote on this commit, as the forge has them, oldest first.

    Answers in a discussion are none. Raises ReviewerError, Cancelled.
    """
    return [comment for comment in _all(forge, asker, pull) if _is_own(comment, login, commit)]


def findings_of(comments: list[Mapping[str, Any]], commit: str, diff: str) -> tuple[Finding, ...]:
    """Comments as findings on ``commit``; ``diff`` is the pull request's, by whose names renamed files go."""
    renamed = {file.old: file.new for file in parse(diff) if file.old and file.new}
    return tuple(_finding(comment, commit, renamed) for comment in comments)


def _all(forge: Service, asker: Asker, pull: Pull) -> Iterator[Mapping[str, Any]]:
    for page in range(1, _MOST_PAGES + 1):
        answer = forge.get(f"{pull.path}/comments", per_page=_PAGE, page=page)
        if answer is None:
            raise asker.failed({"code": 404}, f"the forge has no comments of {pull.url}")
        if not isinstance(answer.data, list) or not all(_is_comment(entry) for entry in answer.data):
            raise asker.failed({"state": "garbage"}, f"the forge's comments of {pull.url} cannot be read")
        yield from answer.data
        if not answer.more:
            return
    raise asker.failed({"state": "garbage"}, f"{pull.url} has more than {_MOST_PAGES * _PAGE} comments")


def _is_comment(entry: Any) -> bool:
    """Whether this is a review comment; the account may be gone."""
    if not isinstance(entry, dict) or not isinstance(entry.get("user") or {}, dict):
        return False
    lines = ("line", "start_line", "original_line", "original_start_line")
    counted = all(isinstance(entry.get(name) or 0, int) and (entry.get(name) or 0) >= 0 for name in lines)
    return counted and isinstance(entry.get("path"), str) and isinstance(entry.get("body"), str)


def _is_own(comment: Mapping[str, Any], login: str, commit: str) -> bool:
    who = str((comment.get("user") or {}).get("login", ""))
    written_on = comment.get("original_commit_id") or comment.get("commit_id")
    return who.lower() == login.lower() and written_on == commit and not comment.get("in_reply_to_id")


def _finding(comment: Mapping[str, Any], commit: str, renamed: Mapping[str, str]) -> Finding:
    side = Side.LEFT if comment.get("side") == "LEFT" else Side.RIGHT
    start, end = _lines(comment, commit)
    if comment.get("start_side") not in (None, comment.get("side")):
        start = end  # it begins on the other side, in which lines are counted otherwise
    path = str(comment["path"])
    return Finding(path=renamed.get(path, path), start=start, end=end, side=side, body=str(comment["body"]))


def _lines(comment: Mapping[str, Any], commit: str) -> tuple[int | None, int | None]:
    """First and last line as counted in ``commit``; the forge counts ``line`` in the latest one, where it still is."""
    if comment.get("subject_type") == "file":
        return None, None
    is_current = comment.get("commit_id") == commit and comment.get("line") is not None
    last = comment.get("line") if is_current else comment.get("original_line")
    first = comment.get("start_line") if is_current else comment.get("original_start_line")
    if not last:
        return None, None
    return (first if first and first <= last else last), last
