"""Wrong solutions of one's own rows: one element of the revised code is replaced (arXiv 2503.16167, algorithm 1).

A surrogate model reads the revised code behind the code and the comment. The element of the code at which it is most
surprised is masked, a model fills the mask in with other texts, and embeddings say which of them are near.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pytest_crab.benchmarks.codereviewqa.distractors import WRONG, ReviewedCode
from pytest_crab.benchmarks.codereviewqa.reader import ENDINGS, strip_marks
from pytest_crab.benchmarks.codereviewqa.text_models import Gap, TextToken
from pytest_crab.clients.prompting import as_data
from pytest_crab.errors import MalformedAnswer
from pytest_crab.parsing.syntax_trees import leaves

#: The most fillings that are drawn for a row.
DRAWS = 40

#: Code of these characters alone is never masked, since that would only break the syntax. The release masks such an
#: element in one of its 143 questions on C and C# in which the masked text is on one line.
_PUNCTUATION = re.compile(r"""[\s()\[\]{}.,;:]+|\w{0,2}["'`]+""")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSurprisal:
    """A token of a text with its surprisal."""

    #: The token goes from this character up to ``end``.
    start: int
    end: int
    #: Its surprisal in bits.
    bits: float


class SurrogateAnswers(Protocol):
    """The answers of models on one row that the algorithm needs."""

    def surprisals(self, head: str, code: str) -> Sequence[TokenSurprisal]:
        """Return the surprisal of each token of some code that stands behind other text."""

    def fill(self, gap: Gap, draw: int) -> str:
        """Return the filling of a gap that a model draws; ``draw`` counts from 1."""

    def compare(self, text: str, others: Sequence[str]) -> Sequence[float]:
        """Return the cosine of each of the others with a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeElement:
    """An element of revised code with its place in the text."""

    start: int
    end: int
    first_line: int
    last_line: int
    #: Those of the tokens that it has a part of, in bits.
    surprisals: tuple[float, ...] = ()

    @property
    def mean(self) -> float:
        """The mean surprisal of its tokens."""
        return math.fsum(self.surprisals) / len(self.surprisals) if self.surprisals else -math.inf


def solution_text(old: str, new: str) -> str:
    """Return the changed lines of marked code behind their numbers and marks, as the release writes a solution."""
    lines = [
        (number, name == "new", f"{number}{line}")
        for name, code in (("old", old), ("new", new))
        for number, line in enumerate(code.split("\n"), 1)
        if line.startswith(("-", "+"))
    ]
    return "\n".join(text for _, _, text in sorted(lines))


def wrong_solutions(
    row: ReviewedCode, head: str, answers: SurrogateAnswers, *, draws: int = DRAWS
) -> Mapping[str, object] | str:
    """Return the fields of the release that hold a row's question on the solution; a sentence: it can have none.

    Where lines are only deleted there is no such question. ``head`` is what the surrogate reads before the revised
    code, see ``surrogate_head``; ``draws`` is the most fillings that are asked for. Raises as ``answers`` does, and
    EngineError without the grammars.
    """
    code = strip_marks(row.new)
    elements = changed_elements(row)
    if not elements:
        return "the added lines have no element that could be another"
    tokens = answers.surprisals(head, code)
    element = max((_with_surprisals(each, tokens) for each in elements), key=lambda each: each.mean)
    found = _candidates(row, code, element, answers.fill, draws)
    if len(found) < 2 * WRONG:
        return f"the model filled in fewer than {2 * WRONG} different texts"
    similarities = answers.compare(code, [strip_marks(new) for new in found])
    order = sorted(range(len(found)), key=lambda at: (similarities[at], at))
    options = [solution_text(row.old, found[at]) for at in order]
    return {
        "solution_correct": solution_text(row.old, row.new),
        "solution_wrong_easy": options[:WRONG],
        "solution_wrong_hard": options[: -WRONG - 1 : -1],
    }


def surrogate_head(instructions: str, row: ReviewedCode) -> str:
    """Return the text that stands before the revised code: instructions, then language, code and comment as data."""
    data = f"Language: {row.lang}\n\nCode:\n{strip_marks(row.old)}\n\nReview comment:\n{row.review}"
    return f"{as_data(instructions, data)}\nRevised code:\n"


def changed_elements(row: ReviewedCode) -> list[CodeElement]:
    """Return the leaves of the syntax tree of the revised code that lie on added lines, without punctuation.

    Of a leaf that lies on other lines too, such as a long comment, it is the parts on added lines. Raises EngineError
    without the grammars.
    """
    source = strip_marks(row.new).encode()
    found: list[CodeElement] = []
    for leaf in leaves(f"a.{ENDINGS[row.lang]}", source):
        start = len(source[: leaf.start].decode(errors="replace"))
        end = start + len(source[leaf.start : leaf.end].decode(errors="replace"))
        found += _added_parts(row.new, start, end, range(leaf.first_line, leaf.last_line + 1))
    return found


def _added_parts(new: str, start: int, end: int, numbers: range) -> Iterator[CodeElement]:
    """Yield the parts on added lines of a piece of the code without marks, which lies on the lines of these numbers."""
    lines = new.split("\n")
    code = strip_marks(new)
    for added, run in itertools.groupby(numbers, lambda number: lines[number - 1].startswith("+")):
        first, *_, last = [*run] * 2
        before = sum(max(len(line), 1) for line in lines[: first - 1])  # a line break for each mark
        until = sum(max(len(line), 1) for line in lines[:last]) - 1
        text = code[max(start, before) : min(end, until)]
        own = text.strip()
        if added and own and not _PUNCTUATION.fullmatch(own):
            at = max(start, before) + len(text) - len(text.lstrip())
            yield CodeElement(start=at, end=at + len(own), first_line=first, last_line=last)


def token_surprisals(tokens: Sequence[TextToken], text: str, start: int) -> tuple[TokenSurprisal, ...]:
    """Return the surprisal of each token of a text behind ``start``, from where its characters are counted.

    A token that is not in the text, as a start token or a part of a character, is passed over. Raises MalformedAnswer
    where the tokens do not make up the text.
    """
    found: list[TokenSurprisal] = []
    at = 0
    for token in tokens:
        place = text.find(token.text, at, at + len(token.text) + _SLACK)
        if not token.text or place < 0:
            continue
        at = place + len(token.text)
        if at > start and token.log_probability is not None:
            bits = -token.log_probability / math.log(2)
            found.append(TokenSurprisal(start=max(place - start, 0), end=at - start, bits=bits))
    if text[at:].strip():
        raise MalformedAnswer("the tokens of its answer do not make up the text", "bad_output")
    return tuple(found)


#: The most characters between two tokens that make up a text: those of one that was cut into parts.
_SLACK = 2


def _with_surprisals(element: CodeElement, tokens: Sequence[TokenSurprisal]) -> CodeElement:
    own = (token for token in tokens if token.start < element.end and token.end > element.start)
    return replace(element, surprisals=tuple(token.bits for token in own))


def _candidates(
    row: ReviewedCode, code: str, element: CodeElement, fill: Callable[[Gap, int], str], draws: int
) -> list[str]:
    """Return revised code, marked, with other texts in place of an element: twice as many as are wrong, or fewer.

    Texts that differ from the correct one or from each other by white space alone count once.
    """
    own = code[element.start : element.end]
    one_line = "\n" not in own
    gap = Gap(
        before=code[: element.start],
        after=code[element.end :],
        tokens=max(len(element.surprisals), 1),
        one_line=one_line,
    )
    known = {_without_space(own), ""}
    found: list[str] = []
    for draw in range(1, draws + 1):
        text = fill(gap, draw).strip()
        text = text.split("\n")[0].rstrip() if one_line else text
        if _without_space(text) not in known:
            known.add(_without_space(text))
            found.append(_replace(row.new, code, element, text))
        if len(found) == 2 * WRONG:
            break
    return found


def _without_space(text: str) -> str:
    return "".join(text.split())


def _replace(new: str, code: str, element: CodeElement, text: str) -> str:
    """Return marked code with an element replaced; the lines that it lies on are added lines."""
    marked = new.split("\n")
    before = marked[: element.first_line - 1]
    start = len("\n".join(line[1:] for line in before)) + bool(before)
    rest = marked[element.last_line :]
    end = len(code) - (len("\n".join(line[1:] for line in rest)) + bool(rest))
    changed = f"{code[start : element.start]}{text}{code[element.end : end]}"
    return "\n".join([*before, *(f"+{line}" for line in changed.split("\n")), *rest])
