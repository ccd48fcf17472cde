"""The scripted provider's vectors: texts that share many pieces have vectors that point the same way."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

#: The length of a vector, and of a piece of text.
_DIMENSIONS, _PIECE = 64, 3


def embed(text: str) -> list[float]:
    """Return the vector of a text: how many of its pieces of three characters fall on each place, by their digest."""
    vector = [0.0] * _DIMENSIONS
    for start in range(max(len(text) - _PIECE + 1, 1)):
        digest = hashlib.sha256(text[start : start + _PIECE].encode(errors="replace")).digest()
        vector[digest[0] % _DIMENSIONS] += 1.0
    return vector


def whole(body: Mapping[str, Any], read: int) -> dict[str, Any]:
    """Return the answer to a request for embeddings: the vectors of its texts; ``read`` is the tokens of its usage."""
    given = body.get("input", [])
    texts = [given] if isinstance(given, str) else given
    return {
        "object": "list",
        "model": body.get("model"),
        "data": [{"object": "embedding", "index": at, "embedding": embed(str(text))} for at, text in enumerate(texts)],
        "usage": {"prompt_tokens": read, "total_tokens": read},
    }
