"""One question to a model for each hunk, with or without retrieved code: AACR-Bench's method (section C.1)."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pytest_crab.clients.chat import ChatSettings
from pytest_crab.clients.prompting import LONGEST_DIFF, as_data, shown_diff
from pytest_crab.clients.retrieval import Context, FilePart, Search, by_meaning, by_words, pieces_of
from pytest_crab.clients.status_table import Status
from pytest_crab.diffs import Hunk, parse_hunks
from pytest_crab.errors import ReviewerError
from pytest_crab.protocols import Checkout
from pytest_crab.reviewers.chat import ask_side_by_side, joined, with_usage
from pytest_crab.text import one_line
from pytest_crab.types import Finding, PullRequest, Review

_LIBRARIES = {
    Context.BM25: ("bm25s", "retrieval"),
    Context.EMBEDDING: ("sentence_transformers", "embedding"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HunksReviewer(ChatSettings):
    """Goes through the diff hunk by hunk."""

    role: ClassVar[str] = "hunks"
    beside_identity = ChatSettings.beside_identity | {"jobs"}

    timeout: float = 3600.0
    #: None, bm25 or embedding: how the pieces of the head's code that are most like the hunk are found and added.
    context: Context = Context.NONE
    #: The number of these pieces.
    k: int = 3
    #: Any sentence-transformers model, for a ``context`` of embedding.
    embedding: str | None = None
    #: A pull request with more hunks than this is an error, since a part of a review is none.
    most: int = 200
    #: A pull request with a hunk of more characters than this is an error, for the same reason.
    longest_hunk: int = LONGEST_DIFF
    #: How many hunks are asked about at a time.
    jobs: int = 4

    def __post_init__(self) -> None:
        ChatSettings.__post_init__(self)
        if min(self.k, self.most, self.longest_hunk, self.jobs) < 1:
            raise ValueError("k, most, longest_hunk and jobs should be at least 1")
        if (self.context is Context.EMBEDDING) != (self.embedding is not None):
            raise ValueError("embedding should name a sentence-transformers model where context is embedding")
        module, extra = _LIBRARIES.get(self.context, ("json", ""))
        if importlib.util.find_spec(module) is None:
            raise ValueError(f"context {self.context} needs {module}: install pytest-crab with its extra [{extra}]")

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """Ask about each hunk; findings have the diff's order. Raises ReviewerError, ModelError, GatewayError."""
        hunks = list(_hunks(pull_request))
        fault = self._fault(hunks)
        if fault is not None:
            raise ReviewerError(fault, status=str(Status.LIMIT))
        search = self._search(checkout) if hunks else None
        told = self.instructions()
        questions = [
            as_data(told, _text(pull_request, path, hunk, [] if search is None else self._beside(search, path, hunk)))
            for path, hunk in hunks
        ]
        with self.chat(checkout.services) as chat:
            reviews = ask_side_by_side(chat, questions, [path for path, _ in hunks], self.jobs)
            placed = (
                dataclasses.replace(review, findings=tuple(_within(review.findings, hunk)))
                for review, (_, hunk) in zip(reviews, hunks, strict=True)
            )
            return with_usage(joined(list(placed)), chat, self.model)

    def _fault(self, hunks: Sequence[tuple[str, Hunk]]) -> str | None:
        """Return why there can be no whole review: more hunks than ``most``, or one longer than a prompt may show."""
        if len(hunks) > self.most:
            return f"the pull request has {len(hunks)} hunks, and most is {self.most}; raise it to ask for them all"
        for path, hunk in hunks:
            length = len("\n".join(_lines(hunk)))
            if length > self.longest_hunk:
                return (
                    f"a hunk of {one_line(path)} has {length:,} characters in the prompt, and longest_hunk is "
                    f"{self.longest_hunk:,}; raise it, if the model holds so much"
                )
        return None

    def _search(self, checkout: Checkout) -> Search | None:
        if self.context is Context.NONE:
            return None
        with checkout.clone() as workspace:
            pieces = list(pieces_of(Path(workspace.root)))
        if not pieces:
            return None
        return by_words(pieces) if self.embedding is None else by_meaning(pieces, self.embedding)

    def _beside(self, search: Search, path: str, hunk: Hunk) -> list[FilePart]:
        """The pieces most like a hunk that do not show its own lines."""
        first, last = hunk.start, hunk.end
        found = search("\n".join(line.text for line in hunk.lines), self.k + 4)
        return [piece for piece in found if piece.path != path or piece.end < first or piece.start > last][: self.k]


def _hunks(pull_request: PullRequest) -> Iterator[tuple[str, Hunk]]:
    """The hunks with lines of the new version, files that configure coding agents left out."""
    for file, hunks in parse_hunks(shown_diff(pull_request.diff, note=False)):
        yield from ((file.path, hunk) for hunk in hunks if hunk.end >= hunk.start)


def _text(pull_request: PullRequest, path: str, hunk: Hunk, context: Sequence[FilePart]) -> str:
    lines = [f"Title: {pull_request.title}", "", pull_request.body, "", f"File: {path}", f"Hunk: {hunk.heading}"]
    lines += _lines(hunk)
    for piece in context:
        lines += ["", f"Further code: {piece.path}, lines {piece.start} to {piece.end}", piece.text]
    return "\n".join(lines)


def _lines(hunk: Hunk) -> list[str]:
    """The lines of a hunk as a prompt shows them, behind their numbers."""
    return [f"{line.new or '':>6} {line.mark}{line.text}" for line in hunk.lines]


def _within(findings: Sequence[Finding], hunk: Hunk) -> Iterator[Finding]:
    """The findings with lines that the hunk has; those with others, or none, are about the hunk as a whole."""
    first, last = hunk.start, hunk.end
    for finding in findings:
        start, end = finding.lines or (first, last)
        if not first <= start <= end <= last:
            start, end = first, last
        yield dataclasses.replace(finding, start=start, end=end)
