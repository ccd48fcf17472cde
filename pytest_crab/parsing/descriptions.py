"""Descriptions of pull requests without traces of their review, by which a reviewer would know that there was one."""

from __future__ import annotations

import re
from collections.abc import Collection

#: A link to a discussion of a pull request on GitHub or a merge request on GitLab.
_LINK = re.compile(
    r"https?://\S+/(?:pull|merge_requests)/(\d+)[^\s#]*#(?:discussion_r|pullrequestreview-|issuecomment-|note_)\d+"
)
_SAID = r"(?:comments?|feedback|suggestions?|remarks?|requests?)"
_REVIEW = r"(?:(?:code[- ])?review(?:ers?)?(?:'s?)?|pr|mr|pull request|merge request)"
_ANSWER = re.compile(
    rf"\b(?:address|appl|incorporat|implement|resolv|answer|fix|adopt|accept)\w*\W+(?:\w+\W+){{0,3}}?{_REVIEW}\W+{_SAID}\b"
    rf"|\baddress\w*\W+(?:(?:all|some|the|more|remaining|latest)\W+)*"
    rf"(?:(?:code[- ])?review\b|@?[\w-]+(?:'s)?\W+{_SAID}|{_SAID})\b"
    rf"|\b{_SAID}\W+(?:from|in|by|of|after)\W+(?:the\W+)?(?:code[- ])?review\b"
    rf"|\b(?:changes|fix(?:es)?)\W+(?:from|after|per|requested (?:in|by))\W+(?:the\W+)?(?:code[- ])?review\b(?!\W\w)"
    rf"|\b(?:suggested|requested|pointed out|noted)\W+by\W+(?:@[\w-]+|(?:the\W+)?reviewers?)\b"
    rf"|^\W*{_REVIEW}\W+(?:{_SAID}|fix(?:es)?|changes)\b\W*$",
    re.IGNORECASE | re.MULTILINE,
)
_TRAILER = re.compile(r"^(?:co-authored-by|reviewed-by|suggested-by|acked-by|approved-by):.*$", re.IGNORECASE)
_BULLET = re.compile(r"^\s*[*-]\s+")


def review_trace(text: str, number: int) -> str | None:
    """Return the first words of a text that tell of the review of its pull request ``number``; None if none do."""
    own = (link for link in _LINK.finditer(text) if link[1] == str(number))
    found = _ANSWER.search(text) or next(own, None)
    return found[0] if found else None


def without_review(text: str, later: Collection[str] = ()) -> str:
    """Return a description without what was written after its review.

    ``later`` are the subjects of commits after the reviewed one, as a squash lists them: each goes with its message, up
    to the next item of the list. So do paragraphs that tell of the review, links to discussions, and the names of who
    took part.
    """
    subjects = {_words(subject) for subject in later}
    kept: list[str] = []
    dropped = False
    for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        lines = []
        for line in paragraph.split("\n"):
            if _BULLET.match(line):
                dropped = False
            dropped = dropped or (bool(line.strip()) and _words(line) in subjects)
            if not dropped and not _TRAILER.match(line.strip()):
                lines.append(line)
        told = "\n".join(lines)
        if _ANSWER.search(told) is None and (left := _LINK.sub("", told).strip("\n")).strip():
            kept.append(left)
    return "\n\n".join(kept).strip()


def _words(line: str) -> str:
    """Return a line as a subject is compared: without the mark of a list, and as far as a forge cuts it."""
    return " ".join(_BULLET.sub("", line).split()).rstrip(".…").lower()
