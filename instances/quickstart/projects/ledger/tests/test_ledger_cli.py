import pytest

from ledger.cli import main

JOURNAL = """\
2024-03-01 Roastery
    Expenses:Food         12.50 EUR
    Assets:Checking      -12.50 EUR
2024-03-09 Market
    Expenses:Food         7.50 EUR
    Assets:Checking      -7.50 EUR
"""


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "journal.txt"
    path.write_text(JOURNAL, encoding="utf-8")
    return str(path)


def test_balance(journal, capsys):
    assert main(["balance", journal]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["-20.00", "EUR", "Assets:Checking"],
        ["20.00", "EUR", "Expenses:Food"],
    ]


def test_register(journal, capsys):
    assert main(["register", "Expenses", journal]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["2024-03-01", "Roastery", "12.50", "12.50", "EUR"],
        ["2024-03-09", "Market", "7.50", "20.00", "EUR"],
    ]


def test_register_of_a_period(journal, capsys):
    assert main(["register", "Expenses", journal, "--since", "2024-03-02", "--until", "2024-03-10"]) == 0
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["Market"]


def test_no_such_file(tmp_path, capsys):
    assert main(["balance", str(tmp_path / "none.txt")]) == 2
    assert capsys.readouterr().err.startswith("error: ")
