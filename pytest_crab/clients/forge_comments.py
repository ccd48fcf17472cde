"""One comment on a pull request, written anew or updated; its first line, a hidden marker, finds it again."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from pytest_crab.errors import ForgeError
from pytest_crab.retry_policy import RetryPolicy

#: How often a failure that may pass is tried again, and the seconds before the first time.
RETRIES, FIRST_WAIT = 4, 1.0

#: Seconds that one answer of a forge may take.
ANSWER_SECONDS = 30

_GITHUB = re.compile(r"(?P<host>https?://[^/\s]+)/(?P<project>[\w.-]+/[\w.-]+)/pull/(?P<number>\d+)/?")
_GITLAB = re.compile(r"(?P<host>https?://[^/\s]+)/(?P<project>[\w./-]+)/-/merge_requests/(?P<number>\d+)/?")
_MARKER = "<!-- pytest-crab: {} -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestPlace:
    """A pull request on the forge."""

    is_gitlab: bool
    #: The address of the forge's API.
    api: str
    project: str
    number: int
    #: The variables that may hold the token.
    token_env: tuple[str, ...]
    #: True where CI says that its branch is another repository's.
    from_fork: bool = False

    @property
    def text(self) -> str:
        """Its short name, as in owner/name#7."""
        return f"{self.project}{'!' if self.is_gitlab else '#'}{self.number}"

    def token(self, environ: Mapping[str, str]) -> tuple[str, str]:
        """Return the first variable that is set, and the token in it. Raises ForgeError."""
        found = next(((name, environ[name]) for name in self.token_env if environ.get(name)), None)
        if found is None:
            raise ForgeError(
                f"no token to comment on {self.text} with: set {self.token_env[0]}"
                + (" to a token with the scope api" if self.is_gitlab else ", in GitHub Actions to ${{ github.token }}")
            )
        if not re.fullmatch(r"[!-~]+", found[1]):
            raise ForgeError(f"{found[0]} holds something that is no token")
        return found


def read_address(address: str, environ: Mapping[str, str]) -> PullRequestPlace:
    """Return the pull request at an address of GitHub or GitLab. Raises ForgeError if it is none."""
    match = _GITHUB.fullmatch(address)
    if match is not None:
        host = match["host"]
        own = environ.get("GITHUB_API_URL") if environ.get("GITHUB_SERVER_URL") == host else None
        api = "https://api.github.com" if host == "https://github.com" else f"{host}/api/v3"
        return github_place(own or api, match["project"], int(match["number"]))
    match = _GITLAB.fullmatch(address)
    if match is not None:
        return gitlab_place(match["host"], match["project"], int(match["number"]))
    raise ForgeError(f"{address!r} is no pull request; give its address, such as https://github.com/owner/name/pull/7")


def github_place(api: str, project: str, number: int, *, from_fork: bool = False) -> PullRequestPlace:
    """Return a pull request on GitHub."""
    names = ("GITHUB_TOKEN", "GH_TOKEN")
    return PullRequestPlace(
        is_gitlab=False, api=api, project=project, number=number, token_env=names, from_fork=from_fork
    )


def gitlab_place(server: str, project: str, number: int) -> PullRequestPlace:
    """Return a merge request on GitLab."""
    return PullRequestPlace(is_gitlab=True, api=server, project=project, number=number, token_env=("GITLAB_TOKEN",))


class OwnComment(NamedTuple):
    """A comment of the token's own account."""

    id: int
    #: The text of the comment.
    body: str
    #: The address of the comment.
    url: str


class CommentForge(Protocol):
    """The comments of one open pull request; every method raises ForgeError."""

    def own_comments(self) -> Sequence[OwnComment]:
        """Return those of the token's own account, oldest first; an error if the pull request is closed."""

    def create(self, body: str) -> str:
        """Write a comment and return its address."""

    def edit(self, comment: OwnComment, body: str) -> None:
        """Replace the text of a comment."""

    def delete(self, comment: OwnComment) -> None:
        """Remove a comment."""


class Posted(NamedTuple):
    """A comment that is on the forge now."""

    #: The address of the comment.
    url: str
    #: What was done: written, updated or left as it was.
    action: str


def marker(name: str) -> str:
    """Return the hidden first line of the comment of this name."""
    return _MARKER.format(re.sub(r"[^\w .]+", "-", name))


def post_comment(forge: CommentForge, name: str, body: str, *, wait: float) -> Posted:
    """Write the comment of this name, or update it; twins that two jobs wrote at a time are removed.

    A failure that may pass, such as a rate limit, is waited for, ``wait`` seconds in all at most. Raises ForgeError.
    """
    first = marker(name)
    text = f"{first}\n{body}"
    policy = RetryPolicy(most=RETRIES, wait=FIRST_WAIT)
    until = time.monotonic() + wait
    return policy.retry(lambda: _put(forge, first, text), ForgeError, until=until, sleep=time.sleep)


def _put(forge: CommentForge, first: str, text: str) -> Posted:
    """Look for the comment and write or update it: made twice, it still leaves one."""
    own = [one for one in forge.own_comments() if one.body.split("\n", 1)[0].strip() == first]
    if not own:
        return Posted(forge.create(text), "written")
    kept, *twins = own
    for twin in twins:
        forge.delete(twin)
    if kept.body.replace("\r\n", "\n").strip() == text.strip():
        return Posted(kept.url, "left as it was")
    forge.edit(kept, text)
    return Posted(kept.url, "updated")
