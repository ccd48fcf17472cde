"""CodeReviewQA (arXiv 2503.16167): its rows as pieces of code with one review comment and questions about it.

A file is JSON lines. ``old`` and ``new`` are the code with a mark before each line: a space, or - and + where the two
differ. Rows have no id there: they are numbered by language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from pytest_crab import serialization
from pytest_crab.benchmarks.codereviewqa.choices.options import KEY, ChangeType, LineOptions, Probes, TextOptions
from pytest_crab.benchmarks.codereviewqa.choices.templates import FILE as TEMPLATES, read_release
from pytest_crab.cli.importing import import_command
from pytest_crab.errors import BadInput
from pytest_crab.instances.archives import json_records
from pytest_crab.instances.native import LICENSE, MISSING, Import, import_rows
from pytest_crab.types import (
    UNNAMED_REPOSITORY,
    Comment,
    Instance,
    Provenance,
    PullRequestFacts,
    SnippetSource,
    Source,
)

#: The files of an instance that hold its code, without the endings of a language, so that no tool takes them for code.
HEAD, REFERENCE = "head.txt", "reference.txt"

#: The file's ending by the release's name of its language.
ENDINGS = {
    "c": "c",
    "cpp": "cpp",
    "csharp": "cs",
    "go": "go",
    "java": "java",
    "javascript": "js",
    "php": "php",
    "python": "py",
    "ruby": "rb",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRow:
    """One row of the release."""

    old: str
    new: str
    review: str
    lang: str
    type_correct: ChangeType
    type_wrong: tuple[ChangeType, ...]
    #: Line numbers of ``old``, as in the other ``loc_`` fields.
    loc_correct: tuple[int, ...]
    loc_wrong_easy: tuple[tuple[int, ...], ...]
    loc_wrong_hard: tuple[tuple[int, ...], ...]
    #: A text of changed lines, as in the other ``solution_`` fields.
    solution_correct: str = ""
    solution_wrong_easy: tuple[str, ...] = ()
    solution_wrong_hard: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_code(self.old, self.new, self.lang)
        if {self.type_correct, *self.type_wrong} != set(ChangeType) or len(self.type_wrong) != 2:
            raise ValueError("type_correct and type_wrong should be the three types of change, each once")
        count = len(self.old.split("\n"))
        options = (self.loc_correct, *self.loc_wrong_easy, *self.loc_wrong_hard)
        if not all(lines and 0 <= min(lines) <= max(lines) <= count for lines in options):
            raise ValueError(f"a line number is missing or not one of old, which has {count} lines")
        if self.solution_correct and self.type_correct is ChangeType.DELETE:
            raise ValueError("solution_correct should not be there where lines are only deleted")
        if not self.solution_correct and (self.solution_wrong_easy or self.solution_wrong_hard):
            raise ValueError("solution_correct is missing beside the wrong solutions")

    @property
    def solution(self) -> TextOptions | None:
        """The options of the question on the solution; None where there is none, as where lines are only deleted."""
        if not self.solution_correct:
            return None
        return TextOptions(correct=self.solution_correct, easy=self.solution_wrong_easy, hard=self.solution_wrong_hard)


def require_code(old: str, new: str, lang: str) -> None:
    """Raise ValueError for a language that the release does not have, and for a line without its mark."""
    if lang not in ENDINGS:
        raise ValueError(f"lang is {lang[:20]!r}; it should be one of {', '.join(ENDINGS)}")
    for name, text, marks in (("old", old, " -"), ("new", new, " +")):
        if any(line[:1] not in marks for line in text.split("\n") if line):
            raise ValueError(f"a line of {name} does not start with one of {marks!r}")


def import_codereviewqa(
    file: Path, out: Path, *, only: re.Pattern[str] | None = None, templates: Path | None = None
) -> Import:
    """Import a file of the release into ``out``, which must be new or empty.

    ``templates`` is a checkout of the release's code, whose prompts are kept in the set. Raises BadInput for one that
    has none, and with every line that is no row; then nothing is written.
    """
    beside = {} if templates is None else {TEMPLATES: f"{serialization.canonical(read_release(templates))}\n"}
    return import_rows(file, out, read_rows(file), to_instance, only=only, files=_files, beside=beside)


def read_rows(file: Path) -> Iterator[tuple[str, QuestionRow]]:
    """Yield the rows with their ids. After the last, raises BadInput with a sentence for each line that is none."""
    problems: list[str] = []
    counts: Counter[str] = Counter()
    for _, _, row in json_records(file, QuestionRow, problems):
        yield f"{row.lang}-{counts[row.lang]:03d}", row
        counts[row.lang] += 1
    if problems:
        raise BadInput(str(file), problems)


def to_instance(row: QuestionRow, folder: Path) -> Instance:
    """Return the instance of a row. Raises ValueError for options that are not four different ones."""
    at = [line for line in row.loc_correct if line]
    comment = Comment(
        id="c0",
        path=f"snippet.{ENDINGS[row.lang]}",
        lines=(min(at), max(at)) if at else None,
        body=row.review,
        labels={"language": row.lang, "change": row.type_correct.value},
    )
    probes = Probes(
        change=row.type_correct,
        lines=LineOptions(correct=row.loc_correct, easy=row.loc_wrong_easy, hard=row.loc_wrong_hard),
        solution=row.solution,
    )
    return Instance(
        id=folder.name,
        folder=str(folder),
        provenance=Provenance.GITHUB,
        repo=UNNAMED_REPOSITORY,
        language=row.lang,
        license=LICENSE,
        pull_request=PullRequestFacts(number=1, title=MISSING),
        source=Source(snippet=SnippetSource(head=HEAD, reference=REFERENCE)),
        comments=(comment,),
        extra={KEY: serialization.dump(probes)},
    )


def _files(row: QuestionRow) -> Mapping[str, str]:
    return {HEAD: f"{strip_marks(row.old)}\n", REFERENCE: f"{strip_marks(row.new)}\n"}


def strip_marks(marked: str) -> str:
    """Return marked code without the marks."""
    return "\n".join(line[1:] for line in marked.split("\n"))


codereviewqa = import_command(
    import_codereviewqa,
    "Import CodeReviewQA's FILE, JSON lines, as questions about review comments for pytest --answerer.",
    options=[
        click.Option(
            ["--templates"],
            metavar="FOLDER",
            type=click.Path(exists=True, file_okay=False, path_type=Path),
            help="A checkout of the release's code: keep its prompts in the set, to ask in its words.",
        )
    ],
)
