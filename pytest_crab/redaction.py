"""Take secrets out of what is kept or shown: keys, tokens, and the values of variables that hold them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

#: Shorter values of secret variables are words like "1" or "true": taking them out of what is kept would hide nothing
#: and garble everything.
SHORTEST_SECRET = 6


class Redactor:
    """Replaces secrets, given as value and what stands for it; the longest first, so that none leaves a rest."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        long = ((value, stand_in) for value, stand_in in secrets.items() if len(value) >= SHORTEST_SECRET)
        longest_first = sorted(long, key=lambda pair: -len(pair[0]))
        self._secrets = [(spelled, stand_in) for secret, stand_in in longest_first for spelled in _spellings(secret)]

    @classmethod
    def of_variables(cls, names: Iterable[str], environ: Mapping[str, str]) -> Redactor:
        """Replace the values of these variables by their names in brackets."""
        return cls({environ[name].strip(): f"[{name}]" for name in names if name in environ})

    def text(self, text: str) -> str:
        """The text without secrets, as they are and as JSON writes them."""
        for spelled, stand_in in self._secrets:
            text = text.replace(spelled, stand_in)
        return text

    def body(self, body: bytes) -> bytes:
        """The same for bytes, which need be no text."""
        return self.text(body.decode(errors="surrogateescape")).encode(errors="surrogateescape")

    def data(self, value: Any) -> Any:
        """Plain data without secrets in any of its texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.data(item) for item in value]
        if isinstance(value, Mapping):
            return {self.text(str(name)): self.data(item) for name, item in value.items()}
        return value

    def find(self, text: str | bytes) -> str | None:
        """Return the stand-in of a secret that the text holds, as it is or as JSON writes it; None if it holds none."""
        content = text.encode(errors="surrogateescape") if isinstance(text, str) else text
        return next(
            (told for spelled, told in self._secrets if spelled.encode(errors="surrogateescape") in content), None
        )


def _spellings(secret: str) -> set[str]:
    return {secret, json.dumps(secret)[1:-1]}
