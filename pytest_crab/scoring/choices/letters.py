"""The answerer ``letters``: a chat model is asked for the letter of an option."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

from pytest_crab.clients.conversation import start_conversation
from pytest_crab.model_access import ModelAccess
from pytest_crab.model_access import Services
from pytest_crab.parsing.json_in_text import pieces
from pytest_crab.scoring.choices.answers import Answers
from pytest_crab.scoring.choices.answers import ChosenOption
from pytest_crab.scoring.choices.asking import QuestionSettings
from pytest_crab.scoring.choices.asking import ask_all
from pytest_crab.scoring.choices.questions import Question

if TYPE_CHECKING:
    import httpx2

_KEY, _LONGEST_QUOTE = "answer", 60
_LETTER = re.compile(r"[\s*_`(\[\"']*([A-Za-z])[\s*_`)\]\"'.:]*")


def _json_schema(letters: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": {_KEY: {"type": "string", "enum": list(letters)}},
        "required": [_KEY],
        "additionalProperties": False,
    }
    named = {"name": "choice", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


#: The fields of a request that let a model answer with nothing but a letter, by the server's way.
CONSTRAINTS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "none": lambda _letters: {},
    "json-schema": _json_schema,  # OpenAI
    "guided-choice": lambda letters: {"guided_choice": list(letters)},  # vLLM
    "grammar": lambda letters: {"grammar": f"root ::= [{letters}]"},  # llama.cpp
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterAnswerer(QuestionSettings):
    """Asks a model for the letter of an option; an answer that is not exactly one of the letters is no answer.

    ``constrain`` makes the server allow nothing else: ``json-schema`` (OpenAI), ``guided-choice`` (vLLM) or ``grammar``
    (llama.cpp). The other settings are those of ``single-shot``, ``timeout`` and ``max_tokens`` for one question.
    """

    constrain: str = "none"

    measure = "letters"

    def __post_init__(self) -> None:
        QuestionSettings.__post_init__(self)
        if self.constrain not in CONSTRAINTS:
            raise ValueError(f"constrain is {self.constrain!r}; it should be one of {', '.join(CONSTRAINTS)}")

    def answer(self, questions: Sequence[Question], services: Services) -> Answers:
        """See Answerer."""
        fields = CONSTRAINTS[self.constrain](questions[0].letters)
        request = dataclasses.replace(self, api=self.protocol(), options={**(self.options or {}), **fields})

        def ask(access: ModelAccess, client: httpx2.Client, question: Question, prompt: str) -> ChosenOption:
            conversation = start_conversation(request, access, client)
            conversation.messages.append({"role": "user", "content": prompt})
            return read_letter(conversation.next_turn(self.timeout).text, question.letters)

        return ask_all(self, services, questions, ask)


def read_letter(text: str, letters: str) -> ChosenOption:
    """Return the letter that a text is, alone or as the one value of a JSON object; anything else is no answer."""
    objects = [piece.value for piece in pieces(text) if isinstance(piece.value, dict)]
    given = str(objects[0].get(_KEY, "")) if len(objects) == 1 else text
    found = _LETTER.fullmatch(given)
    letter = None if found is None else found[1].upper()
    if letter is None or letter not in letters:
        quoted = json.dumps(" ".join(text.split())[:_LONGEST_QUOTE])
        return ChosenOption(letter=None, reason=f"the answer is {quoted}; it should be one of {', '.join(letters)}")
    return ChosenOption(letter=letter)
