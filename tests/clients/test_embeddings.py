"""Vectors out of an answer: one for each text in the order of the texts, or the answer is no answer."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_crab.clients.embeddings import read_vectors
from pytest_crab.errors import MalformedAnswer


def answer(*vectors: Any) -> dict[str, Any]:
    return {"data": [{"index": at, "embedding": vector} for at, vector in enumerate(vectors)]}


def test_vectors_come_in_the_order_of_their_texts() -> None:
    found = answer([1, 2], [3, -4.5])
    found["data"].reverse()
    assert read_vectors(found, 2) == [[1.0, 2.0], [3.0, -4.5]]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("words", "no embedding for each text"),
        ({"data": []}, "no embedding for each text"),
        (answer([1.0]), "no embedding for each text"),
        (answer([1.0], "AAAA"), "no embedding for each text"),
        (answer([1.0], [1.0, 2.0]), "different lengths"),
        (answer([1.0, 0.0], [0.0, 0.0]), "no direction"),
        (answer([1.0, 0.0], [float("nan"), 0.0]), "no direction"),
        (answer([], []), "no direction"),
    ],
)
def test_anything_else_is_a_malformed_answer(document: Any, said: str) -> None:
    with pytest.raises(MalformedAnswer, match=said):
        read_vectors(document, 2)
