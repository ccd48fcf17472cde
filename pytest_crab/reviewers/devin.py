"""Devin Review: asked over its API for a review of the public pull request, which its bot then comments on."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from typing import ClassVar

from pytest_crab.clients.forge import Pull
from pytest_crab.clients.forge import comments_of
from pytest_crab.clients.forge import findings_of
from pytest_crab.clients.forge import latest_commit
from pytest_crab.clients.hosted import Asker
from pytest_crab.clients.hosted import Service
from pytest_crab.errors import ReviewerError
from pytest_crab.protocols import Checkout
from pytest_crab.types import Instance
from pytest_crab.types import PullRequest
from pytest_crab.types import Review

#: The version of the API that this drives; the service does not tell its own.
VERSION = "v3"

_STATES = ("pending", "running", "completed", "errored")


@dataclass(frozen=True, slots=True, kw_only=True)
class DevinReviewer:
    """Leaky: it works on the public pull request, where later commits and what people said can be read.

    ``organization`` is Devin's id of it (None: the enterprise's own reviews); ``bot`` is the account whose comments are
    the findings. ``key_env`` and ``forge_key_env`` name the environment variables with the keys; the forge may go
    without. ``timeout`` is in seconds, for one pull request, ``poll`` between two questions, and ``settle`` from the
    end of the review to the reading of the comments.
    """

    leaky: ClassVar[bool] = True

    organization: str | None = None
    bot: str = "devin-ai-integration[bot]"
    url: str = f"https://api.devin.ai/{VERSION}"
    forge_url: str = "https://api.github.com"
    key_env: str = "DEVIN_API_KEY"
    forge_key_env: str = "GITHUB_TOKEN"
    timeout: float = 3600.0
    poll: float = 15.0
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
        """What the bot wrote on the commit. Raises ReviewerError, Cancelled."""
        settings = self.settings
        keys = {name: os.environ.get(name, "") for name in (settings.key_env, settings.forge_key_env)}
        asker = Asker(
            client="devin",
            checkout=checkout,
            until=time.monotonic() + settings.timeout,
            pause=settings.poll,
            secrets=keys,
        )
        pull = Pull.of(self.pull_request)
        if pull is None or not self.commit:
            raise asker.failed({"state": "not public"}, "the instance names no commit of a public pull request")
        key, token = keys[settings.key_env], keys[settings.forge_key_env] or None
        if not key:
            raise asker.failed({"state": "no key"}, f"{settings.key_env} is not set")
        if not _is_key(key) or not _is_key(token or key):
            wrong = settings.forge_key_env if _is_key(key) else settings.key_env
            raise asker.failed({"state": "no key"}, f"{wrong} holds something that is no key")
        with (
            closing(Service(asker, "Devin", settings.url, key)) as devin,
            closing(Service(asker, "the forge", settings.forge_url, token)) as forge,
        ):
            state = _Reviews(asker, devin, forge, pull, self).completed()
            asker.wait(settings.settle, "no time was left to read the comments")
            comments = comments_of(forge, asker, pull, login=settings.bot, commit=self.commit)
        kept = asker.hide(json.dumps({"review": state, "comments": comments}, indent=1))
        findings = findings_of(comments, self.commit, pull_request.diff)
        return Review(
            findings=tuple(dataclasses.replace(one, body=asker.hide(one.body)) for one in findings),
            version=VERSION,
            transcript=checkout.keep("devin", kept),
        )


def _is_key(text: str) -> bool:
    """Whether this can be sent as a key: one word of printable ASCII."""
    return re.fullmatch(r"[!-~]+", text) is not None


class _Reviews:
    """Devin's reviews of one pull request."""

    def __init__(self, asker: Asker, devin: Service, forge: Service, pull: Pull, bound: BoundDevinReviewer) -> None:
        self._asker = asker
        self._devin = devin
        self._forge = forge
        self._pull = pull
        self._commit = bound.commit
        self._poll = bound.settings.poll
        organization = bound.settings.organization
        self._path = f"/organizations/{organization}/pr-reviews" if organization else "/enterprise/pr-reviews"

    def completed(self) -> Mapping[str, Any]:
        """The completed review of the commit, asked for if there is none. Raises ReviewerError, Cancelled."""
        before = self._state()
        asked = before is None or before["status"] == "errored"
        if asked:
            self._ask()
        state = self._state() if asked else before
        while state is None or state["status"] != "completed":
            if state is not None and state["status"] == "errored" and state != before:
                raise self._asker.failed({"state": "errored"}, f"its review of {self._pull.url} errored")
            what = "no review was begun" if state is None else f"the review is {state['status']}"
            self._asker.wait(self._poll, f"{what}, and its time is over")
            state = self._state()
        return state

    def _ask(self) -> None:
        """Ask for a review, which is always one of the latest commit."""
        latest = latest_commit(self._forge, self._asker, self._pull)
        if latest != self._commit:
            raise self._asker.failed(
                {"state": "moved"},
                f"the latest commit of {self._pull.url} is {latest[:12]}, which is what would be reviewed, and "
                f"{self._commit[:12]} is measured",
            )
        self._devin.post(self._path, {"pr_url": self._pull.url})

    def _state(self) -> Mapping[str, Any] | None:
        """The review of the commit; None: there is none."""
        answer = self._devin.get(self._path, pr_url=self._pull.url, commit_sha=self._commit)
        if answer is None:
            return None
        if not isinstance(answer.data, dict) or answer.data.get("status") not in _STATES:
            raise self._unreadable("its answer holds no status that is known")
        if answer.data.get("commit_sha", self._commit) != self._commit:
            raise self._unreadable("its answer is about another commit")
        return answer.data

    def _unreadable(self, sentence: str) -> ReviewerError:
        return self._asker.failed({"state": "garbage"}, sentence)
