"""People's rulings on the comments of a curated set: who kept, rejected or edited which, and why."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pytest_crab import serialization
from pytest_crab.curation.publish import remove_rejected, write_set
from pytest_crab.errors import BadInput
from pytest_crab.formats import today
from pytest_crab.instances.set_files import read_set_file, write_set_file
from pytest_crab.locks import locked_folder
from pytest_crab.types import CandidateComment, PullCandidate, StrEnum

#: The file of a set with its rulings.
FILE = "rulings.json"

#: The dimensions of labels that say that a person ruled on a comment, and who it was.
RULING, RULED_BY = "ruling", "ruled_by"


class Word(StrEnum):
    """The word of a ruling."""

    KEEP = "keep"
    REJECT = "reject"
    EDIT = "edit"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A person's ruling on one comment."""

    candidate: str
    comment: str
    ruling: Word
    by: str
    #: A rejection has a reason.
    reason: str = ""
    #: The comment's text after an edit.
    body: str = ""
    #: The text of the oracle's file after an edit; empty: it stays.
    oracle: str = ""
    date: str = ""

    def __post_init__(self) -> None:
        if not self.by.strip():
            raise ValueError("by should be a name")
        if self.ruling is Word.REJECT and not self.reason.strip():
            raise ValueError("a rejection should have a reason")
        if self.ruling is Word.EDIT and not self.body.strip():
            raise ValueError("an edited comment should have a text")


#: Rulings by candidate and comment.
Rulings = Mapping[tuple[str, str], Ruling]


def read_rulings(out: Path) -> dict[tuple[str, str], Ruling]:
    """Return the rulings of the set in ``out``. Raises BadInput."""
    listed = read_set_file(out / FILE, "it is damaged; mend it or move it away").get("rulings", [])
    return {(one.candidate, one.comment): one for one in read_ruling_list(listed, str(out / FILE))}


def read_ruling_list(listed: object, where: str) -> list[Ruling]:
    """Return rulings from plain data. Raises BadInput, which names where they are from."""
    problems: list[str] = []
    items = listed if isinstance(listed, list) else [listed]
    found = [serialization.read(Ruling, item, problems) for item in items]
    if problems:
        raise BadInput(where, problems)
    return [one for one in found if one is not None]


def keep_ruling(out: Path, ruling: Ruling) -> None:
    """Write a ruling into the set, in place of an earlier one on the same comment. Raises BadInput."""
    with locked_folder(out):
        known = read_rulings(out)
        known[ruling.candidate, ruling.comment] = dataclasses.replace(ruling, date=ruling.date or today())
        write_set_file(out / FILE, {"rulings": [serialization.dump(one) for _, one in sorted(known.items())]})


def ruled(candidate: PullCandidate, rulings: Rulings) -> PullCandidate:
    """Return a candidate as it is after the rulings on its comments: rejected ones are gone, edited ones restated."""
    own = {one.comment.id: rulings.get((candidate.id, one.comment.id)) for one in candidate.comments}
    gone = {
        name: f"rejected by {one.by}: {one.reason}" for name, one in own.items() if one and one.ruling is Word.REJECT
    }
    comments = tuple(_ruled(one, own[one.comment.id]) for one in candidate.comments)
    files = {**candidate.files, **_edited_oracles(candidate, rulings)}
    return dataclasses.replace(candidate, comments=comments, files=files).drop(gone)


def _edited_oracles(candidate: PullCandidate, rulings: Rulings) -> dict[str, str]:
    """Return the texts of the oracles that people edited, by file."""
    pairs = ((one.comment, rulings.get((candidate.id, one.comment.id))) for one in candidate.comments)
    return {
        comment.oracle.file: ruling.oracle
        for comment, ruling in pairs
        if ruling is not None and ruling.ruling is Word.EDIT and ruling.oracle and comment.oracle is not None
    }


def _ruled(one: CandidateComment, ruling: Ruling | None) -> CandidateComment:
    if ruling is None:
        return one
    labels = {**one.comment.labels, RULING: str(ruling.ruling), RULED_BY: ruling.by}
    edited = ruling.ruling is Word.EDIT
    body = ruling.body if edited else one.comment.body
    audited = 0 if edited and ruling.oracle else one.audited
    return dataclasses.replace(one, comment=dataclasses.replace(one.comment, labels=labels, body=body), audited=audited)


def write_ruled(out: Path, published: Sequence[PullCandidate]) -> Iterator[str]:
    """Write the instances of candidates into the set as people ruled on them; yield sentences. Raises BadInput."""
    rulings = read_rulings(out)
    found = [ruled(one, rulings) for one in published]
    edits = {
        out / one.id / name: text.encode() for one in published for name, text in _edited_oracles(one, rulings).items()
    }
    news = {path: text for path, text in edits.items() if not _holds(path, text)}
    yield from write_set(out, [one for one in found if one.comments])
    yield from remove_rejected(out, [one.id for one in found if not one.comments])
    for path in (path for path, text in news.items() if _holds(path, text)):
        instance = out / path.relative_to(out).parts[0]
        yield f"{path} is as it was edited, and not proved: call pytest-crab set certify {instance}"


def _holds(path: Path, text: bytes) -> bool:
    return path.is_file() and path.read_bytes() == text
