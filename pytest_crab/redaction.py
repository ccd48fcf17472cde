"""Take secrets out of what is kept or shown: keys, tokens, and the values of variables that hold them."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pytest_crab import serialization

T = TypeVar("T")

#: Shorter values of secret variables are words like "1" or "true": taking them out of what is kept would hide nothing
#: and garble everything.
SHORTEST_SECRET = 6


class Redactor:
    """Replaces secrets, given as value and what stands for it; the longest first, so that none leaves a rest.

    A secret is found as it is, and as JSON may write it: with any of its characters escaped, in texts within texts too.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        long = ((value, stand_in) for value, stand_in in secrets.items() if len(value) >= SHORTEST_SECRET)
        longest_first = sorted(long, key=lambda pair: -len(pair[0]))
        self._secrets = [(secret, stand_in, _escaped(secret)) for secret, stand_in in longest_first]

    @classmethod
    def of_variables(cls, names: Iterable[str], environ: Mapping[str, str]) -> Redactor:
        """Replace the values of these variables by their names in brackets."""
        return cls({environ[name].strip(): f"[{name}]" for name in names if name in environ})

    def text(self, text: str) -> str:
        """The text without secrets."""
        for secret, stand_in, escaped in self._secrets:
            text = escaped.replace(text.replace(secret, stand_in), stand_in)
        return text

    def body(self, body: bytes) -> bytes:
        """The same for bytes, which need be no text."""
        return self.text(body.decode(errors="surrogateescape")).encode(errors="surrogateescape")

    def document(self, text: str) -> str:
        """A text that may be JSON without secrets; where it is JSON it stays so, whatever a secret looks like."""
        if self.find(text) is None:
            return text
        try:
            return json.dumps(self.data(json.loads(text)))
        except (ValueError, RecursionError):
            return self.text(text)

    def data(self, value: Any) -> Any:
        """Plain data without secrets in any of its texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.data(item) for item in value]
        if isinstance(value, Mapping):
            return {self.text(str(name)): self.data(item) for name, item in value.items()}
        return value

    def record(self, record: T) -> T:
        """A whole record without secrets, whatever field they are in."""
        plain = serialization.dump(record)
        if self.find(json.dumps(plain, ensure_ascii=False)) is None:
            return record
        problems: list[str] = []
        redacted = serialization.read(type(record), self.data(plain), problems)
        if redacted is None:
            raise ValueError(f"without its secrets, {problems[0]}")
        return redacted

    def find(self, text: str | bytes) -> str | None:
        """Return the stand-in of a secret that the text holds; None if it holds none."""
        content = text if isinstance(text, str) else text.decode(errors="surrogateescape")
        found = (told for secret, told, escaped in self._secrets if secret in content or escaped.is_in(content))
        return next(found, None)


@functools.lru_cache(maxsize=64)
def _escaped(secret: str) -> _Escaped:
    return _Escaped(secret)


class _Escaped:
    """A secret as JSON may write it."""

    def __init__(self, secret: str) -> None:
        self._pattern = re.compile("".join(map(_spellings, secret)))
        #: A sign of an escape that may be one of the secret's characters: most texts have none, and need no more.
        self._sign = re.compile(r"\\u00[2-7]" if re.fullmatch(r"[\w.~+=:-]+", secret, re.ASCII) else r"\\")

    def is_in(self, text: str) -> bool:
        """Return whether the text holds it, with an escape in it or without."""
        return self._sign.search(text) is not None and self._pattern.search(text) is not None

    def replace(self, text: str, stand_in: str) -> str:
        """Return the text with the stand-in for it."""
        return self._pattern.sub(lambda _: stand_in, text) if self._sign.search(text) else text


def _spellings(character: str) -> str:
    """Return a pattern for the ways in which JSON may write a character; a text in a text has more backslashes."""
    units = character.encode("utf-16-be", "surrogatepass")
    codes = "".join(rf"\\{{1,16}}u(?i:{units[at : at + 2].hex()})" for at in range(0, len(units), 2))
    short = json.dumps(character)[1:-1]
    named = short[1:] if short.startswith("\\") and "u" not in short else "/" if character == "/" else None
    ways = [re.escape(character), codes, *([rf"\\{{1,16}}{re.escape(named)}"] if named else [])]
    return f"(?:{'|'.join(ways)})"
