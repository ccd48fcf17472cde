"""Similarity of texts: the pair that arXiv 2603.23448 prints in section 3.1, and what texts can be."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

pytest.importorskip("sacrebleu")
pytest.importorskip("rouge_score")

from pytest_crab.scoring.review_rulers import best_match
from pytest_crab.scoring.similarity import MEASURES, measure_of
from pytest_crab.types import Finding

HUMAN = (
    "At this point we haven't yet established that the rows are sequences as well. check_keyboard_type([1]) would "
    "raise an exception with this addition IISC."
)
CODEX = (
    "keyboard[0][0] is accessed before validating shape/contents, so malformed but common invalid inputs like [], "
    "[[]], or [1] can raise IndexError/TypeError instead of returning False (and then producing the expected "
    "ValueError in markup constructors)."
)


def test_the_papers_pair_is_as_near_to_its_table_as_its_text_allows() -> None:
    """Table 2 has 0.00, 7.02 and 20.74. The text as printed gives another ROUGE-L, and chrF within a point."""
    found = {name: 100 * measure_of(name)(CODEX, HUMAN) for name in MEASURES}
    assert found["bleu-4"] == 0.0
    assert found["rouge-l"] == pytest.approx(9.68, abs=0.01)
    assert found["chrf"] == pytest.approx(21.51, abs=0.01)


@pytest.mark.parametrize("name", MEASURES)
def test_a_text_is_like_itself_and_nothing_is_like_nothing(name: str) -> None:
    measure = measure_of(name)
    assert measure(HUMAN, HUMAN) == pytest.approx(1.0)
    assert measure("", HUMAN) == 0.0
    assert measure("\x00 🦀", HUMAN) == pytest.approx(0.0, abs=0.05)


def test_the_best_finding_counts_and_the_first_of_equal_ones() -> None:
    measure = measure_of("chrf")
    findings = [Finding(body=CODEX), Finding(body=HUMAN), Finding(body=HUMAN)]
    assert best_match(measure, HUMAN, findings) == (pytest.approx(1.0), 1)
    assert best_match(measure, HUMAN, []) == (0.0, None)


def test_texts_may_be_compared_by_embeddings(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Encoder:
        def __init__(self, name: str) -> None:
            assert name == "some/model"

        def encode(self, texts: list[str], **options: Any) -> list[list[float]]:
            assert options["normalize_embeddings"]
            asked.extend(texts)
            return [{"a": [0.6, 0.8], "b": [1.0, 0.0], "c": [-1.0, 0.0]}[text[0]] for text in texts]

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = Encoder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    similar = measure_of("embedding:some/model")
    assert [similar("a", "b"), similar("b", "a"), similar("a", "aa")] == pytest.approx([0.6, 0.6, 1.0])
    assert similar("b", "c") == 0.0  # a cosine below 0
    assert sorted(asked) == ["a", "aa", "b", "c"]  # each once
