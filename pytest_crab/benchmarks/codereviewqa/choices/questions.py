"""The questions about one review comment, each in every order of its options (arXiv 2503.16167, sections 3 and 5.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_crab.benchmarks.codereviewqa.choice_statistics import LETTERS, orders
from pytest_crab.benchmarks.codereviewqa.choices.options import ChangeType, probes_in
from pytest_crab.benchmarks.codereviewqa.records import AskedRow
from pytest_crab.instances.files import file_bytes
from pytest_crab.types import Instance

#: The probes by name: the type of change, its lines and its solution, these with easy and hard wrong options.
CHANGE_TYPE = "change-type"
LINES = LINES_EASY, LINES_HARD = "lines-easy", "lines-hard"
SOLUTION = SOLUTION_EASY, SOLUTION_HARD = "solution-easy", "solution-hard"
PROBES = (CHANGE_TYPE, *LINES, *SOLUTION)

#: Whose words a question is asked in.
OURS, RELEASE = "ours", "release"

#: The dimension of labels that names the probe, in tables.
DIMENSION = "probe"

_CHANGES = {
    ChangeType.ADD: "only add new lines",
    ChangeType.DELETE: "only delete lines",
    ChangeType.MODIFY: "modify existing code",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question with its options in one order."""

    #: The same for all orders, and for most probes.
    context: str
    text: str
    options: tuple[str, ...]
    #: The whole prompt by the release's own template; None: the question is asked in our words.
    prompt: str | None = None

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
    probes = probes_in(instance)
    if probes is None:
        return ()
    return PROBES if probes.solution is not None else (CHANGE_TYPE, *LINES)


#: Makes the whole prompt of an instance's probe with its options in an order.
Fill = Callable[[Instance, str, Sequence[Any]], str]


def questions_of(instance: Instance, probe: str, fill: Fill | None = None) -> tuple[Question, ...]:
    """Return a probe's question in every order of its options: see ``orders``. Raises SourceError.

    ``fill`` adds the prompt of each; it takes the options as ``options_of`` has them.
    """
    text, context, options = _text(instance, probe), context_of(instance), options_of(instance, probe)
    ordered = [tuple(options[place] for place in order) for order in orders(len(options))]
    return tuple(
        Question(
            context=context,
            text=text,
            options=tuple(map(_shown, own)),
            prompt=None if fill is None else fill(instance, probe, own),
        )
        for own in ordered
    )


def asked_row(instance: Instance, probes: Iterable[str]) -> AskedRow:
    """Return what these probes of an instance ask, for people. Raises SourceError."""
    return AskedRow(
        instance=instance.id,
        code=numbered_code(instance),
        comment=instance.comments[0].body.strip(),
        questions={probe: _text(instance, probe) for probe in probes},
        options={probe: tuple(map(_shown, options_of(instance, probe))) for probe in probes},
    )


def correct_options(instance: Instance) -> frozenset[str]:
    """Return the correct options of all probes of an instance."""
    return frozenset(_shown(options_of(instance, probe)[0]) for probe in probes_of(instance))


def options_of(instance: Instance, probe: str) -> tuple[Any, ...]:
    """Return the options of a probe, the correct one first: types of change, line numbers, or texts of solutions."""
    probes = probes_in(instance)
    assert probes is not None
    if probe == CHANGE_TYPE:
        return probes.change, *(change for change in ChangeType if change is not probes.change)
    if probe in LINES:
        return probes.lines.correct, *(probes.lines.hard if probe == LINES_HARD else probes.lines.easy)
    solution = probes.solution
    assert solution is not None
    return solution.correct, *(solution.hard if probe == SOLUTION_HARD else solution.easy)


def _text(instance: Instance, probe: str) -> str:
    """Return a question without its options."""
    probes = probes_in(instance)
    assert probes is not None
    if probe == CHANGE_TYPE:
        return "What type of change does the review comment ask for?"
    told = f"The comment asks to {_CHANGES[probes.change]}."
    if probe in LINES:
        return f"{told}\n{_LINES_QUESTION[probes.change]}"
    return f"{told}\nIt is about {_shown(probes.lines.correct)}.\nWhich change resolves the comment?"


_LINES_QUESTION = {
    ChangeType.ADD: "Below which line should the new lines go? Line 0 is the place above the first line.",
    ChangeType.DELETE: "Which lines should be deleted?",
    ChangeType.MODIFY: "Which lines should be changed?",
}


def _shown(option: ChangeType | tuple[int, ...] | str) -> str:
    if isinstance(option, ChangeType):
        return _CHANGES[option]
    if isinstance(option, str):
        return option
    return f"line {option[0]}" if len(option) == 1 else f"lines {', '.join(map(str, option))}"


def numbered_code(instance: Instance) -> str:
    """Return the code with a number before each line. Raises SourceError."""
    snippet = instance.source.snippet
    assert snippet is not None
    code = file_bytes(instance, snippet.head).decode("utf-8", "replace")
    return "\n".join(f"{number} {line}" for number, line in enumerate(code.removesuffix("\n").split("\n"), 1))


def context_of(instance: Instance) -> str:
    """Return the code with line numbers, and the comment. Raises SourceError."""
    comment = instance.comments[0].body.strip()
    code = f"[{instance.language}]\n{numbered_code(instance)}\n[/{instance.language}]"
    return f"{code}\n[REVIEW COMMENT]\n{comment}\n[/REVIEW COMMENT]"
