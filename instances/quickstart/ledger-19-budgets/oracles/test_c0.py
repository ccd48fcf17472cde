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


def test_all_three_forms_are_listed():
    text = docstring()
    assert re.search(r"(?<![\w-])(\d{4}|Y{4}|year)(?![\w-])", text, re.IGNORECASE), "the year"
    assert re.search(r"\b(\d{4}-\d\d|Y{4}-M{2})\b", text, re.IGNORECASE), "the month"
    assert re.search(r"\b(\d{4}|Y{4})-Q([1-4]|n|x|q|<|\{|\[)", text), "the quarter"


def test_what_it_shows_can_be_written():
    for text in re.findall(r"(?<![\w-])\d{4}(?:-Q\d|-\d\d?)?(?![\w-])", docstring()):
        try:
            parse_period(text)
        except (LedgerError, ValueError):
            pytest.fail(f"{text} is shown and is no period")


def test_it_says_where_the_end_is():
    said = (
        r"exclusive|exclud|half[- ]open|no longer|any ?more|outside|beyond|past the|day after|after the last|following|next"
        r"|not\W+(itself )?(be |being )?(in|included|inside|within|part|covered|counted|belong)"
    )
    about = [text for text in re.split(r"(?<=[.;!?])\s+", docstring()) if re.search(r"\b(end|ends|until|last|stop|half|first day|day after|exclusive)", text, re.IGNORECASE)]
    assert [text for text in about if re.search(said, text, re.IGNORECASE)]
    wrong = r"\b(end|last day)\b[^.;]*\b(is|are|is also|being|included) (part of|in|inside|within|inclusive|included|belongs|covered)\b|\bboth (ends|start and end|included|inclusive)\b"
    assert [text for text in about if re.search(wrong, text, re.IGNORECASE) and not re.search(r"\bnot\b|n't|no longer|exclu", text)] == []
