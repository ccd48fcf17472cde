"""Parts of source code around changed lines in any language: by the syntax tree, else by lines and words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath

from pytest_crab import ecosystems
from pytest_crab.errors import EngineError
from pytest_crab.parsing.syntax_trees import spans_around
from pytest_crab.text import split_lines, windows

_IMPORT = re.compile(r"^\s*(?:import|from|require|include|#include|use|using|export)\b|\brequire\(", re.MULTILINE)
_TEST_WORDS = re.compile(r"\s*(?:func\s+Test|(?:describe|it|test|expect|assert\w*)\b|@Test\b|t\.Run\()|.*\bexpect\(")


def parts_around(path: str, source: str, lines: Collection[int]) -> list[str]:
    """Return the innermost functions, classes and types around ``lines``, in any language that has a grammar here.

    Of another language, and where the grammars are not installed, all lines stand in their windows.
    """
    try:
        spans = spans_around(path, source.encode(), lines)
    except (EngineError, ValueError):
        return windows(source, lines)
    texts = split_lines(source)
    parts = ["\n".join(texts[first - 1 : last]) for first, last in sorted(set(spans.values()))]
    return [part for part in (*parts, *windows(source, set(lines) - spans.keys())) if part]


def mentions(files: Mapping[str, str], changed: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each file of any language that names a ``changed`` file where it imports, with the lines around that."""
    stems = {PurePosixPath(path).stem for path in changed} - {"index", "__init__", "main", "mod"}
    pattern = re.compile("|".join(rf"\b{re.escape(stem)}\b" for stem in sorted(stems)) or r"(?!)")
    for path, source in files.items():
        if path in changed or not pattern.search(source):
            continue
        lines = [at for at, text in enumerate(split_lines(source), 1) if _IMPORT.search(text) and pattern.search(text)]
        if lines:
            yield path, windows(source, lines, 2)


def signatures_of_tests(source: str) -> str:
    """Return the lines of a test file that say what is tested."""
    return "\n".join(line for line in split_lines(source) if _TEST_WORDS.match(line))


def environment_bindings(files: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield each environment variable or setting that code reads, with the places that name it.

    Languages are those of ecosystems that say how their code reads one.
    """
    reading = re.compile("|".join(one.settings for one in ecosystems.names() if one.settings))
    places: dict[str, list[str]] = {}
    for path, source in files.items():
        for at, text in enumerate(split_lines(source), 1):
            for match in reading.finditer(text):
                name = next(filter(None, match.groups()))
                places.setdefault(name, []).append(f"{path}:{at}: {text.strip()}")
    yield from sorted(places.items())
