"""The answerer ``log-probabilities``: of the letters, the one that a model is most likely to write next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from pytest_crab.benchmarks.codereviewqa.choices.answers import Answers, ChosenOption, NoteAnswer, note_nothing
from pytest_crab.benchmarks.codereviewqa.choices.asking import AskedQuestion, QuestionSettings, ask_all
from pytest_crab.benchmarks.codereviewqa.choices.questions import Question
from pytest_crab.clients.gateway_connection import GatewayRequest
from pytest_crab.clients.model_http import REFUSED, checked
from pytest_crab.clients.status_table import Status, model_error
from pytest_crab.model_access import ModelAccess, Services
from pytest_crab.settings import Api

if TYPE_CHECKING:
    from pytest_crab.clients.gateway_connection import GatewayAnswer, GatewayConnection

CHAT, COMPLETIONS = "chat", "completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogProbabilityAnswerer(QuestionSettings):
    """Chooses the letter with the highest log-probability as the next token (arXiv 2503.16167, section 5.1)."""

    #: It must give log-probabilities.
    provider: str = "openai"
    #: ``chat`` takes log-probabilities from OpenAI's chat/completions, ``completions`` from its older protocol, which
    #: servers of one's own speak too. ``completions`` sends the prompts of the release as they are, where the set keeps
    #: its templates.
    endpoint: str = CHAT
    #: How many tokens the provider is asked for; a letter that is not among them has no log-probability, and without
    #: any letter there is no answer.
    candidates: int = 20

    measure = "log-probabilities"

    def __post_init__(self) -> None:
        QuestionSettings.__post_init__(self)
        if self.endpoint not in (CHAT, COMPLETIONS):
            raise ValueError(f"endpoint is {self.endpoint!r}; it should be {CHAT} or {COMPLETIONS}")
        if not 1 <= self.candidates <= 20:
            raise ValueError("candidates should be a number from 1 to 20")
        if self.protocol() is not Api.OPENAI:
            raise ValueError(f"the provider {self.provider} gives no log-probabilities; name one whose api is openai")

    @property
    @override
    def raw(self) -> bool:
        return self.endpoint == COMPLETIONS

    @override
    def answer(self, questions: Sequence[Question], services: Services, note: NoteAnswer = note_nothing) -> Answers:

        def prepare(_access: ModelAccess, _client: GatewayConnection, question: Question, prompt: str) -> AskedQuestion:
            def read(answer: GatewayAnswer) -> ChosenOption:
                return choose(read_log_probabilities(checked(answer)), question.letters)

            return AskedQuestion(self._request(question.prompt or prompt), read)

        return ask_all(self, services, questions, prepare, note)

    def _request(self, prompt: str) -> GatewayRequest:
        if self.endpoint == COMPLETIONS:
            wanted = {**self.typed_options(), "max_tokens": 1, "logprobs": self.candidates}
            return GatewayRequest("completions", {"model": self.model, "prompt": prompt, **wanted})
        messages = [{"role": "user", "content": prompt}]
        wanted = {**self.limited(1), "logprobs": True, "top_logprobs": self.candidates}
        return GatewayRequest("chat/completions", {"model": self.model, "messages": messages, **wanted})


def read_log_probabilities(document: Any) -> Mapping[str, float]:
    """Return the log-probabilities of the next token, by token, out of an answer in either protocol.

    Raises ModelRefused for a refusal, and ModelUnavailable for any other answer without: its provider would give none
    to the next question either.
    """
    try:
        choice = document["choices"][0]
        if choice.get("finish_reason") in REFUSED:
            raise model_error(Status.REFUSED, "the model refuses")
        found = choice["logprobs"]
        if "content" in found:
            return {str(each["token"]): float(each["logprob"]) for each in found["content"][0]["top_logprobs"]}
        return {str(token): float(value) for token, value in found["top_logprobs"][0].items()}
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        sentence = "its answer has no log-probabilities: name a provider and a model that give them, or use letters"
        raise model_error(Status.CLIENT_ERROR, sentence) from error


def choose(log_probabilities: Mapping[str, float], letters: str) -> ChosenOption:
    """Return the most likely letter; a letter with and without a space before it counts with its likelier form."""
    known: dict[str, float] = {}
    for token, value in log_probabilities.items():
        letter = token.strip()
        if len(letter) == 1 and letter in letters:
            known[letter] = max(value, known.get(letter, value))
    if not known:
        return ChosenOption(letter=None, reason=f"none of {', '.join(letters)} is among the likely next tokens")
    return ChosenOption(letter=max(known, key=lambda letter: known[letter]), log_probabilities=known)
