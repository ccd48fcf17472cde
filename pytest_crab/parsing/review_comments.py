"""Tells substantive human review comments from others, as SWE-PRBench's filter does (arXiv 2603.26130, section 3)."""

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
