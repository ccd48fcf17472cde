"""Write a new instance with all known facts, and placeholders for its author."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from pytest_crab.curation.locations import Location, hunk_locations
from pytest_crab.ecosystems import DEFAULT, is_of_several_languages, language_of_file, of_language, of_runner
from pytest_crab.errors import BadInput
from pytest_crab.instances.dump import instance_yaml
from pytest_crab.instances.files import write_files
from pytest_crab.instances.loading import FILE
from pytest_crab.instances.placeholders import PLACEHOLDER, STUB
from pytest_crab.text import split_lines
from pytest_crab.types import Category, Comment, Instance, Kind, Oracle

_MOST_HUNKS = 60

_TOP = """\
# Written by pytest-crab set new. What is still {placeholder} is yours, and so are the oracles; pytest-crab set check
# says what is missing.
"""
_COMMENTS = """\
# One entry for each comment. category: {categories}
# kind: behavioral if the oracle runs the code, structural if it inspects the source.
# For each comment, once its oracle is written, diffs from head (pytest-crab set shell ID --save FILE makes them):
#   reference: reference/c0.diff          what resolves this comment alone
#   accepts: [checks/c0-other.diff]       at least two other right fixes: the oracle is green on each
#   rejects: [checks/c0-near.diff]        at least two near misses: the oracle stays red on each
"""


def language_of(paths: Sequence[str]) -> str:
    """Return the language of most of these files; the default ecosystem's if none has a known suffix."""
    named = {path: name for path in paths if (name := language_of_file(path)) is not None}
    telling = [name for path, name in named.items() if not is_of_several_languages(path)] or [*named.values()]
    return max(sorted(set(telling)), key=telling.count) if telling else DEFAULT.name


def draft_comments(places: Sequence[Location], language: str, runner: str) -> tuple[Comment, ...]:
    """Return a placeholder comment for each place, with a placeholder oracle for a runner of the language."""
    ends = re.split(", | or ", of_language(language).runners[runner].words)
    suffix = next((end for end in ends if language_of_file(end) == language), ends[0])
    beside = of_language(language).is_beside_code
    return tuple(
        Comment(
            id=f"c{number}",
            path=place.path,
            lines=place.lines,
            side=place.side,
            body=PLACEHOLDER,
            category=Category.FUNCTIONAL,
            kind=Kind.BEHAVIORAL,
            oracle=Oracle(
                file=f"oracles/test_c{number}{suffix}",
                runner=runner,
                folder=str(PurePosixPath(place.path).parent) if beside else None,
            ),
        )
        for number, place in enumerate(places)
    )


def stubs(comments: Sequence[Comment]) -> Iterator[tuple[str, str]]:
    """Yield the oracles' files as (name, text); each fails, and ``check`` refuses it, until it is written."""
    for comment in comments:
        owner = of_runner(comment.required_oracle.runner)
        text = owner.stub_of(comment.required_oracle.runner) if owner is not None else ""
        place = Location(path=comment.path, lines=comment.lines, side=comment.side)
        name = re.sub(r"\W", "_", comment.id)
        folder = PurePosixPath(comment.path).parent.name or "main"
        yield comment.required_oracle.file, text.format(comment=name, place=place, stub=STUB, folder=folder)


def instance_text(instance: Instance, diff: str, notes: Mapping[str, Sequence[str]]) -> str:
    """Return the text of the instance's file, with the diff's hunks as comment lines, and notes before their key."""
    found = list(hunk_locations(diff))
    hunks = [f"#   {place}  {place.excerpt}".rstrip() for place in found[:_MOST_HUNKS]]
    more = [f"#   and {len(found) - _MOST_HUNKS} more"] if len(found) > _MOST_HUNKS else []
    names = [str(category) for category in Category]
    said = split_lines(_COMMENTS.format(categories=f"{', '.join(names[:5])},\n#   {', '.join(names[5:])}."))
    before = {key: [f"# {line}" for line in lines] for key, lines in notes.items()}
    heading = ["# The pull request's hunks, to anchor comments at:"] if hunks else []
    before["comments"] = [*said, *heading, *hunks, *more]
    lines = split_lines(_TOP.format(placeholder=PLACEHOLDER))
    for line in split_lines(instance_yaml(instance)):
        key = line.partition(":")[0]
        lines += before.get(key, []) if key and not line.startswith((" ", "-")) else []
        lines.append(line)
    return "\n".join(lines) + "\n"


def write(instance: Instance, files: Mapping[str, str | bytes], text: str) -> Path:
    """Write the instance's folder in one step and return it.

    Raises BadInput if there is something of this name already, or it cannot be written.
    """
    folder = Path(instance.folder)
    refuse_existing(folder)
    try:
        with beside(folder, {FILE: text, **files}) as made:
            made.rename(folder)
    except OSError as error:
        raise BadInput(str(folder), [f"cannot be written ({error.strerror}); choose another --into or --id"]) from error
    return folder


@contextmanager
def beside(folder: Path, files: Mapping[str, str | bytes]) -> Iterator[Path]:
    """Yield a folder with these files beside ``folder``, to be renamed; what is left of it goes. Raises OSError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder.parent) as scratch:
        made = Path(scratch, folder.name)
        write_files(made, files)
        yield made


def refuse_existing(folder: Path) -> None:
    """Raise BadInput if there is anything at ``folder``, in letters of whichever case."""
    beside = folder.parent.iterdir() if folder.parent.is_dir() else ()
    if any(found.name.lower() == folder.name.lower() for found in beside):
        raise BadInput(str(folder), ["is there already, and new overwrites nothing; choose another --id or --into"])
