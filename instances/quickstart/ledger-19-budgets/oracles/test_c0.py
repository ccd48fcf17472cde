import ast
import pathlib
import re

import pytest

from ledger import LedgerError
from ledger.period import parse_period


def docstring():
    tree = ast.parse(pathlib.Path("src/ledger/period.py").read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "parse_period"]
    assert found, "parse_period is gone"
    return " ".join((ast.get_docstring(found[0]) or "").split())


YEAR = r"(?<![\w-])(?P<example>\d{4})|Y{4}|<?\{?year\}?>?"
FORMS = {
    "the year": rf"(?:{YEAR})(?!-?\w)",
    "the month": rf"(?P<whole>(?:{YEAR})-(?:(?P<part>\d\d)|M{{2}}|<?\{{?month\}}?>?))(?![\w-])",
    "the quarter": rf"(?P<whole>(?:{YEAR})-Q(?:(?P<part>[1-4])|n|x|q|#|N|<|\{{|\[))",
}


def can_be_written(form):
    """Whether *form* is a placeholder, or an example that is a period."""
    found = form.groupdict()
    if found["example"] is None or ("part" in found and found["part"] is None):
        return True
    try:
        parse_period(found.get("whole") or found["example"])
    except (LedgerError, ValueError):
        return False
    return True


@pytest.mark.parametrize("form", FORMS)
def test_all_three_forms_are_listed(form):
    assert any(map(can_be_written, re.finditer(FORMS[form], docstring(), re.IGNORECASE)))


def test_it_says_where_the_end_is():
    said = (
        r"exclusive|exclud|half[- ]open|\[start, ?end\)|\bbefore\b|no longer|any ?more|outside|beyond|past the|day after|after the last|following|next"
        r"|not\W+(itself )?(be |being )?(in|included|inside|within|part|covered|counted|belong)"
    )
    about = [text for text in re.split(r"(?<=[.;!?])\s+", docstring()) if re.search(r"\b(end|ends|until|last|stop|half|first day|day after|exclusive)", text, re.IGNORECASE)]
    assert [text for text in about if re.search(said, text, re.IGNORECASE)]
    wrong = r"\b(end|last day)\b[^.;]*\b(is|are|is also|being|included) (part of|in|inside|within|inclusive|included|belongs|covered)\b|\bboth (ends|start and end|included|inclusive)\b"
    assert [text for text in about if re.search(wrong, text, re.IGNORECASE) and not re.search(r"\bnot\b|n't|no longer|exclu", text)] == []
