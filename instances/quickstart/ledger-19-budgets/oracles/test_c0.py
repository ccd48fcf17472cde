import ast
import pathlib
import re


def docstring():
    tree = ast.parse(pathlib.Path("src/ledger/period.py").read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "parse_period"]
    assert found, "parse_period is gone"
    return " ".join((ast.get_docstring(found[0]) or "").split())


def test_all_three_forms_are_listed():
    text = docstring()
    assert re.search(r"(?<![\w-])(\d{4}|Y{4}|year)(?![\w-])", text, re.IGNORECASE), "the year"
    assert re.search(r"\b(\d{4}-\d\d|Y{4}-M{2})\b", text, re.IGNORECASE), "the month"
    assert re.search(r"\b(\d{4}|Y{4})-Q([1-4]|n|x|q)?", text, re.IGNORECASE), "the quarter"


def test_it_says_where_the_end_is():
    said = (
        r"exclusive|exclud|half[- ]open|no longer|any ?more|outside|beyond|past the|day after|after the last|following|next"
        r"|not\W+(itself )?(be |being )?(in|included|inside|within|part|covered|counted|belong)"
    )
    assert re.search(said, docstring(), re.IGNORECASE)
