"""Reads the letter of an option out of an answer in words."""

from __future__ import annotations

import json
import re

from pytest_crab.benchmarks.codereviewqa.choices.answers import ChosenOption
from pytest_crab.parsing.json_in_text import pieces

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
