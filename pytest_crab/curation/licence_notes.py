"""The file of a published set that says under which licences its texts stand, and what it holds of each project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pytest_crab.errors import BadInput
from pytest_crab.instances import FILE, load_instance
from pytest_crab.instances.files import replace_text
from pytest_crab.types import Instance

#: The file's name.
NOTES = "LICENCES.md"

#: The tag of an instance whose comments are restated, and its word.
COMMENT_TEXT, OWN_WORDS = "comment_text", "own words"

_TOP = """\
# Licences of this set

Written by pytest-crab. What the set holds of a project stands under that project's licence, with the
copyright of its contributors. Code that the table does not name is no part of the set: it is fetched from the project.

| project | licence | pull requests | what the set holds of it |
|---|---|---|---|
"""


def plain_title(repo: str, number: int) -> str:
    """Return the title of a pull request whose own title is not passed on."""
    return f"Pull request {number} of {repo}"


def write_notes(out: Path) -> None:
    """Write the notes on the instances in ``out``; one that cannot be read is left out. Raises BadInput."""
    instances = list(readable(out))
    if not instances:
        return
    projects: dict[tuple[str, str, str], list[Instance]] = {}
    for one in instances:
        url = one.source.repository or ""
        projects.setdefault((one.repo, url, one.license), []).append(one)
    text = _TOP + "".join(f"{_row(*key, own)}\n" for key, own in sorted(projects.items()))
    try:
        replace_text(out / NOTES, text)
    except OSError as error:
        raise BadInput(str(out / NOTES), [f"it cannot be written ({error.strerror}); choose another --out"]) from None


def readable(out: Path) -> Iterator[Instance]:
    """Yield the instances in ``out`` that can be read."""
    for path in sorted(out.glob(f"*/{FILE}")):
        try:
            yield load_instance(path.parent)
        except BadInput:
            continue  # it was edited, and check says what is wrong


def _row(repo: str, url: str, licence: str, own: Sequence[Instance]) -> str:
    project = f"[{repo}]({url})" if url else repo
    numbers = ", ".join(str(one.pull_request.number) for one in own)
    return f"| {project} | {licence} | {numbers} | {', '.join(_kinds_of_text(own))} |"


def _kinds_of_text(own: Sequence[Instance]) -> Iterator[str]:
    """Yield the kinds of a project's text that its instances have."""
    counts: Mapping[str, int] = {
        "titles": sum(one.pull_request.title != plain_title(one.repo, one.pull_request.number) for one in own),
        "descriptions": sum(bool(one.pull_request.body) for one in own),
        "comments as written": sum(one.tags.get(COMMENT_TEXT) != OWN_WORDS for one in own),
        "comments in own words": sum(one.tags.get(COMMENT_TEXT) == OWN_WORDS for one in own),
        "code of pull requests as diffs, and tests of the project": sum(one.source.commit is not None for one in own),
        "fixes as references": sum(comment.reference is not None for one in own for comment in one.comments),
    }
    yield from (name for name, count in counts.items() if count)
