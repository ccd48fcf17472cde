"""Makes a review of the entries of a list of findings, under any names and with their faults counted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pytest_crab import serialization
from pytest_crab.parsing.finding_names import Parts, as_text
from pytest_crab.parsing.finding_places import FindingPlace, read_place
from pytest_crab.types import Finding, Review

#: More than this is no review that anybody could act on.
MOST_FINDINGS = 1000
#: In bytes of UTF-8.
LONGEST_TEXT = 64 * 1024


def review_of(
    items: Sequence[Any],
    problems: list[str],
    *,
    path: str | None = None,
    root: str | None = None,
    files: Collection[str] = (),
) -> Review | None:
    """Return the review that the entries of a list are, under any of the names of ``finding_names``.

    With ``path`` all findings are on that file; else paths are read as ``tree_path`` does. A finding with a fault is
    set aside where another one has none, and one whose place cannot be read is kept without it and counted. Where every
    finding's place is under a key that is not known, or all have faults, that is appended to ``problems`` and the
    result is None.
    """
    if len(items) > MOST_FINDINGS:
        problems.append(f"findings has {len(items)} entries; at most {MOST_FINDINGS} are read")
        return None
    found: list[Finding] = []
    aside: list[str] = []
    faults: list[str] = []
    unplaced: list[str] = []
    unknown = 0
    for number, item in enumerate(items):
        own: list[str] = []
        value = {**item, "path": path} if path is not None and isinstance(item, Mapping) else item
        at = f"findings[{number}]"
        read = _finding(value, own, at, root, files)
        if read is None or own:
            faults += own
            aside.append(one_line(own[0]))
            continue
        finding, place = read
        found.append(finding)
        unplaced += [one_line(f"{at} has {lost}") for lost in place.lost[:1]]
        unknown += place.unknown
    if found and unknown == len(found):
        problems.append(f"no finding has a place that is read: {unplaced[0]}")
        return None
    if not found:
        problems += faults
        return None if faults else Review()
    return Review(findings=tuple(found), set_aside=tuple(aside), unplaced=tuple(unplaced))


#: The parts of a finding that are the reviewer's own words, taken as they are.
_OWN_WORDS = ("severity", "confidence", "rule")


def _finding(
    item: object, problems: list[str], at: str, root: str | None, files: Collection[str]
) -> tuple[Finding, FindingPlace] | None:
    if not isinstance(item, Mapping):
        serialization.read(Finding, item, problems, at)  # says what it should be
        return None
    parts, place = Parts(item), read_place(item, root=root, files=files)
    if place.outside is not None:
        problems.append(f"{at}.path is {place.outside[:200]!r}; it should be a file's path relative to the tree")
    words = _words(parts, at, problems)
    if not words:
        return None
    own: dict[str, Any] = {name: None if (one := parts.first(name)) is None else as_text(one[1]) for name in _OWN_WORDS}
    where: dict[str, Any] = {"path": place.path, "start": place.start, "end": place.end, "side": place.side}
    finding = Finding(**words, **where, **own)
    for name in ("body", "path", "title", *_OWN_WORDS):
        check_text(getattr(finding, name), f"{at}.{name}", problems)
    return finding, place


def _words(parts: Parts, at: str, problems: list[str]) -> dict[str, Any]:
    """Return title and body; all words that stand under several names are the body, and a title alone is one too."""
    title = next((text for _, value in parts.all("title") if (text := as_text(value))), None)
    body: list[str] = []
    for _, value in parts.all("body"):
        text = as_text(value)
        if text is not None and text.strip() and not any(text.strip() in other for other in body):
            body.append(text)
    told = "\n\n".join(body) or title or ""
    if told.strip():
        return {"title": title, "body": told}
    given = parts.first("body")
    problems.append(f"{at}.body is missing" if given is None else f"{at}.body is empty; it should say what is wrong")
    return {}


def one_line(fault: str) -> str:
    """A fault as it goes on the record: one line, at most 300 characters."""
    return " ".join(fault.split())[:300].encode(errors="replace").decode()


def check_text(text: str | None, at: str, problems: list[str]) -> None:
    """Append a sentence to ``problems`` if a text is too long, or no text."""
    if text is None:
        return
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        problems.append(f"{at} holds half a surrogate pair, which is no text")
        return
    if size > LONGEST_TEXT:
        problems.append(f"{at} has {size} bytes; at most {LONGEST_TEXT} are read")
