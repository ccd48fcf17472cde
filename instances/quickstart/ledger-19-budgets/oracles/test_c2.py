import ast
import io
import pathlib

import pytest

from ledger.cli import main

JOURNAL = "2024-03-09 Café\n    Expenses:Food      7.50 EUR\n    Assets:Checking   -7.50 EUR\n"


def callers(name):
    """Every function of the package that calls *name*, as file:function."""
    found = []
    for path in sorted(pathlib.Path("src/ledger").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                calls = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
                if any(name in (getattr(call, "id", None), getattr(call, "attr", None)) for call in calls):
                    found.append(f"{path.name}:{node.name}")
    return found


def test_one_function_reads_journals():
    assert len(callers("parse_journal")) == 1


def test_one_function_opens_files():
    assert len(set(callers("open")) | set(callers("read_text"))) == 1


@pytest.mark.parametrize("place", ["file", "-"])
def test_a_budget_is_still_read_from_both_places(tmp_path, capsys, monkeypatch, place):
    monkeypatch.setattr("sys.stdin", io.StringIO(JOURNAL))
    (tmp_path / "file").write_text(JOURNAL, encoding="utf-8")
    file = place if place == "-" else str(tmp_path / place)
    assert main(["budget", "--period", "2024-03", "--limit", "Expenses=10", file]) == 0
    assert capsys.readouterr().out.split() == ["7.50", "of", "10", "Expenses"]
