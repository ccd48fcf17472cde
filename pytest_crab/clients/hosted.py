"""A service on the network that is asked for JSON with a key; what it answers has a row in the table of failures."""

from __future__ import annotations

import functools
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

from pytest_crab.clients.failures import Status
from pytest_crab.clients.failures import read_status
from pytest_crab.errors import ReviewerError
from pytest_crab.protocols import Checkout

if TYPE_CHECKING:
    import httpx2

#: A question that changes nothing is asked so often before its failure counts.
TRIES = 4
_ANSWER = 60.0
_WORDS = 200
_MISSING = 404


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks: the client whose rows of the table hold, its way to wait, and how long it has.

    ``until`` is a moment of the monotonic clock, ``pause`` the seconds between two tries, ``secrets`` what no sentence
    may hold, by the name that stands for it.
    """

    client: str
    checkout: Checkout
    until: float
    pause: float
    secrets: Mapping[str, str]

    def failed(self, facts: Mapping[str, Any], sentence: str) -> ReviewerError:
        """The error of these facts, in one line that holds no secret."""
        row = read_status(self.client, "reviewer", facts)
        text = " ".join(sentence.split())
        return ReviewerError(f"{self.client} ended as {row.status}: {self.hide(text)}", status=str(row.status))

    def hide(self, text: str) -> str:
        """The text without the secrets."""
        for name, value in self.secrets.items():
            text = text.replace(value, f"[{name}]") if value else text
        return text

    def wait(self, seconds: float, what: str) -> None:
        """Wait, if there is so much time left. Raises ReviewerError, Cancelled."""
        if time.monotonic() + seconds > self.until:
            raise self.failed({"ending": "timeout"}, what)
        self.checkout.wait(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was answered: the JSON in it, and whether there are more pages."""

    data: Any
    more: bool


class Service:
    """One service below ``url``; ``name`` is what sentences call it, ``key`` goes along as a bearer token."""

    def __init__(self, asker: Asker, name: str, url: str, key: str | None) -> None:
        try:
            import httpx2
        except ImportError:
            raise ReviewerError(f"{asker.client} needs httpx2: install pytest-crab with its extra [models]") from None
        self._asker = asker
        self._name = name
        self._url = url.rstrip("/")
        headers = {"accept": "application/json", "user-agent": "pytest-crab"}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        self._client = httpx2.Client(headers=headers, verify=_trusted())
        #: The seconds after which the last question may be asked again; None: its answer will not change.
        self._pause: float | None = None

    def close(self) -> None:
        """Give back the connections."""
        self._client.close()

    def get(self, path: str, **params: str | int) -> Answer | None:
        """What is at ``path``; None: nothing is. What may pass is asked again. Raises ReviewerError, Cancelled."""
        for left in reversed(range(TRIES)):
            try:
                answer = self._send("GET", path, params=params)
                if answer.status_code == _MISSING:
                    return None
                if not answer.is_success:
                    raise self._refused("GET", path, answer)
                return Answer(data=self._json(answer), more="next" in answer.links)
            except ReviewerError:
                if not left or self._pause is None or time.monotonic() + self._pause > self._asker.until:
                    raise
            self._asker.checkout.wait(self._pause)
        raise AssertionError("the last try returns or raises")

    def post(self, path: str, body: Mapping[str, Any]) -> None:
        """Ask for something to be done, once. Raises ReviewerError."""
        answer = self._send("POST", path, json=body)
        if not answer.is_success:
            raise self._refused("POST", path, answer)

    def _send(self, method: str, path: str, **content: Any) -> httpx2.Response:
        import httpx2

        self._pause = self._asker.pause
        seconds = max(1.0, min(_ANSWER, self._asker.until - time.monotonic()))
        # A repository that was renamed answers with its new place; nothing is posted to another one.
        follow = method == "GET"
        try:
            return self._client.request(
                method, f"{self._url}{path}", follow_redirects=follow, timeout=seconds, **content
            )
        except httpx2.TimeoutException as error:
            raise self._asker.failed(
                {"state": "hang"}, f"{self._name} did not answer within {seconds:.0f} s"
            ) from error
        except httpx2.HTTPError as error:
            raise self._asker.failed({"state": "cut"}, f"the connection to {self._name} broke ({error})") from error

    def _refused(self, method: str, path: str, answer: httpx2.Response) -> ReviewerError:
        facts = {"code": answer.status_code, "text": answer.text}
        sentence = f"{self._name} answered {answer.status_code} to {method} {path}: {answer.text[:_WORDS]}"
        failure = self._asker.failed(facts, sentence)
        again = failure.status in (str(Status.RATE_LIMITED), str(Status.OVERLOADED))
        self._pause = max(self._asker.pause, _asked_to_wait(answer)) if again else None
        return failure

    def _json(self, answer: httpx2.Response) -> Any:
        self._pause = None
        try:
            return answer.json()
        except ValueError as error:
            raise self._asker.failed({"state": "garbage"}, f"{self._name} answered with no JSON") from error


@functools.cache
def _trusted() -> ssl.SSLContext:
    """The certificates that are trusted, read once."""
    import httpx2

    return httpx2.create_ssl_context()


def _asked_to_wait(answer: httpx2.Response) -> float:
    """The seconds that a Retry-After names; 0 for none, and for one that is a date."""
    said = answer.headers.get("retry-after", "")
    return float(said) if said.isdecimal() else 0.0
