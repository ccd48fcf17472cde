import ast
import io
import pathlib

import pytest

from ledger.cli import main

JOURNAL = "2024-03-09 Café\n    Expenses:Food      7.50 EUR\n    Assets:Checking   -7.50 EUR\n"


def stdin(text):
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")


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
    assert len(set().union(*map(callers, ["open", "read_text", "read_bytes", "fdopen", "FileIO"]))) == 1


def test_neither_goes_by_another_name():
    for path in sorted(pathlib.Path("src/ledger").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                assert [alias.asname for alias in node.names if alias.asname and alias.name in {"parse_journal", "open"}] == []
            elif isinstance(node, ast.Assign):
                assert not (isinstance(node.value, ast.Name) and node.value.id in {"parse_journal", "open"})


@pytest.mark.parametrize("command", [["balance"], ["register", "Expenses"], ["budget", "--period", "2024-03", "--limit", "Expenses:Caf\u00e9=10"]])
@pytest.mark.parametrize("place", ["file", "-"])
def test_journals_are_utf_8_in_every_locale(tmp_path, capsys, monkeypatch, command, place):
    true = io.open

    def in_another_locale(file, mode="r", buffering=-1, encoding=None, *rest, **options):
        return true(file, mode, buffering, encoding or (None if "b" in mode else "ascii"), *rest, **options)

    text = JOURNAL.replace("Food ", "Caf\u00e9 ")
    monkeypatch.setattr("sys.stdin", stdin(text))
    (tmp_path / "file").write_text(text, encoding="utf-8")
    monkeypatch.setattr("builtins.open", in_another_locale)
    monkeypatch.setattr("io.open", in_another_locale)
    assert main([*command, place if place == "-" else str(tmp_path / place)]) == 0
    told = capsys.readouterr().out
    assert "7.50" in told and ("Caf\u00e9" in told)


@pytest.mark.parametrize("command", [["balance"], ["register", "Expenses"], ["budget", "--period", "2024-03", "--limit", "Expenses=10"]])
def test_a_journal_that_is_not_there_is_an_error(tmp_path, capsys, command):
    assert main([*command, str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.startswith("error: ")


@pytest.mark.parametrize("place", ["file", "-"])
def test_a_budget_is_still_read_from_both_places(tmp_path, capsys, monkeypatch, place):
    monkeypatch.setattr("sys.stdin", stdin(JOURNAL))
    (tmp_path / "file").write_text(JOURNAL, encoding="utf-8")
    file = place if place == "-" else str(tmp_path / place)
    assert main(["budget", "--period", "2024-03", "--limit", "Expenses=10", file]) == 0
    told = capsys.readouterr().out
    assert "7.50" in told and "Expenses" in told
