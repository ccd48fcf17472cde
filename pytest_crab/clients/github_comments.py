"""Comments of a pull request on GitHub, through PyGithub."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_crab.clients.forge_comments import ANSWER_SECONDS, OwnComment, PullRequestPlace
from pytest_crab.clients.github import open_hub, read_pages
from pytest_crab.errors import ForgeError
from pytest_crab.formats import format_duration
from pytest_crab.redaction import Redactor
from pytest_crab.retry_policy import retry_after
from pytest_crab.text import one_line

if TYPE_CHECKING:
    import github

_UNAUTHORISED, _FORBIDDEN, _MISSING, _TOO_MANY, _BROKEN = 401, 403, 404, 429, 500

#: What the token of a job and of an app cannot ask for; it then writes as a bot.
_NO_ACCOUNT = (_FORBIDDEN, _MISSING)


class GitHubComments:
    """A CommentForge on GitHub; ``variable`` is the name of the one that holds the token."""

    def __init__(self, place: PullRequestPlace, variable: str, token: str) -> None:
        self._place = place
        self._variable = variable
        self._redactor = Redactor({token: f"[{variable}]"})
        self._hub = open_hub(place.api, token, ANSWER_SECONDS)

    def own_comments(self) -> Sequence[OwnComment]:
        """Return the comments of the token's own account, oldest first. Raises ForgeError."""
        path = f"/repos/{self._place.project}"
        with self._errors("read"):
            pull = self._ask("GET", f"{path}/pulls/{self._place.number}")
            if pull["state"] != "open":
                raise ForgeError(f"{self._place.text} is closed: a comment is written on open pull requests only")
            login = self._login()
            found = read_pages(self._hub, f"{path}/issues/{self._place.number}/comments")
            own = [one for one in found if _is_own(one, login)]
            return [OwnComment(one["id"], one["body"] or "", one["html_url"]) for one in own]

    def create(self, body: str) -> str:
        """Write a comment and return its address. Raises ForgeError."""
        path = f"/repos/{self._place.project}/issues/{self._place.number}/comments"
        with self._errors("comment on"):
            return str(self._ask("POST", path, body)["html_url"])

    def edit(self, comment: OwnComment, body: str) -> None:
        """Replace the text of a comment. Raises ForgeError."""
        with self._errors("comment on"):
            self._ask("PATCH", self._path(comment), body)

    def delete(self, comment: OwnComment) -> None:
        """Remove a comment. Raises ForgeError."""
        with self._errors("comment on"):
            self._ask("DELETE", self._path(comment))

    def _path(self, comment: OwnComment) -> str:
        return f"/repos/{self._place.project}/issues/comments/{comment.id}"

    def _ask(self, method: str, path: str, body: str | None = None) -> Any:
        content = None if body is None else {"body": body}
        return self._hub.requester.requestJsonAndCheck(method, path, input=content)[1]

    def _login(self) -> str | None:
        """Return the token's account; None: it is a bot, whose name the API does not tell."""
        import github

        try:
            return str(self._ask("GET", "/user")["login"])
        except github.RateLimitExceededException:
            raise
        except github.GithubException as error:
            if error.status in _NO_ACCOUNT:
                return None
            raise

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        """Turn errors of PyGithub and of the network into ForgeErrors without the token."""
        import github
        import requests

        try:
            yield
        except github.GithubException as error:
            raise self._error(error, doing) from error
        except requests.RequestException as error:
            text = self._redactor.text(one_line(str(error)))
            raise ForgeError(f"GitHub cannot be reached at {self._place.api}: {text}", 0.0) from error
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
            raise ForgeError(f"GitHub's answer on {self._place.text} cannot be read") from error

    def _error(self, error: github.GithubException, doing: str) -> ForgeError:
        place, status, said = self._place.text, error.status, self._redactor.text(one_line(error_message(error)))
        headers = {name.lower(): str(value) for name, value in (error.headers or {}).items()}
        pause = rate_limit_pause(status, said, headers)
        if pause is not None:
            return ForgeError(
                f"GitHub's rate limit is used up: it takes requests again in {format_duration(pause)}", pause
            )
        if status == _UNAUTHORISED:
            return ForgeError(f"GitHub does not accept the token in {self._variable}: it may have expired")
        if status == _FORBIDDEN and self._place.from_fork:
            return ForgeError(
                f"the token in {self._variable} may only read, as {place} comes from a fork: comment from a workflow "
                "that runs on workflow_run instead"
            )
        if status == _FORBIDDEN:
            return ForgeError(
                f"the token in {self._variable} may not {doing} {place} ({said}): give the job the permission "
                "pull-requests: write"
            )
        if status == _MISSING:
            return ForgeError(f"GitHub has no {place}, or does not show it to the token in {self._variable}")
        return ForgeError(f"GitHub answered {status} for {place}: {said}", 0.0 if status >= _BROKEN else None)


def _is_own(comment: Mapping[str, Any], login: str | None) -> bool:
    """Return whether this account wrote the comment; a person's comment with the marker is never a bot's own."""
    user = comment.get("user") or {}
    return bool(user.get("type") == "Bot" if login is None else user.get("login") == login)


def error_message(error: github.GithubException) -> str:
    """Return GitHub's own words on a failure."""
    data = error.data
    return str(data.get("message", "")) if isinstance(data, dict) else str(data or "")


def rate_limit_pause(status: int, said: str, headers: Mapping[str, str]) -> float | None:
    """Return the seconds until GitHub takes requests again; None: its rate limit is not what is the matter."""
    if status not in (_FORBIDDEN, _TOO_MANY):
        return None
    asked = retry_after(headers)
    if asked is not None:
        return asked
    if headers.get("x-ratelimit-remaining") == "0" and headers.get("x-ratelimit-reset", "").isdecimal():
        return max(0.0, float(headers["x-ratelimit-reset"]) - time.time())
    return 60.0 if status == _TOO_MANY or "rate limit" in said.lower() else None
