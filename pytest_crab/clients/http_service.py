"""Calls of a service on the network that answers JSON, with retries."""

from __future__ import annotations

import functools
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_crab.clients.status_table import Status, StatusRow, read_status
from pytest_crab.errors import ReviewerError
from pytest_crab.model_access import Services
from pytest_crab.redaction import Redactor
from pytest_crab.retry_policy import RetryPolicy, retry_after

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

#: A call that changes nothing is made so often before its failure counts.
TRIES = 4
#: Seconds that one answer may take.
LONGEST_ANSWER = 60.0
_LONGEST_QUOTE = 200
_MISSING = 404


class CallFailed(ReviewerError):
    """One call failed; ``pause`` is what the service asks to wait, in seconds, None: another try would not help."""

    def __init__(self, message: str, status: Status, pause: float | None = None) -> None:
        super().__init__(message, status=str(status))
        self.pause = pause


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A reviewer that calls services."""

    client: str
    #: How its calls end, in the order in which it is looked at.
    rows: Sequence[StatusRow]
    #: They have its way to wait.
    services: Services
    #: When its time ends, a moment of the monotonic clock.
    until: float
    #: The seconds before the first further try.
    poll: float
    redactor: Redactor

    def error(self, facts: Mapping[str, Any], sentence: str, pause: float | None = None) -> CallFailed:
        """Return the error of these facts, in one line that holds no secret."""
        status = read_status(self.rows, self.client, "reviewer", facts).status
        text = self.redactor.text(" ".join(sentence.split()))
        return CallFailed(f"{self.client} ended as {status}: {text}", status, pause)

    def status_error(self, name: str, call: str, code: int, text: str, headers: Mapping[str, str]) -> CallFailed:
        """Return the error of an answer whose HTTP status is no success."""
        sentence = f"{name} answered {code} to {call}: {text[:_LONGEST_QUOTE]}"
        facts = {"code": code, "text": text}
        passing = read_status(self.rows, self.client, "reviewer", facts).status in (
            Status.RATE_LIMITED,
            Status.OVERLOADED,
        )
        return self.error(facts, sentence, (retry_after(headers) or 0.0) if passing else None)

    def wait(self, seconds: float, what: str) -> None:
        """Wait, if there is so much time left. Raises ReviewerError, Cancelled."""
        if time.monotonic() + seconds > self.until:
            raise self.error({"ending": "timeout"}, what)
        self.services.wait(seconds)

    def seconds_left(self) -> float:
        """Return how long the next answer may take."""
        return max(1.0, min(LONGEST_ANSWER, self.until - time.monotonic()))

    def retrying(self, call: Callable[[], T]) -> T:
        """Make a call that changes nothing, again where its failure may pass. Raises ReviewerError, Cancelled."""
        policy = RetryPolicy(most=TRIES - 1, wait=self.poll)
        return policy.retry(call, CallFailed, until=self.until, sleep=self.services.wait)


class HttpService:
    """One service below ``url``; ``name`` is what sentences call it, ``key`` goes along as a bearer token."""

    def __init__(self, caller: Caller, name: str, url: str, key: str) -> None:
        import httpx2

        self._caller = caller
        self._name = name
        self._url = url.rstrip("/")
        headers = {"accept": "application/json", "user-agent": "pytest-crab", "authorization": f"Bearer {key}"}
        self._client = httpx2.Client(headers=headers, verify=_certificates())

    def close(self) -> None:
        """Give back the connections."""
        self._client.close()

    def get(self, path: str, **params: str | int) -> Any | None:
        """Return the JSON at ``path``; None: nothing is there. Raises ReviewerError, Cancelled."""
        return self._caller.retrying(lambda: self._get(path, params))

    def _get(self, path: str, params: Mapping[str, str | int]) -> Any | None:
        answer = self._send("GET", path, params=params)
        if answer.status_code == _MISSING:
            return None
        try:
            return answer.json()
        except ValueError as error:
            raise self._caller.error({"state": "garbage"}, f"{self._name} answered with no JSON") from error

    def post(self, path: str, body: Mapping[str, Any]) -> None:
        """Ask for something to be done, once. Raises ReviewerError."""
        answer = self._send("POST", path, json=body)
        if answer.status_code == _MISSING:
            raise self._status_error("POST", path, answer)

    def _send(self, method: str, path: str, **content: Any) -> httpx2.Response:
        import httpx2

        seconds = self._caller.seconds_left()
        try:
            answer = self._client.request(method, f"{self._url}{path}", timeout=seconds, **content)
        except httpx2.TimeoutException as error:
            sentence = f"{self._name} did not answer within {seconds:.0f} s"
            raise self._caller.error({"state": "hang"}, sentence, 0.0) from error
        except httpx2.HTTPError as error:
            sentence = f"the connection to {self._name} broke ({error})"
            raise self._caller.error({"state": "cut"}, sentence, 0.0) from error
        if not answer.is_success and answer.status_code != _MISSING:
            raise self._status_error(method, path, answer)
        return answer

    def _status_error(self, method: str, path: str, answer: httpx2.Response) -> CallFailed:
        return self._caller.status_error(
            self._name, f"{method} {path}", answer.status_code, answer.text, answer.headers
        )


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Return the certificates that are trusted, read once."""
    import httpx2

    return httpx2.create_ssl_context()
