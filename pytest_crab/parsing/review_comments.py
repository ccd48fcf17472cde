"""Tells human review comments that raise something from others.

``is_substantive`` is SWE-PRBench's filter (arXiv 2603.26130, section 3). Of comments that led to a change it refuses
short and plain ones, so that curation asks ``raises_concern``, which only refuses what says nothing.
"""

from __future__ import annotations

import re

#: Logins that are bots and do not look like it. The paper names the first four of 19.
BOTS = frozenset(
    {
        "coderabbitai", "github-copilot", "cursor-bugbot", "qodo-merge-pro", "gemini-code-assist", "copilot",
        "copilot-pull-request-reviewer", "greptile-apps", "ellipsis-dev", "sourcery-ai", "codiumai-pr-agent",
        "sweep-ai", "korbit-ai", "graphite-app", "devin-ai-integration", "chatgpt-codex-connector", "bito-code-review",
        "codeant-ai", "claude",
    }
)  # fmt: skip

#: Words that machine-made reviews are introduced with.
_PHRASES = ("summary by", "walkthrough", "actionable comments posted", "this review was generated", "pr reviewer guide")
_HEADER = re.compile(r"^##(?!#)\s", re.MULTILINE)
_TABLE_ROW = re.compile(r"^\s*\|.*\|\s*$", re.MULTILINE)

#: A comment with so many headers or lines of a table, or so long with so many headers, is taken for a machine's.
_MOST_HEADERS, _MOST_ROWS, _LONG, _HEADERS_IF_LONG = 3, 3, 2000, 2

#: The fewest words of a substantive comment, and the words and marks of which it has at least one.
FEWEST_WORDS = 10
_SUBSTANCE = re.compile(
    r"\b(?:bugs?|error|fail\w*|wrong|incorrect|missing|should|instead|because|races?|leaks?|null|none|exception|edge|case"
    r"|tests?|perform\w*|slow|secur\w*|unsafe|break\w*|regress\w*|handle\w*|check\w*|return\w*|type|behaviou?r)\b",
    re.IGNORECASE,
)
#: The fewest words that say something by themselves, in a question, and beside code.
_FEWEST_ALONE, _FEWEST_ASKED, _FEWEST_WITH_CODE = 4, 3, 2
_COURTESY = re.compile(
    r"(?:a|again|agreed?|all|and|are|awesome|cool|done|fine|fix(?:ed)?|for|good|great|i|it|job|lgtm|look(?:s|ing)?|lovely?"
    r"|makes|me|much|my|nice|now|ok|okay|one|perfect|please|point|right|sense|so|sounds|sure|thanks?|that|the|this|to|too"
    r"|updated|very|well|with|works?|yes|yep|your?)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"^\s*>.*$", re.MULTILINE)
_WORD = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]|[^\W\d_][\w']*")  # scripts without spaces: a letter is a word
_ASKING = re.compile(
    r"\?|\b(?:should|please|could|can you|need(?:s|ed)?|must|instead|better|prefer|let'?s|also|missing|still|suggest\w*"
    r"|wrong|fails?|breaks?)\b|^```suggestion",
    re.IGNORECASE | re.MULTILINE,
)
_CODE = re.compile(r"`[^`\n]+`|\w+\([^)\n]*\)|\w+\.\w+\.\w+|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w+\b")


def is_bot(login: str) -> bool:
    """Return whether a login is a known review bot, or ends or reads like one."""
    name = login.strip().lower()
    return name.endswith("[bot]") or "-bot" in name or name in BOTS


def looks_generated(body: str) -> bool:
    """Return whether a comment has the structure or the phrases of a machine-made review."""
    headers = len(_HEADER.findall(body))
    return (
        headers >= _MOST_HEADERS
        or len(_TABLE_ROW.findall(body)) >= _MOST_ROWS
        or any(phrase in body.lower() for phrase in _PHRASES)
        or (len(body) > _LONG and headers >= _HEADERS_IF_LONG)
    )


def is_substantive(login: str, body: str) -> bool:
    """Return whether a person wrote a comment of ten words or more that has a word of substance or names code."""
    if is_bot(login) or looks_generated(body) or len(body.split()) < FEWEST_WORDS:
        return False
    return bool(_SUBSTANCE.search(body) or _CODE.search(body))


def raises_concern(login: str, body: str) -> bool:
    """Return whether a person says something in a comment that may be mended: plain questions and short requests too.

    Thanks and praise are none, nor are less than four words (three in a question, two beside code).
    """
    said = _QUOTED.sub("", body)
    if is_bot(login) or looks_generated(body):
        return False
    if "```suggestion" in said:
        return True
    words = _WORD.findall(said)
    if all(map(_COURTESY.fullmatch, words)):
        return False
    fewest = _FEWEST_WITH_CODE if _CODE.search(said) else _FEWEST_ASKED if "?" in said else _FEWEST_ALONE
    return len(words) >= fewest


def asks_anew(login: str, body: str) -> bool:
    """Return whether an answer in a discussion raises a concern of its own, and asks for something."""
    return raises_concern(login, body) and bool(_ASKING.search(_QUOTED.sub("", body)))
