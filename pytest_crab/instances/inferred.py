"""Labels that a release does not hold, by static rules; what they give is marked as inferred wherever it is shown."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping

from pytest_crab.types import Category, Kind

#: Not the tested project's: the standard library, whatever version runs this, and what tests are written with.
_FOREIGN = frozenset(sys.stdlib_module_names) | {"asynchat", "asyncore", "distutils", "imp", "mock", "pytest", "smtpd"}

#: Names that read source, or ask what an interface looks like, instead of using it.
_READS = frozenset({"open", "read_text", "read_bytes", "readlines", "getsource", "getsourcelines", "getsourcefile"})
_LOOKS = frozenset(
    {"hasattr", "signature", "getfullargspec", "getdoc", "get_type_hints", "__doc__", "__annotations__", "__code__"}
)
_STRUCTURAL = _READS | _LOOKS
_JS_STRUCTURAL = re.compile(r"readFileSync|readFile\(|createReadStream")


def kind_of(source: str, runner: str = "pytest") -> Kind:
    """Tell a behavioral oracle from a structural one by its text alone.

    Behavioral: it imports something that is neither the standard library nor a test library, and neither reads a file,
    nor asks for source, nor looks at an interface (hasattr, signature, __doc__, annotations). Structural: all else.
    This is arXiv 2603.23448's definition (section 4.4.2) made mechanical; its labels are not in the release.
    """
    if runner != "pytest":
        return Kind.STRUCTURAL if _JS_STRUCTURAL.search(source) else Kind.BEHAVIORAL
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return Kind.STRUCTURAL
    imports = any(name not in _FOREIGN for name in _imported_names(tree))
    looks = any(name in _STRUCTURAL for name in _used_names(tree))
    return Kind.BEHAVIORAL if imports and not looks else Kind.STRUCTURAL


def _imported_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def _used_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


#: The first row with a word that the comment's text has decides; the words are the starts of words.
_WORDS: Mapping[Category, str] = {
    Category.SECURITY: r"secur|vulnerab|injection|credential|sanitiz|csrf|xss|unsafe|untrusted",
    Category.EFFICIENCY: r"performan|efficien|expensive|overhead|slow|faster|quadratic|memory usage|o\(n",
    Category.COMPATIBILITY: r"compatib|backward|backport|deprecat|python ?[23]\b|py[23]\d?\b|older version|windows",
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
