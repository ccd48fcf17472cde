"""Pull requests on GitHub, or another forge with its REST API, through PyGithub."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_crab.clients.http_service import Caller
from pytest_crab.diffs import parse
from pytest_crab.errors import ForgeError
from pytest_crab.types import Finding, Side

if TYPE_CHECKING:
    import github

T = TypeVar("T")

_ADDRESS = re.compile(r"https?://[^/]+/(?P<repo>[\w.-]+/[\w.-]+)/pull/(?P<number>\d+)/?")
_PER_PAGE = 100
_MOST_PAGES = 100
_MISSING = 404


def is_pull_request(address: str) -> bool:
    """Return whether this is an address of a pull request, such as https://github.com/owner/name/pull/7."""
    return _ADDRESS.fullmatch(address) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """The API of a forge."""

    caller: Caller
    #: The base of the API.
    url: str
    #: None: only what everyone may read can be asked for.
    token: str | None

    def latest_commit(self, address: str) -> str:
        """Return the pull request's latest commit. Raises ReviewerError, Cancelled."""
        return self.caller.retrying(lambda: self._read(address, "pull request", self._head))

    def comments(self, address: str, *, login: str, commit: str) -> list[Mapping[str, Any]]:
        """Return the review comments of this account on this commit, as the forge has them, oldest first.

        Answers in a discussion are left out. Raises ReviewerError, Cancelled.
        """
        found = self.caller.retrying(lambda: self._read(address, "comments", self._comments))
        return [comment for comment in found if _is_own(comment, login, commit)]

    @staticmethod
    def _head(hub: github.Github, path: str) -> str:
        sha = hub.requester.requestJsonAndCheck("GET", path)[1]["head"]["sha"]
        if not isinstance(sha, str):
            raise TypeError("the latest commit is no text")
        return sha

    @staticmethod
    def _comments(hub: github.Github, path: str) -> list[Mapping[str, Any]]:
        # PyGithub's own comments would be asked for again one by one: GitHub leaves fields out that they have.
        found = read_pages(hub, f"{path}/comments")
        if not all(map(_is_comment, found)):
            raise TypeError("these are no comments")
        return found

    def _read(self, address: str, what: str, read: Callable[[github.Github, str], T]) -> T:
        """Return what ``read`` takes from the API's path of a pull request; an odd answer is an error of the forge."""
        import github
        import requests

        match = _ADDRESS.fullmatch(address)
        assert match is not None
        seconds = self.caller.seconds_left()
        hub = open_hub(self.url, self.token, int(seconds))
        try:
            return read(hub, f"/repos/{match['repo']}/pulls/{match['number']}")
        except github.GithubException as error:
            if error.status == _MISSING:
                sentence = f"the forge has no {what} of {address}, or does not show it to this key"
                raise self.caller.error({"code": _MISSING}, sentence) from error
            headers = {name.lower(): str(value) for name, value in (error.headers or {}).items()}
            raise self.caller.status_error(
                "the forge", f"GET {address}", error.status, str(error.data), headers
            ) from error
        except requests.Timeout as error:
            raise self.caller.error(
                {"state": "hang"}, f"the forge did not answer within {seconds:.0f} s", 0.0
            ) from error
        except requests.RequestException as error:
            raise self.caller.error({"state": "cut"}, f"the connection to the forge broke ({error})", 0.0) from error
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
            raise self.caller.error({"state": "garbage"}, f"the forge's {what} of {address} cannot be read") from error
        finally:
            hub.close()


def open_hub(url: str, token: str | None, seconds: int) -> github.Github:
    """Return PyGithub's client of the API at ``url``; an answer may take so many seconds, and no call is repeated.

    Raises ForgeError where PyGithub is not installed.
    """
    if importlib.util.find_spec("github") is None:
        raise ForgeError("GitHub is asked through PyGithub: install pytest-crab with its extra [comment]")
    import github

    return github.Github(
        base_url=url.rstrip("/"),
        auth=github.Auth.Token(token) if token else None,
        timeout=seconds,
        user_agent="pytest-crab",
        retry=None,
        seconds_between_requests=None,
        seconds_between_writes=None,
    )


def read_pages(
    hub: github.Github, path: str, query: Mapping[str, str] | None = None, most: int = _MOST_PAGES
) -> list[Any]:
    """Return all entries of a list of the API, page after page. Raises TypeError where it is none, or has no end."""
    found: list[Any] = []
    for page in range(1, most + 1):
        parameters = {**(query or {}), "per_page": _PER_PAGE, "page": page}
        headers, entries = hub.requester.requestJsonAndCheck("GET", path, parameters)
        if not isinstance(entries, list):
            break
        found += entries
        if 'rel="next"' not in str(headers.get("link", "")):
            return found
    raise TypeError("this is no list, or too long a one")


def findings_of(comments: Sequence[Mapping[str, Any]], commit: str, diff: str) -> tuple[Finding, ...]:
    """Return comments as findings on ``commit``; renamed files go by their names in ``diff``, the pull request's."""
    renamed = {file.old: file.new for file in parse(diff) if file.old and file.new}
    return tuple(_finding(comment, commit, renamed) for comment in comments)


def _is_comment(entry: Any) -> bool:
    """Return whether this is a review comment; the account may be gone."""
    if not isinstance(entry, dict) or not isinstance(entry.get("user") or {}, dict):
        return False
    lines = ("line", "start_line", "original_line", "original_start_line")
    counted = all(isinstance(entry.get(name) or 0, int) and (entry.get(name) or 0) >= 0 for name in lines)
    return counted and isinstance(entry.get("path"), str) and isinstance(entry.get("body"), str)


def _is_own(comment: Mapping[str, Any], login: str, commit: str) -> bool:
    author = str((comment.get("user") or {}).get("login", ""))
    written_on = comment.get("original_commit_id") or comment.get("commit_id")
    return author.lower() == login.lower() and written_on == commit and not comment.get("in_reply_to_id")


def _finding(comment: Mapping[str, Any], commit: str, renamed: Mapping[str, str]) -> Finding:
    side = Side.LEFT if comment.get("side") == "LEFT" else Side.RIGHT
    start, end = _lines(comment, commit)
    if comment.get("start_side") not in (None, comment.get("side")):
        start = end  # it begins on the other side, in which lines are counted otherwise
    path = str(comment["path"])
    return Finding(path=renamed.get(path, path), start=start, end=end, side=side, body=str(comment["body"]))


def _lines(comment: Mapping[str, Any], commit: str) -> tuple[int | None, int | None]:
    """Return first and last line in ``commit``; the forge counts ``line`` in the latest one, where it still is."""
    if comment.get("subject_type") == "file":
        return None, None
    is_current = comment.get("commit_id") == commit and comment.get("line") is not None
    last = comment.get("line") if is_current else comment.get("original_line")
    first = comment.get("start_line") if is_current else comment.get("original_start_line")
    if not last:
        return None, None
    return (first if first and first <= last else last), last
