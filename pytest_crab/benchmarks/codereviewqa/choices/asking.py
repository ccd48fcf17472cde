"""Asks a model the questions of one probe, several at a time, and keeps what keeps one of them from an answer."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.benchmarks.codereviewqa.choices.answers import Answerer, Answers, ChosenOption, NoteAnswer
from pytest_crab.benchmarks.codereviewqa.choices.questions import Question, option_lines
from pytest_crab.clients.chat import ChatSettings
from pytest_crab.clients.model_http import connection, post_each
from pytest_crab.errors import MalformedAnswer, ModelError, ModelRefused
from pytest_crab.model_access import ModelAccess, Services
from pytest_crab.settings import load_settings
from pytest_crab.types import Usage
from pytest_crab.waiting import waiting

if TYPE_CHECKING:
    from pytest_crab.clients.gateway_connection import GatewayAnswer, GatewayConnection, GatewayRequest


class AskedQuestion(NamedTuple):
    """A question as it is sent to the model."""

    request: GatewayRequest
    #: Makes of the answer what was chosen. Raises ModelError.
    read: Callable[[GatewayAnswer], ChosenOption]


#: The last line of a prompt: a model that continues texts writes the letter behind it.
_LAST = "### Answer with the letter alone. Answer:\n"

#: Prepares a question, whose prompt is given, for a connection that all of them share.
Prepare = Callable[["ModelAccess", "GatewayConnection", Question, str], AskedQuestion]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionSettings(ChatSettings, Answerer):
    """Settings of answerers that ask a model."""

    role: ClassVar[str] = "choices"
    package: ClassVar[str] = "pytest_crab.benchmarks.codereviewqa"
    singly: ClassVar[bool] = False
    beside_identity = ChatSettings.beside_identity | {"parallel", "timeout"}

    @property
    @override
    def raw(self) -> bool:
        return False

    #: In seconds, for one question.
    timeout: float = 60.0
    #: The most tokens of an answer to one question.
    max_tokens: int | None = 16
    #: The most questions of a probe at a time. Of a provider with a limit of its own one probe is asked at a time, by
    #: no more questions than that: its server then has what the orders of a question share at hand, and no question
    #: spends its ``timeout`` in a queue.
    parallel: int = 8

    def __post_init__(self) -> None:
        ChatSettings.__post_init__(self)
        if self.parallel < 1:
            raise ValueError("parallel should be at least 1")

    def provider_limit(self) -> int | None:
        """Return the most requests that the provider takes at a time; None: it has no limit. Raises BadInput."""
        known = load_settings(Path(self.folder)).models.providers.get(self.provider)
        return None if known is None else known.parallel

    def prompts_for(self, questions: Sequence[Question]) -> list[str]:
        """Return the prompts of one question in several orders.

        What all orders share comes first, so that a provider may cache it. Nothing marks the texts as data: a small
        model loses the question over marks, and whatever a text says can change no more than a letter.
        """
        shared = f"{self.instructions()}\n{questions[0].context}\nQuestion: {questions[0].text}\n### Options:\n"
        return [f"{shared}{option_lines(each)}\n{_LAST}" for each in questions]


#: A lock for each provider with a limit that this process asks.
_TURNS: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


@contextmanager
def _turn(provider: str, limit: int | None) -> Iterator[None]:
    """Be the only one inside that asks a provider with a limit."""
    if limit is None:
        yield
        return
    lock = _TURNS[provider]
    with waiting():
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def ask_all(
    settings: QuestionSettings, services: Services, questions: Sequence[Question], prepare: Prepare, note: NoteAnswer
) -> Answers:
    """Return an answer to each question; a refusal and an answer that cannot be read are no answers.

    ``note`` is told of each as it comes. After any other failure nothing more is asked, and what is under way is waited
    for, since it is paid for. Raises ModelError for it, and GatewayError.
    """
    asked: list[AskedQuestion] = []
    answers: dict[int, ChosenOption] = {}
    failures: list[ModelError] = []

    def requests(access: ModelAccess, client: GatewayConnection) -> Iterator[GatewayRequest]:
        for question, prompt in zip(questions, settings.prompts_for(questions), strict=True):
            if failures:
                return
            asked.append(prepare(access, client, question, prompt))
            yield asked[-1].request

    limit = settings.provider_limit()
    with _turn(settings.provider, limit), services.models(settings.provider) as access, connection(access) as client:
        for number, answer in post_each(
            client,
            settings.provider,
            requests(access, client),
            token=access.token,
            timeout=settings.timeout,
            parallel=min(settings.parallel, limit or settings.parallel),
        ):
            try:
                answers[number] = asked[number].read(answer)
            except (ModelRefused, MalformedAnswer) as error:
                answers[number] = ChosenOption(letter=None, reason=str(error))
            except ModelError as error:
                failures.append(error)
                continue
            note(number, answers[number], _usage(answer))
        if failures:
            raise failures[0]
    return Answers(answers=tuple(answers[number] for number in range(len(asked))), usage=services.usage(access))


def _usage(answer: GatewayAnswer) -> Usage | None:
    """Return what an answer used, None where the gateway did not say."""
    return serialization.read(Usage, json.loads(answer.usage), []) if answer.usage else None
