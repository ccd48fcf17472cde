"""Measures of answers to one question in every order of its options (arXiv 2503.16167, section 5.1).

Answers are kept as letters, one for each order of ``orders``, with NO_LETTER for no answer. An option that was chosen
is a place in the unordered list of options, whose first one is correct; None is no answer.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

LETTERS, NO_LETTER = "ABCD", "-"

#: The number of options by the number of their orders.
_OPTIONS = {math.factorial(count): count for count in (3, 4)}


def orders(count: int) -> Iterator[tuple[int, ...]]:
    """Yield every order of so many options as places in the unordered list, in which 0 is the correct one."""
    return itertools.permutations(range(count))


def chosen_options(letters: str) -> list[int | None]:
    """Return the options that letters chose. Raises ValueError unless there is one letter for each order."""
    count = _OPTIONS.get(len(letters))
    if count is None:
        raise ValueError(f"{len(letters)} answers are not one for each order of three or four options")
    return [
        order[place] if 0 <= (place := LETTERS.find(letter)) < count else None
        for letter, order in zip(letters, orders(count), strict=True)
    ]


def is_invariant(chosen: Sequence[int | None]) -> bool | None:
    """Return whether the correct option was chosen in every order; None if no answer is wrong and some are missing."""
    if any(option not in (0, None) for option in chosen):
        return False
    return None if None in chosen else True


def plurality_agreement(chosen: Sequence[int | None]) -> float | None:
    """Return the share of orders in which the option that was chosen most often was chosen; None without any answer.

    Its mean over questions is the paper's PPA. Orders without an answer count in the denominator.
    """
    counts = Counter(option for option in chosen if option is not None)
    return counts.most_common(1)[0][1] / len(chosen) if counts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeMeasures:
    """The measures of one probe."""

    #: The number of questions.
    questions: int
    #: The share of correct answers among those that there are; None: nothing was answered.
    mean: float | None = None
    #: The mean plurality agreement (PPA), a share; None: nothing was answered.
    agreement: float | None = None
    #: How often each letter was chosen; a model without a bias chooses all equally often.
    letters: Mapping[str, int]


def probe_measures(answered: Iterable[str]) -> ProbeMeasures:
    """Return the measures of a probe from the letters of its questions, each in every order."""
    texts = list(answered)
    chosen = [chosen_options(letters) for letters in texts]
    given = [option for options in chosen for option in options if option is not None]
    agreements = [share for share in map(plurality_agreement, chosen) if share is not None]
    return ProbeMeasures(
        questions=len(texts),
        mean=given.count(0) / len(given) if given else None,
        agreement=math.fsum(agreements) / len(agreements) if agreements else None,
        letters=dict(sorted(Counter(itertools.chain.from_iterable(texts)).items())),
    )
