"""Similarity of two texts, from 0 to 1, as earlier benchmarks measured reviews (arXiv 2603.23448, table 2).

BLEU-4 without smoothing and chrF (character 6-grams) are sacrebleu's, ROUGE-L is the F-measure of rouge-score.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable

#: Takes a finding's text and a comment's.
Similarity = Callable[[str, str], float]

#: The names of the measures.
MEASURES = ("bleu-4", "rouge-l", "chrf")

#: The library of each measure, as it is installed; all are of the extra ``similarity``.
LIBRARY_OF = {"bleu-4": "sacrebleu", "rouge-l": "rouge-score", "chrf": "sacrebleu"}

#: The same as they are imported.
LIBRARIES = ("sacrebleu", "rouge_score")


def missing_library() -> str | None:
    """Return the name of a library that is not installed; None if all are."""
    return next((name for name in LIBRARIES if importlib.util.find_spec(name) is None), None)


@functools.cache
def measures() -> dict[str, Similarity]:
    """Return the measures by name. Raises ImportError where a library is not installed."""
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    bleu, chrf, rouge = BLEU(smooth_method="none"), CHRF(), RougeScorer(["rougeL"])
    return {
        # The corpus of one sentence is the sentence; the library's own function for one warns at each call.
        "bleu-4": lambda finding, comment: bleu.corpus_score([finding], [[comment]]).score / 100,
        "rouge-l": lambda finding, comment: rouge.score(comment, finding)["rougeL"].fmeasure,
        "chrf": lambda finding, comment: chrf.sentence_score(finding, [comment]).score / 100,
    }
