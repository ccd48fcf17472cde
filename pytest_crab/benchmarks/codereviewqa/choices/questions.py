"""The questions about one review comment, each in every order of its options (arXiv 2503.16167, sections 3 and 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_crab.benchmarks.codereviewqa.choice_statistics import LETTERS, orders
from pytest_crab.instances.files import file_bytes
from pytest_crab.types import ChangeType, Instance, LineOptions

#: The probes by name: the type of change, its lines and its solution, these with easy and hard wrong options.
CHANGE_TYPE = "change-type"
LINES = LINES_EASY, LINES_HARD = "lines-easy", "lines-hard"
SOLUTION = SOLUTION_EASY, SOLUTION_HARD = "solution-easy", "solution-hard"
PROBES = (CHANGE_TYPE, *LINES, *SOLUTION)

#: The dimension of labels that names the probe, in tables.
DIMENSION = "probe"

_CHANGES = {
    ChangeType.ADD: "only add new lines",
    ChangeType.DELETE: "only delete lines",
    ChangeType.MODIFY: "change lines that are there",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question with its options in one order; ``context`` is the same for all orders, and for most probes."""

    context: str
    text: str
    options: tuple[str, ...]

    @property
    def letters(self) -> str:
        """The letters of the options, in their order."""
        return LETTERS[: len(self.options)]


def option_lines(question: Question) -> str:
    """Return the options with their letters, one below the other."""
    pairs = zip(question.letters, question.options, strict=True)
    return "\n".join(f"{letter}. {option}" for letter, option in pairs)


def probes_of(instance: Instance) -> tuple[str, ...]:
    """Return the names of the instance's probes."""
    if instance.probes is None:
        return ()
    return PROBES if instance.probes.solution is not None else (CHANGE_TYPE, *LINES)


def questions_of(instance: Instance, probe: str) -> tuple[Question, ...]:
    """Return a probe's question in every order of its options: see ``orders``. Raises SourceError."""
    text, options = _question(instance, probe)
    context = context_of(instance)
    return tuple(
        Question(context=context, text=text, options=tuple(options[place] for place in order))
        for order in orders(len(options))
    )


def correct_options(instance: Instance) -> frozenset[str]:
    """Return the correct options of all probes of an instance."""
    return frozenset(_question(instance, probe)[1][0] for probe in probes_of(instance))


def _question(instance: Instance, probe: str) -> tuple[str, tuple[str, ...]]:
    """Return a question without its options, and its options with the correct one first."""
    probes = instance.probes
    assert probes is not None
    if probe == CHANGE_TYPE:
        others = [change for change in ChangeType if change is not probes.change]
        options = tuple(_CHANGES[change] for change in (probes.change, *others))
        return "Which type of change does the comment ask for?", options
    told = f"The comment asks to {_CHANGES[probes.change]}."
    if probe in LINES:
        return f"{told}\n{_LINES_QUESTION[probes.change]}", _line_options(probes.lines, hard=probe == LINES_HARD)
    solution = probes.solution
    assert solution is not None
    at = f"It is about {_lines(probes.lines.correct)}."
    wrong = solution.hard if probe == SOLUTION_HARD else solution.easy
    return f"{told}\n{at}\nWhich change resolves the comment?", (solution.correct, *wrong)


_LINES_QUESTION = {
    ChangeType.ADD: "Below which line should the new lines go? Line 0 is the place above the first line.",
    ChangeType.DELETE: "Which lines should be deleted?",
    ChangeType.MODIFY: "Which lines should be changed?",
}


def _line_options(lines: LineOptions, *, hard: bool) -> tuple[str, ...]:
    return tuple(map(_lines, (lines.correct, *(lines.hard if hard else lines.easy))))


def _lines(numbers: Sequence[int]) -> str:
    return f"line {numbers[0]}" if len(numbers) == 1 else f"lines {', '.join(map(str, numbers))}"


def context_of(instance: Instance) -> str:
    """Return the code with line numbers, and the comment. Raises SourceError."""
    snippet = instance.source.snippet
    assert snippet is not None
    code = file_bytes(instance, snippet.head).decode("utf-8", "replace")
    numbered = [f"{number} {line}" for number, line in enumerate(code.removesuffix("\n").split("\n"), 1)]
    return "\n".join(
        [f"Language: {instance.language}", "", "Code:", *numbered, "", "Comment:", instance.comments[0].body.strip()]
    )
