"""The body of a request: read in the one way in which every provider reads it too, and written anew for them.

What is decided on a request is decided on the document that was read. So a body that others may read differently goes
no further: one in another encoding, with a name that stands twice, with names that differ from ours in their case alone
or with a number that is none. And the provider is sent what was read, never the bytes of the client.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_crab.models.refusal import Refusal

#: A request that is nested deeper than this is no client's.
MOST_DEPTH = 200


def read_document(body: bytes) -> Mapping[str, Any]:
    """Return the JSON object that a body is. Raises Refusal."""
    try:
        document = json.loads(
            body.decode(), object_pairs_hook=_mapping, parse_constant=_refuse_number, parse_float=_number
        )
    except _AmbiguousError as error:
        raise Refusal(400, f"the body of a request should be read by all in one way, and {error}") from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or _deeper(document, MOST_DEPTH):
        sentence = f"the body of a request should be one JSON object in UTF-8, nested at most {MOST_DEPTH} times"
        raise Refusal(400, sentence)
    for name in document:
        if name != name.casefold():
            raise Refusal(400, f"the fields of a request should have names in small letters, and one is {name[:60]!r}")
    return document


def write_document(document: Mapping[str, Any]) -> bytes:
    """Return the body that a document is, for its provider."""
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half of a pair of surrogates, which JSON may hold as an escape and UTF-8 may not
        return json.dumps(document, separators=(",", ":")).encode()


class _AmbiguousError(Exception):
    """A text that is JSON for some and not for others, or not the same for all."""


def _mapping(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _AmbiguousError(f"{twice[:60]!r} stands twice in one object")
    return found


def _refuse_number(word: str) -> Any:
    raise _AmbiguousError(f"{word} is no number")


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _AmbiguousError(f"{text[:60]} is no number that can be written down")
    return number


def _deeper(document: Any, most: int) -> bool:
    """Return whether something is nested deeper than so many times."""
    level = [document]
    for _ in range(most):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return False
    return True
