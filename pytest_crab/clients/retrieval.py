"""Code that may have to do with a hunk: a tree in pieces, and those most like a text (AACR-Bench, section C.1)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.text import split_lines
from pytest_crab.types import StrEnum

#: Lines of a piece; pieces overlap by a quarter, so that no function is cut at both its ends.
LINES = 40
_STEP = 30
#: Bytes of a file, and pieces of a tree, beyond which the rest is left out.
LARGEST_FILE, MOST_PIECES = 200_000, 20_000

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class Context(StrEnum):
    """The source of the code that is shown beside a hunk."""

    NONE = "none"
    BM25 = "bm25"
    EMBEDDING = "embedding"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """Some lines of a file."""

    path: str
    #: The first line, counted from 1.
    start: int
    text: str

    @property
    def end(self) -> int:
        """The last line."""
        return self.start + self.text.count("\n")


#: The pieces most like a text, best first.
Search = Callable[[str, int], Sequence[FilePart]]


def text_files(tree: Path) -> Iterator[tuple[str, str]]:
    """Yield path and text of each text file of a checkout, by path.

    Links are not followed, since a pull request may have laid them.
    """
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(files):
            path = Path(folder, name)
            if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_FILE:
                continue
            content = path.read_bytes()
            if b"\0" not in content:
                yield path.relative_to(tree).as_posix(), content.decode(errors="replace")


def pieces_of(tree: Path) -> Iterator[FilePart]:
    """Yield the text files of a checkout in pieces, by path, and no more than MOST_PIECES."""
    count = 0
    for path, content in text_files(tree):
        lines = split_lines(content)
        for at in range(0, max(1, len(lines) - LINES + _STEP), _STEP):
            if count >= MOST_PIECES:
                return
            count += 1
            text = "\n".join(lines[at : at + LINES])
            if text.strip():
                yield FilePart(path=path, start=at + 1, text=text)


def words_of(text: str) -> list[str]:
    """The words in code, names taken apart at capitals and underscores, in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def by_words(pieces: Sequence[FilePart]) -> Search:
    """Search by the words that texts share. Needs bm25s."""
    import bm25s

    index = bm25s.BM25()
    index.index([words_of(f"{piece.path} {piece.text}") or ["_"] for piece in pieces], show_progress=False)

    def search(text: str, count: int) -> Sequence[FilePart]:
        found, scores = index.retrieve([words_of(text) or ["_"]], k=min(count, len(pieces)), show_progress=False)
        return [pieces[at] for at, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search


def by_meaning(pieces: Sequence[FilePart], model: str) -> Search:
    """Search by meaning, as a sentence-transformers model sees it. Needs sentence-transformers."""
    import sentence_transformers

    encoder = sentence_transformers.SentenceTransformer(model)
    known = encoder.encode([piece.text for piece in pieces], normalize_embeddings=True, show_progress_bar=False)

    def search(text: str, count: int) -> Sequence[FilePart]:
        query = encoder.encode([text], normalize_embeddings=True, show_progress_bar=False)[0]
        likeness = known @ query
        return [pieces[at] for at in (-likeness).argsort()[:count]]

    return search
