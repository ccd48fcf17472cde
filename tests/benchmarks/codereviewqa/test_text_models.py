"""Answers of models of plain texts as they are read."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest

from pytest_crab.benchmarks.codereviewqa.text_models import TextToken, read_tokens, read_vectors
from pytest_crab.errors import MalformedAnswer

TEXT = "a b\nc"

#: As vLLM answers: a start token first, and behind the text the one token that had to be written.
ANSWER: dict[str, Any] = {
    "choices": [
        {
            "text": f"{TEXT}d",
            "logprobs": {
                "tokens": ["<s>", "a", " b", "\n", "c", "d"],
                "token_logprobs": [None, -1.5, -0.25, -3.0, 0.0001, -0.5],
                "top_logprobs": [
                    None,
                    {"a": -1.5, "The": -0.5},
                    {" b": -0.25},
                    {"\n": -3.0, " c": -0.25},
                    {"c": 0.0001},
                    {"d": -0.5},
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 1},
}


def changed(**changes: Any) -> dict[str, Any]:
    """The answer with other columns, text or usage."""
    answer = copy.deepcopy(ANSWER)
    (choice,) = answer["choices"]
    for name, value in changes.items():
        holder = answer if name in answer else choice if name in choice else choice["logprobs"]
        holder[name] = value
    return answer


def test_each_token_has_its_log_probability_and_whether_it_is_the_likeliest() -> None:
    assert read_tokens(ANSWER, TEXT) == (
        TextToken(text="<s>", log_probability=None),
        TextToken(text="a", log_probability=-1.5, best="The"),
        TextToken(text=" b", log_probability=-0.25, likeliest=True, best=" b"),
        TextToken(text="\n", log_probability=-3.0, best=" c"),
        # a server's rounding is no probability above 1
        TextToken(text="c", log_probability=0.0, likeliest=True, best="c"),
    )


def test_a_server_that_wrote_nothing_behind_the_text_loses_none_of_its_tokens() -> None:
    answer = changed(usage={"completion_tokens": 0})
    assert [token.text for token in read_tokens(answer, TEXT)] == ["<s>", "a", " b", "\n", "c", "d"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "vLLM"),
        ("<html>", "vLLM"),
        (changed(logprobs=None), "vLLM"),
        (changed(usage={}), "vLLM"),
        (changed(token_logprobs=[None]), "vLLM"),
        (changed(token_logprobs=[None, math.nan, -1, -1, -1, -1]), "vLLM"),
        (changed(token_logprobs=[None, 0.7, -1, -1, -1, -1]), "vLLM"),
        (changed(text="d"), "does not repeat the text"),
        (changed(tokens=["d"], token_logprobs=[-1], top_logprobs=[{"d": -1}]), "does not repeat the text"),
        (changed(token_logprobs=[None, None, -1, -1, -1, -1]), "no log-probability"),
    ],
    ids=["nothing", "no JSON", "none", "no usage", "too few", "nan", "above 1", "no echo", "its own", "a gap"],
)
def test_an_answer_without_the_text_or_without_all_numbers_is_none(answer: Any, said: str) -> None:
    with pytest.raises(MalformedAnswer, match=said):
        read_tokens(answer, TEXT)


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
