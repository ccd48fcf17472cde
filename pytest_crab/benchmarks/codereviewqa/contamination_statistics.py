"""Measures of whether a model may have seen a text: perplexity and n-gram accuracy (arXiv 2503.16167, section 7).

A text is given by its tokens in their order: the log-probability of each after those before it, and whether no other
token is more likely there. Greedy decoding from a place writes an n-gram of the text exactly where each of its tokens
is the likeliest after the text before it, so no second request is needed to know what the model would write.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

#: The length of an n-gram, and how many starting points each text has.
GRAM, STARTS = 5, 5

#: The logarithm of the highest perplexity: some servers give an impossible token -9999, and no float holds e^9999.
_MOST = 700.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMeasure:
    """One text. Shares are None for a text that is shorter than an n-gram."""

    perplexity: float
    #: The share of its starting points from which the next GRAM tokens are written.
    gram_accuracy: float | None
    #: The same share of all places where an n-gram could start, which is what a draw of starting points estimates.
    all_grams: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContaminationMeasures:
    """The measures over several texts, each a mean over texts; None where there is no text."""

    #: The number of texts.
    texts: int
    #: Further texts that were not measured.
    unknown: int
    perplexity: float | None
    #: That of the perplexities: few odd texts do not move it.
    median: float | None
    gram_accuracy: float | None
    all_grams: float | None


def measure_text(
    log_probabilities: Sequence[float], likeliest: Sequence[bool], seed: str, starts: int = STARTS
) -> TextMeasure:
    """Return the measures of one text, which has at least one token; ``seed`` decides where its n-grams start.

    Starting points are drawn without replacement from all places that have GRAM tokens left.
    """
    places = range(len(likeliest) - GRAM + 1)
    right = [all(likeliest[start : start + GRAM]) for start in places]
    drawn = random.Random(seed).sample(places, min(starts, len(places)))  # noqa: S311 - no secret
    return TextMeasure(
        perplexity=perplexity(log_probabilities),
        gram_accuracy=_mean([right[start] for start in drawn]),
        all_grams=_mean(right),
    )


def perplexity(log_probabilities: Sequence[float]) -> float:
    """Return the inverse of the geometric mean of the tokens' probabilities, at most e to the power of _MOST."""
    return math.exp(min(-sum(log_probabilities) / len(log_probabilities), _MOST))


def summarise_texts(texts: Sequence[TextMeasure | None]) -> ContaminationMeasures:
    """Return the measures over some texts; None is one that is not known."""
    known = [text for text in texts if text is not None]
    perplexities = [text.perplexity for text in known]
    return ContaminationMeasures(
        texts=len(known),
        unknown=len(texts) - len(known),
        perplexity=_mean(perplexities),
        median=statistics.median(perplexities) if perplexities else None,
        gram_accuracy=_mean([text.gram_accuracy for text in known if text.gram_accuracy is not None]),
        all_grams=_mean([text.all_grams for text in known if text.all_grams is not None]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
