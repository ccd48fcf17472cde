"""Compares texts by a model's embeddings, got from a provider's endpoint for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_crab.clients.chat import ChatSettings
from pytest_crab.errors import MalformedAnswer
from pytest_crab.model_access import Services
from pytest_crab.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Cosines:
    """The cosine of a text's embedding with that of each of some others, in their order."""

    values: tuple[float, ...]
    usage: Usage | None = None


def compare_embeddings(settings: ChatSettings, services: Services, text: str, others: Sequence[str]) -> Cosines:
    """Return how similar the embeddings of other texts are to that of a text, by one request.

    Raises ModelError, also for an answer without a vector for each text, and GatewayError.
    """
    texts = [text, *others]
    (first, *rest), usage = settings.request(
        services, "embeddings", {"input": texts}, lambda answer: read_vectors(answer, len(texts))
    )
    return Cosines(values=tuple(_cosine(first, each) for each in rest), usage=usage)


def read_vectors(document: Any, count: int) -> list[list[float]]:
    """Return the vectors of an answer in the order of their texts. Raises MalformedAnswer unless there are so many."""
    try:
        found = {int(each["index"]): [float(number) for number in each["embedding"]] for each in document["data"]}
        vectors = [found[at] for at in range(count)]
    except (LookupError, TypeError, ValueError) as error:
        raise MalformedAnswer("its answer has no embedding for each text", "bad_output") from error
    if len({len(vector) for vector in vectors}) != 1:
        raise MalformedAnswer("the embeddings of its answer are of different lengths", "bad_output")
    if not all(math.isfinite(number) for vector in vectors for number in vector) or not all(map(any, vectors)):
        raise MalformedAnswer("an embedding of its answer has no direction", "bad_output")
    return vectors


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of two vectors that are not zero."""
    product = math.fsum(left * right for left, right in zip(one, other, strict=True))
    return max(-1.0, min(1.0, product / (math.hypot(*one) * math.hypot(*other))))
