"""Closed pull requests of a repository on GitHub with their reviews, through PyGithub; only reads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pytest_crab.clients.forge_comments import ANSWER_SECONDS
from pytest_crab.clients.github import open_hub, read_pages
from pytest_crab.clients.github_comments import error_message, rate_limit_pause
from pytest_crab.errors import ForgeError
from pytest_crab.formats import format_duration
from pytest_crab.redaction import Redactor
from pytest_crab.text import one_line

#: The variables that may hold a token, and the address of the public API.
TOKENS, API = ("GITHUB_TOKEN", "GH_TOKEN"), "https://api.github.com"

_HIDDEN = (401, 403, 404)
_AGAIN = "call this again later, what is collected is kept"
_PER_PAGE, _MOST_PAGES = 100, 1000


def _network_cause(error: Exception) -> str:
    """Return the last part of what a failed request says: the parts before it name objects of the HTTP library."""
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return str(reason or error).rpartition(": ")[2]


@dataclass(kw_only=True)
class GitHubPulls:
    """The pull requests of a repository.

    Once a rate limit is used up, nothing is asked until it is given back: each call fails at once.
    """

    #: The repository as owner/name.
    repo: str
    forge: str = "GitHub"
    #: The address of the API.
    api: str = API
    #: None: only what everyone may read can be asked for.
    token: str | None = None
    _until: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._hub = open_hub(self.api, self.token, ANSWER_SECONDS)
        self._redactor = Redactor({self.token: "[token]"} if self.token else {})

    def closed_pulls(self, since: str | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield closed pull requests, the one that was updated last first; none that was not since a day.

        Raises ForgeError.
        """
        for page in range(1, _MOST_PAGES + 1):
            parameters = {
                "state": "closed",
                "sort": "updated",
                "direction": "desc",
                "per_page": _PER_PAGE,
                "page": page,
            }
            with self._errors():
                found = self._hub.requester.requestJsonAndCheck("GET", f"/repos/{self.repo}/pulls", parameters)
                headers, entries = found[0], list(found[1])
            for entry in entries:
                if since is not None and str(entry.get("updated_at", ""))[:10] < since:
                    return
                yield entry
            if 'rel="next"' not in str(headers.get("link", "")):
                return

    def pull(self, number: int) -> Mapping[str, Any]:
        """Return one pull request. Raises ForgeError."""
        with self._errors():
            found = self._hub.requester.requestJsonAndCheck("GET", f"/repos/{self.repo}/pulls/{number}")[1]
            return dict(found)

    def comments_of(self, numbers: Sequence[int], opened: str | None) -> list[Mapping[str, Any]]:
        """Return the review comments of these pull requests; see clients.reviewed_pulls. Raises ForgeError.

        Asked for together, those of all since a time are fewer requests than those of each.
        """
        place = f"/repos/{self.repo}/pulls"
        with self._errors():
            if opened is not None:
                return read_pages(self._hub, f"{place}/comments", {"since": opened}, _MOST_PAGES)
            return [row for number in numbers for row in read_pages(self._hub, f"{place}/{number}/comments")]

    def files(self, number: int) -> set[str]:
        """Return the files that a pull request changes, by their names before and after. Raises ForgeError."""
        with self._errors():
            rows = read_pages(self._hub, f"/repos/{self.repo}/pulls/{number}/files")
            names = [name for row in rows for name in (row["filename"], row.get("previous_filename"))]
            return {str(name) for name in names if name}

    def reviews(self, number: int) -> list[Mapping[str, Any]]:
        """Return the reviews of a pull request. Raises ForgeError."""
        with self._errors():
            return read_pages(self._hub, f"/repos/{self.repo}/pulls/{number}/reviews")

    def merge_base(self, base: str, head: str) -> str | None:
        """Return the merge base of two commits; None where GitHub has one of them no more. Raises ForgeError."""
        import github

        path = f"/repos/{self.repo}/compare/{base}...{head}"
        with self._errors():
            try:
                found = self._hub.requester.requestJsonAndCheck("GET", path)
            except github.UnknownObjectException:
                return None
            return str(found[1]["merge_base_commit"]["sha"])

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of PyGithub and of the network into ForgeErrors without the token."""
        import github
        import requests

        if time.time() < self._until:
            raise self._rate_limit_error(self._until - time.time())
        try:
            yield
        except github.GithubException as error:
            raise self._error(error) from error
        except requests.RequestException as error:
            text = self._redactor.text(one_line(_network_cause(error)))
            raise ForgeError(f"GitHub cannot be reached at {self.api} ({text}): {_AGAIN}", 0.0) from error
        except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
            raise ForgeError(f"GitHub's answer on {self.repo} cannot be read") from error

    def _error(self, error: Any) -> ForgeError:
        said = self._redactor.text(one_line(error_message(error)))
        headers = {name.lower(): str(value) for name, value in (error.headers or {}).items()}
        pause = rate_limit_pause(error.status, said, headers)
        if pause is not None:
            self._until = time.time() + pause
            return self._rate_limit_error(pause)
        if error.status == 401 and self.token:
            return ForgeError(f"GitHub refuses the token in {' or '.join(TOKENS)} ({said}): set one that is valid")
        if error.status in _HIDDEN:
            how = (
                f"give the token in {' or '.join(TOKENS)} the right to read it"
                if self.token
                else f"a private one needs a token in {TOKENS[0]}"
            )
            return ForgeError(f"GitHub shows no repository {self.repo}, or not all of it ({said}): {how}")
        return ForgeError(f"GitHub answered {error.status} for {self.repo} ({said}): {_AGAIN}", 0.0)

    def _rate_limit_error(self, pause: float) -> ForgeError:
        more = "" if self.token else f"; with a token in {TOKENS[0]} it is larger"
        return ForgeError(
            f"GitHub's rate limit is used up: call this again in {format_duration(pause)}, what is collected is kept"
            f"{more}",
            pause,
        )
