"""Devin Review: asked over its API for a review of the public pull request, which its bot then comments on."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, ClassVar

from pytest_crab.clients.github import Forge, findings_of, is_pull_request
from pytest_crab.clients.http_service import Caller, HttpService
from pytest_crab.clients.status_table import HTTP, Rows, Status, status_rows
from pytest_crab.errors import ReviewerError
from pytest_crab.protocols import Checkout
from pytest_crab.redaction import Redactor
from pytest_crab.types import Instance, PullRequest, Review

#: The version of the API that this drives; the service does not tell its own.
VERSION = "v3"

_STATES = ("pending", "running", "completed", "errored")


_ENDINGS: Rows = (
    ("deadline", "no completed review within its time", {"ending": "^timeout$"}, Status.TIMEOUT),
    ("no-key", "the variable that should hold its key is not set", {"state": "^no key$"}, Status.AUTH),
    *HTTP,
    ("hang", "an answer did not come in time", {"state": "^hang$"}, Status.TIMEOUT),
    ("cut", "a connection could not be made, or broke", {"state": "^cut$"}, Status.CLIENT_ERROR),
    ("garbage", "an answer is not what its documentation says", {"state": "^garbage$"}, Status.BAD_OUTPUT),
    ("not-public", "the instance is no public pull request", {"state": "^not public$"}, Status.CLIENT_ERROR),
    ("moved", "the pull request's latest commit is another one", {"state": "^moved$"}, Status.CLIENT_ERROR),
    ("errored", "the service says that its review errored", {"state": "^errored$"}, Status.CLIENT_ERROR),
    ("review", "completed; the bot's comments are its findings", {"state": "^completed$"}, Status.OK, "reviewer"),
)
#: How a review of the service ends.
ROWS = status_rows("devin", _ENDINGS, ended=())


@dataclass(frozen=True, slots=True, kw_only=True)
class DevinReviewer:
    """Leaky: it works on the public pull request, where later commits and what people said can be read."""

    leaky: ClassVar[bool] = True

    #: Devin's id of the organization; None: the enterprise's own reviews.
    organization: str | None = None
    #: The account whose comments are the findings.
    bot: str = "devin-ai-integration[bot]"
    url: str = f"https://api.devin.ai/{VERSION}"
    forge_url: str = "https://api.github.com"
    #: The environment variable with Devin's key.
    key_env: str = "DEVIN_API_KEY"
    #: The environment variable with the forge's key; the forge may go without.
    forge_key_env: str = "GITHUB_TOKEN"
    #: In seconds, for one pull request.
    timeout: float = 3600.0
    #: The seconds between two questions.
    poll: float = 15.0
    #: The seconds from the end of the review to the reading of the comments.
    settle: float = 30.0

    def __post_init__(self) -> None:
        if self.timeout <= 0 or self.poll <= 0 or self.settle < 0:
            raise ValueError("timeout and poll should be above 0, and settle not below")
        if not all(re.fullmatch(r"https?://[\w.:-]+(/[\w./-]*)?", url) for url in (self.url, self.forge_url)):
            raise ValueError("url and forge_url should be addresses, such as https://api.github.com")
        if self.organization is not None and not re.fullmatch(r"[\w-]+", self.organization):
            raise ValueError("organization should be Devin's id of it, such as org-1a2b3c")

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that should be set before a run begins."""
        return (self.key_env,)

    def bind(self, instance: Instance) -> BoundDevinReviewer:
        """The reviewer of this instance; of all that the instance holds it learns address and commit."""
        git = instance.source.git
        return BoundDevinReviewer(
            settings=self, pull_request=instance.pull_request.url or "", commit=git.head if git else ""
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundDevinReviewer:
    """The reviewer of one public pull request at one commit."""

    settings: DevinReviewer
    pull_request: str
    commit: str

    def identity(self) -> Mapping[str, Any]:
        """The address, the commit and who is asked; not how long that may take."""
        kept = {name: getattr(self.settings, name) for name in ("organization", "bot", "url", "forge_url")}
        return {"adapter": "devin", "version": VERSION, "at": [self.pull_request, self.commit], "settings": kept}

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """Ask for a review and read the bot's comments on the commit. Raises ReviewerError, Cancelled."""
        settings = self.settings
        names = (settings.key_env, settings.forge_key_env)
        redactor = Redactor.of_variables(names, os.environ)
        caller = Caller(
            client="devin",
            rows=ROWS,
            services=checkout.services,
            until=time.monotonic() + settings.timeout,
            poll=settings.poll,
            redactor=redactor,
        )
        if not is_pull_request(self.pull_request) or not self.commit:
            raise caller.error({"state": "not public"}, "the instance names no commit of a public pull request")
        key, token = self._keys(caller)
        forge = Forge(caller=caller, url=settings.forge_url, token=token)
        with closing(HttpService(caller, "Devin", settings.url, key)) as devin:
            state = _Reviews(caller, devin, forge, self).wait_for_completed()
            caller.wait(settings.settle, "no time was left to read the comments")
            comments = forge.comments(self.pull_request, login=settings.bot, commit=self.commit)
        kept = redactor.text(json.dumps({"review": state, "comments": comments}, indent=1))
        return Review(
            findings=findings_of(redactor.data(comments), self.commit, pull_request.diff),
            version=VERSION,
            transcript=checkout.services.keep("devin", kept),
        )

    def _keys(self, caller: Caller) -> tuple[str, str | None]:
        """Return Devin's key and the forge's, which may be missing. Raises ReviewerError."""
        for module in ("httpx2", "github"):
            if importlib.util.find_spec(module) is None:
                raise ReviewerError(f"devin needs {module}: install pytest-crab with its extra [hosted]")
        names = (self.settings.key_env, self.settings.forge_key_env)
        key, token = (os.environ.get(name, "") for name in names)
        if not key:
            raise caller.error({"state": "no key"}, f"{names[0]} is not set")
        for name, value in zip(names, (key, token or key), strict=True):
            if not re.fullmatch(r"[!-~]+", value):  # one word of printable ASCII
                raise caller.error({"state": "no key"}, f"{name} holds something that is no key")
        return key, token or None


class _Reviews:
    """Devin's reviews of one pull request."""

    def __init__(self, caller: Caller, devin: HttpService, forge: Forge, bound: BoundDevinReviewer) -> None:
        self._caller = caller
        self._devin = devin
        self._forge = forge
        self._pull = bound.pull_request
        self._commit = bound.commit
        self._poll = bound.settings.poll
        organization = bound.settings.organization
        self._path = f"/organizations/{organization}/pr-reviews" if organization else "/enterprise/pr-reviews"

    def wait_for_completed(self) -> Mapping[str, Any]:
        """Return the completed review of the commit, asked for if there is none. Raises ReviewerError, Cancelled."""
        before = self._state()
        asked = before is None or before["status"] == "errored"
        if asked:
            self._ask()
        state = self._state() if asked else before
        while state is None or state["status"] != "completed":
            if state is not None and state["status"] == "errored" and state != before:
                raise self._caller.error({"state": "errored"}, f"its review of {self._pull} errored")
            what = "no review was begun" if state is None else f"the review is {state['status']}"
            self._caller.wait(self._poll, f"{what}, and its time is over")
            state = self._state()
        return state

    def _ask(self) -> None:
        """Ask for a review, which is always one of the latest commit."""
        latest = self._forge.latest_commit(self._pull)
        if latest != self._commit:
            raise self._caller.error(
                {"state": "moved"},
                f"the latest commit of {self._pull} is {latest[:12]}, which is what would be reviewed, and "
                f"{self._commit[:12]} is measured",
            )
        self._devin.post(self._path, {"pr_url": self._pull})

    def _state(self) -> Mapping[str, Any] | None:
        """Return the review of the commit; None: there is none."""
        state = self._devin.get(self._path, pr_url=self._pull, commit_sha=self._commit)
        if state is None:
            return None
        if not isinstance(state, dict) or state.get("status") not in _STATES:
            raise self._caller.error({"state": "garbage"}, "its answer holds no status that is known")
        if state.get("commit_sha", self._commit) != self._commit:
            raise self._caller.error({"state": "garbage"}, "its answer is about another commit")
        return state
