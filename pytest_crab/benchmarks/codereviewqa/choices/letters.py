"""The answerer ``letters``: a chat model is asked for the letter of an option, which is read out of its words."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from pytest_crab.benchmarks.codereviewqa.choice_statistics import LETTERS
from pytest_crab.benchmarks.codereviewqa.choices.answers import Answers, ChosenOption, NoteAnswer, note_nothing
from pytest_crab.benchmarks.codereviewqa.choices.asking import AskedQuestion, QuestionSettings, ask_all
from pytest_crab.benchmarks.codereviewqa.choices.questions import Question
from pytest_crab.clients.conversation import start_conversation
from pytest_crab.clients.gateway_connection import GatewayRequest
from pytest_crab.clients.model_http import checked
from pytest_crab.errors import MalformedAnswer
from pytest_crab.model_access import ModelAccess, Services
from pytest_crab.parsing.json_in_text import pieces
from pytest_crab.settings import Api

if TYPE_CHECKING:
    from pytest_crab.clients.gateway_connection import GatewayAnswer, GatewayConnection


def _json_schema(letters: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {KEY: {"type": "string", "enum": list(letters)}},
        "required": [KEY],
        "additionalProperties": False,
    }
    named = {"name": "choice", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


LOGIT_BIAS = "logit-bias"

#: The bias that leaves a model no other token.
_BIAS = 100

#: The fields of a request that let a model answer with nothing but a letter, by the server's way.
CONSTRAINTS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "none": lambda _letters: {},
    "json-schema": _json_schema,  # OpenAI
    LOGIT_BIAS: lambda _letters: {},  # OpenAI too; its request is another one
    "guided-choice": lambda letters: {"guided_choice": list(letters)},  # vLLM
    "grammar": lambda letters: {"grammar": f"root ::= [{letters}]"},  # llama.cpp
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterAnswerer(QuestionSettings):
    """Asks a model for the letter of an option; an answer that is not exactly one of the letters is no answer.

    The other settings are those of ``single-shot``, ``timeout`` and ``max_tokens`` for one question.
    """

    #: Makes the server allow nothing but a letter: ``json-schema`` or ``logit-bias`` (OpenAI), ``guided-choice`` (vLLM)
    #: or ``grammar`` (llama.cpp).
    constrain: str = "none"
    #: The numbers of the tokens A to D for ``logit-bias``, as the tokenizers with GPT-2's order of bytes have them.
    letter_tokens: tuple[int, ...] = (32, 33, 34, 35)

    measure = "letters"

    def __post_init__(self) -> None:
        QuestionSettings.__post_init__(self)
        if self.constrain not in CONSTRAINTS:
            raise ValueError(f"constrain is {self.constrain!r}; it should be one of {', '.join(CONSTRAINTS)}")
        if len(set(self.letter_tokens)) != len(LETTERS):
            raise ValueError("letter_tokens should be four different numbers, those of the tokens A, B, C and D")
        if self.constrain == LOGIT_BIAS and self.protocol() is not Api.OPENAI:
            raise ValueError(f"the provider {self.provider} takes no logit bias; name one whose api is openai")

    @override
    def answer(self, questions: Sequence[Question], services: Services, note: NoteAnswer = note_nothing) -> Answers:
        if self.constrain == LOGIT_BIAS:
            return ask_all(self, services, questions, self._prepare_biased, note)
        fields = CONSTRAINTS[self.constrain](questions[0].letters)
        options = {**(self.options or {}), **fields}
        request = dataclasses.replace(self, api=self.protocol(), token_limit=self.limit_field(), options=options)

        def prepare(access: ModelAccess, client: GatewayConnection, question: Question, prompt: str) -> AskedQuestion:
            conversation = start_conversation(request, access, client)
            conversation.messages.append({"role": "user", "content": prompt})

            def read(answer: GatewayAnswer) -> ChosenOption:
                return read_letter(conversation.take(answer).text, question.letters)

            return AskedQuestion(conversation.request(), read)

        return ask_all(self, services, questions, prepare, note)

    def _prepare_biased(
        self, _access: ModelAccess, _client: GatewayConnection, question: Question, prompt: str
    ) -> AskedQuestion:
        """Ask for the one token that is a letter: a bias would make a longer answer a row of letters."""
        bias = {str(token): _BIAS for token in self.letter_tokens[: len(question.letters)]}
        document = {
            "model": self.model,
            **self.limited(1),
            "messages": [{"role": "user", "content": prompt}],
            "logit_bias": bias,
        }

        def read(answer: GatewayAnswer) -> ChosenOption:
            found = checked(answer)
            try:
                text = str(found["choices"][0]["message"]["content"])
            except (LookupError, TypeError) as error:
                raise MalformedAnswer("its answer is not in its provider's protocol", "bad_output") from error
            return read_letter(text, question.letters)

        return AskedQuestion(GatewayRequest("chat/completions", document), read)


#: The key of the letter in an answer that is a JSON object.
KEY = "answer"

_LONGEST_QUOTE = 60
_LETTER = re.compile(r"[\s*_`(\[\"']*([A-Za-z])[\s*_`)\]\"'.:]*")


def read_letter(text: str, letters: str) -> ChosenOption:
    """Return the letter that a text is, alone or as the one value of a JSON object; anything else is no answer."""
    objects = [piece.value for piece in pieces(text) if isinstance(piece.value, dict)]
    given = str(objects[0].get(KEY, "")) if len(objects) == 1 else text
    found = _LETTER.fullmatch(given)
    letter = None if found is None else found[1].upper()
    if letter is None or letter not in letters:
        quoted = json.dumps(" ".join(text.split())[:_LONGEST_QUOTE])
        return ChosenOption(letter=None, reason=f"the answer is {quoted}; it should be one of {', '.join(letters)}")
    return ChosenOption(letter=letter)
