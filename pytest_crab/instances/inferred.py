"""Labels that a release does not hold, by static rules; what they give is marked as inferred wherever it is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_crab import ecosystems
from pytest_crab.types import Category, Kind


def kind_of(source: str, runner: str) -> Kind:
    """Tell a behavioral oracle from a structural one by its text alone, as the ecosystem of its runner does.

    This is arXiv 2603.23448's definition (section 4.4.2) made mechanical; its labels are not in the release. Raises
    ValueError for a runner that there is not.
    """
    owner = ecosystems.of_runner(runner)
    if owner is None:
        raise ValueError(f"there is no runner {runner}")
    return Kind.STRUCTURAL if owner.is_structural(source) else Kind.BEHAVIORAL


#: The first row with a word that the comment's text has decides; the words are the starts of words.
_WORDS: Mapping[Category, str] = {
    Category.SECURITY: r"secur|vulnerab|injection|credential|sanitiz|csrf|xss|unsafe|untrusted",
    Category.EFFICIENCY: r"performan|efficien|expensive|overhead|slow|faster|quadratic|memory usage|o\(n",
    Category.COMPATIBILITY: "|".join(
        [
            "compatib|backward|backport|deprecat|older version|windows",
            *(one.old for one in ecosystems.names() if one.old),
        ]
    ),
    Category.TESTING: r"unit ?test|test case|tests?\b|coverage|assertion|fixture|mock|flaky",
    Category.ERROR_HANDLING: r"exception|raise|error message|traceback|try/except|except\b|warn|swallow",
    Category.DOCUMENTATION: r"doc ?string|document|docs?\b|typo|spelling|wording|grammar|readme|changelog|comment",
    Category.ROBUSTNESS: r"edge case|corner case|none\b|null|empty|boundar|overflow|invalid|missing|race|fallback",
    Category.DESIGN: r"\bapi|interface|signature|argument|parameter|return type|public|private|abstract|inherit|class",
    Category.MAINTAINABILITY: (
        r"renam|naming|name|readab|refactor|duplicat|simplif|style|unused|constant|helper|logg|lint|format"
    ),
}
_PATTERNS = {category: re.compile(rf"\b(?:{words})", re.IGNORECASE) for category, words in _WORDS.items()}

#: What c-CRAB's own label of a comment (comment_type, itself made by keywords) stands for where no word decides.
_TYPES: Mapping[str, Category] = {
    "documentation": Category.DOCUMENTATION,
    "style": Category.MAINTAINABILITY,
    "structural": Category.DESIGN,
}
_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)


def category_of(text: str, comment_type: str | None = None) -> Category:
    """Guess the concern of a comment by words of its prose, then by the release's own type; else it is functional.

    The papers' labels were given by hand and are not in the release; this is a guess, good for grouping and no more.
    """
    prose = _FENCED.sub("", text)
    for category, pattern in _PATTERNS.items():
        if pattern.search(prose):
            return category
    return _TYPES.get(comment_type or "", Category.FUNCTIONAL)
