"""Notes of a merge request on GitLab, through python-gitlab."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from pytest_crab.clients.forge_comments import ANSWER_SECONDS, OwnComment, PullRequestPlace
from pytest_crab.errors import ForgeError
from pytest_crab.redaction import Redactor
from pytest_crab.text import one_line

if TYPE_CHECKING:
    import gitlab

_UNAUTHORISED, _FORBIDDEN, _MISSING, _TOO_MANY, _BROKEN = 401, 403, 404, 429, 500

#: Tells python-gitlab not to wait by itself, so that one back-off with one limit holds for both forges.
_AT_ONCE: dict[str, Any] = {"obey_rate_limit": False}


def open_lab(server: str, token: str | None) -> Any:
    """Return python-gitlab's client of a server. Raises ForgeError where python-gitlab is not installed."""
    if importlib.util.find_spec("gitlab") is None:
        raise ForgeError("GitLab is asked through python-gitlab: install pytest-crab with its extra [comment]")
    import gitlab

    return gitlab.Gitlab(
        server, private_token=token, timeout=ANSWER_SECONDS, user_agent="pytest-crab", keep_base_url=True
    )


class GitLabNotes:
    """A CommentForge on GitLab; ``variable`` is the name of the one that holds the token."""

    def __init__(self, place: PullRequestPlace, variable: str, token: str) -> None:
        self._place = place
        self._variable = variable
        self._redactor = Redactor({token: f"[{variable}]"})
        self._lab = open_lab(place.api, token)
        self._request: Any = None

    def own_comments(self) -> Sequence[OwnComment]:
        """Return the notes of the token's own account, oldest first. Raises ForgeError."""
        with self._errors("read"):
            project = self._lab.projects.get(self._place.project, lazy=True)
            self._request = request = project.mergerequests.get(self._place.number, **_AT_ONCE)
            if request.state != "opened":
                raise ForgeError(
                    f"{self._place.text} is {request.state}: a note is written on open merge requests only"
                )
            account = self._lab.http_get("/user", **_AT_ONCE)
            notes = request.notes.list(get_all=True, order_by="created_at", sort="asc", **_AT_ONCE)
            own = [note for note in notes if note.author["id"] == account["id"]]
            return [OwnComment(note.id, note.body, self._url(note.id)) for note in own]

    def create(self, body: str) -> str:
        """Write a note and return its address. Raises ForgeError."""
        with self._errors("comment on"):
            return self._url(self._request.notes.create({"body": body}, **_AT_ONCE).id)

    def edit(self, comment: OwnComment, body: str) -> None:
        """Replace the text of a note. Raises ForgeError."""
        with self._errors("comment on"):
            self._request.notes.update(comment.id, {"body": body}, **_AT_ONCE)

    def delete(self, comment: OwnComment) -> None:
        """Remove a note. Raises ForgeError."""
        with self._errors("comment on"):
            self._request.notes.delete(comment.id, **_AT_ONCE)

    def _url(self, note: int) -> str:
        return f"{self._request.web_url}#note_{note}"

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        return gitlab_errors(doing, self._place.text, self._place.api, self._variable, self._redactor)


@contextmanager
def gitlab_errors(doing: str, place: str, server: str, variable: str, redactor: Redactor) -> Iterator[None]:
    """Turn errors of python-gitlab and of the network into ForgeErrors without the token, which ``variable`` holds."""
    import gitlab
    import requests

    try:
        yield
    except gitlab.GitlabError as error:
        raise _refusal(error, doing, place, variable, redactor) from error
    except requests.RequestException as error:
        raise ForgeError(f"GitLab cannot be reached at {server}: {redactor.text(one_line(str(error)))}", 0.0) from error
    except (LookupError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise ForgeError(f"GitLab's answer on {place} cannot be read") from error


def _refusal(error: gitlab.GitlabError, doing: str, place: str, variable: str, redactor: Redactor) -> ForgeError:
    status = error.response_code or 0
    if status == _TOO_MANY:
        return ForgeError("GitLab's rate limit is used up: try again in a minute", 0.0)
    if status == _UNAUTHORISED:
        return ForgeError(f"GitLab does not accept the token in {variable}: it may have expired")
    if status == _FORBIDDEN:
        return ForgeError(f"the token in {variable} may not {doing} {place}: give it the scope api")
    if status == _MISSING:
        return ForgeError(f"GitLab has no {place}, or does not show it to the token in {variable}")
    said = redactor.text(one_line(str(error.error_message)))
    return ForgeError(f"GitLab answered {status} for {place}: {said}", 0.0 if status >= _BROKEN else None)
