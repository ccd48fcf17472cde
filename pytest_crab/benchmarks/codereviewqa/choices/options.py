"""The options of an instance's questions, as its file has them (arXiv 2503.16167, section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.types import Instance
from pytest_crab.types.enums import StrEnum

#: The key of an instance's file.
KEY = "probes"

#: The options of a question on lines or on a solution.
OPTIONS = 4


class ChangeType(StrEnum):
    """The change that a review comment asks for (arXiv 2503.16167, section 3.1), in the words of the release."""

    ADD = "add_only"
    DELETE = "remove_only"
    MODIFY = "modify"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOptions:
    """The lines that a comment is about, and wrong sets of lines; 1 is the first line, and 0 the place above it."""

    #: The line above where a change only adds.
    correct: tuple[int, ...]
    easy: tuple[tuple[int, ...], ...]
    hard: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for wrong in (self.easy, self.hard):
            _require_options([tuple(sorted(lines)) for lines in (self.correct, *wrong)])


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """The change that resolves a comment, as changed lines with their numbers, and wrong changes."""

    correct: str
    easy: tuple[str, ...]
    hard: tuple[str, ...]

    def __post_init__(self) -> None:
        for wrong in (self.easy, self.hard):
            _require_options([self.correct, *wrong])


def _require_options(options: Sequence[object]) -> None:
    if len(options) != OPTIONS:
        raise ValueError(f"{OPTIONS - 1} wrong options are needed, and there are {len(options) - 1}")
    if len(set(options)) != OPTIONS:
        raise ValueError("two options are the same")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """Multiple-choice questions about an instance's one comment (arXiv 2503.16167, section 3)."""

    change: ChangeType
    lines: LineOptions
    #: None where the change only deletes: then the lines are the solution.
    solution: TextOptions | None = None

    def faults_in(self, instance: Instance) -> Iterator[str]:
        """Yield why this instance cannot be asked about."""
        if instance.source.snippet is None or len(instance.comments) != 1:
            yield "probes ask about one comment on a source.snippet, and there is more or none of these"


def probes_in(instance: Instance) -> Probes | None:
    """Return the questions of an instance; None where it has none. Raises BadInput for another value."""
    value = instance.extra.get(KEY)
    if value is None:
        return None
    problems: list[str] = []
    probes = serialization.read(Probes, value, problems, KEY)
    if probes is None:
        raise BadInput(instance.id, problems)
    return probes
