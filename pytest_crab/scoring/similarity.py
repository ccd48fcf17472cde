"""Similarity of two texts, from 0 to 1, as earlier benchmarks measured reviews (arXiv 2603.23448, table 2).

BLEU-4 without smoothing and chrF (character 6-grams) are sacrebleu's, ROUGE-L is the F-measure of rouge-score. Another
measure is the cosine of the embeddings of a sentence-transformers model.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import operator
import threading
from collections.abc import Callable, Iterable

from pytest_crab.errors import BadInput
from pytest_crab.text import one_line

#: Takes a finding's text and a comment's.
Similarity = Callable[[str, str], float]

#: The names of the measures that need no model.
MEASURES = ("bleu-4", "rouge-l", "chrf")

#: Stands before the model in the name of a measure by embeddings.
EMBEDDING = "embedding:"

#: The library of each measure as it is imported, and of those by embeddings; by library the extra that has it.
_LIBRARIES = {"bleu-4": "sacrebleu", "rouge-l": "rouge_score", "chrf": "sacrebleu", EMBEDDING: "sentence_transformers"}
_EXTRAS = {"sacrebleu": "similarity", "rouge_score": "similarity", "sentence_transformers": "embedding"}


def is_measure(name: str) -> bool:
    """Return whether a ruler of this name is a measure of similarity."""
    return name in MEASURES or name.startswith(EMBEDDING)


def library_of(name: str) -> str:
    """Return the library of a measure, as it is installed."""
    return _LIBRARIES[EMBEDDING if name.startswith(EMBEDDING) else name].replace("_", "-")


def load_measures(names: Iterable[str], where: str) -> dict[str, Similarity]:
    """Return the measures of these names. Raises BadInput, on ``where``, for a library or a model that is not there."""
    found = {}
    for name in names:
        library = library_of(name).replace("-", "_")
        if importlib.util.find_spec(library) is None:
            raise BadInput(where, [f"{name} needs {library}; install the extra pytest-crab[{_EXTRAS[library]}]"])
        try:
            found[name] = measure_of(name)
        except (OSError, ValueError, RuntimeError) as error:
            raise BadInput(where, [f"{name} cannot be loaded: {one_line(str(error), 200)}"]) from error
    return found


def measure_of(name: str) -> Similarity:
    """Return the measure of this name. Raises ImportError, and what its library raises for a model that is none."""
    return _texts()[name] if name in MEASURES else _embedding(name.removeprefix(EMBEDDING))


@functools.cache
def _texts() -> dict[str, Similarity]:
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


@functools.cache
def _embedding(model: str) -> Similarity:
    """Return the cosine of two texts' embeddings, each text embedded once; one that is below 0 is 0."""
    import sentence_transformers

    encoder = sentence_transformers.SentenceTransformer(model)
    guard = threading.Lock()  # the tokenizers of the library refuse two threads at a time

    @functools.cache
    def embed(text: str) -> list[float]:
        with guard:
            (found,) = encoder.encode([text], normalize_embeddings=True, show_progress_bar=False)
        return [float(value) for value in found]

    return lambda one, other: min(1.0, max(0.0, math.fsum(map(operator.mul, embed(one), embed(other)))))
