import datetime
from decimal import Decimal

import pytest

from ledger import LedgerError
from ledger.cli import main
from ledger.rates import parse_rates

RATES = "2024-03-10 USD 0.90 EUR\n2024-03-20 USD 0.95 EUR\n"


@pytest.fixture
def balance(tmp_path, capsys):
    def balance(commodity, day):
        (tmp_path / "rates").write_text(RATES, encoding="utf-8")
        journal = f"2024-03-02 Kiosk\n    Expenses:Food     100.00 {commodity}\n    Assets:Cash      -100.00 {commodity}\n"
        (tmp_path / "journal").write_text(journal, encoding="utf-8")
        argv = ["balance", "--in", "EUR", "--rates", str(tmp_path / "rates"), "--day", day, str(tmp_path / "journal")]
        try:
            return main(argv), *capsys.readouterr()
        except Exception as error:
            pytest.fail(f"a traceback: {error!r}")

    return balance


@pytest.mark.parametrize(("commodity", "day"), [("SEK", "2024-03-31"), ("USD", "2024-03-09")])
def test_what_is_not_known_is_an_error(balance, commodity, day):
    status, out, err = balance(commodity, day)
    assert (status, out, err[:7], len(err.splitlines())) == (2, "", "error: ", 1)
    assert commodity in err


@pytest.mark.parametrize(
    ("commodity", "day", "worth"),
    [("USD", "2024-03-10", "90.00"), ("USD", "2024-03-19", "90.00"), ("USD", "2024-04-01", "95.00"), ("EUR", "2024-03-01", "100.00")],
)
def test_what_is_known_is_shown(balance, commodity, day, worth):
    status, out, _ = balance(commodity, day)
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == [f"-{worth}", worth]


def test_so_does_the_library():
    with pytest.raises(LedgerError):
        parse_rates([]).convert(Decimal(1), "SEK", "EUR", datetime.date(2024, 3, 1))
