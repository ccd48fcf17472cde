import datetime
from decimal import Decimal

import pytest

from ledger import LedgerError
from ledger.cli import main
from ledger.rates import parse_rates

RATES = "2024-03-10 USD 0.90 EUR\n2024-03-20 USD 0.95 EUR\n2024-03-10 DKK 0.63 ISK\n"


@pytest.fixture
def balance(tmp_path, capsys):
    def balance(commodity, day, more="", rates=RATES):
        (tmp_path / "rates").write_text(rates, encoding="utf-8")
        journal = f"2024-03-02 Kiosk\n    Expenses:Food     100.00 {commodity}\n    Assets:Cash      -100.00 {commodity}\n"
        (tmp_path / "journal").write_text(journal + more, encoding="utf-8")
        argv = ["balance", "--in", "EUR", "--rates", str(tmp_path / "rates"), "--day", day, str(tmp_path / "journal")]
        try:
            return main(argv), *capsys.readouterr()
        except Exception as error:
            pytest.fail(f"a traceback: {error!r}")

    return balance


@pytest.mark.parametrize(("commodity", "day"), [("SEK", "2024-03-31"), ("USD", "2024-03-09"), ("DKK", "2024-03-31"), ("ISK", "2024-03-31")])
@pytest.mark.parametrize("more", ["", "2024-03-02 Kiosk\n    Expenses:Books   5.00 EUR\n    Assets:Cash    -5.00 EUR\n"])
def test_what_is_not_known_is_an_error(balance, commodity, day, more):
    status, out, err = balance(commodity, day, more)
    assert (status, out, err[:7], len(err.splitlines())) == (2, "", "error: ", 1)
    assert commodity in err


@pytest.mark.parametrize(
    ("commodity", "day", "worth"),
    [("USD", "2024-03-10", "90.00"), ("USD", "2024-03-19", "90.00"), ("USD", "2024-04-01", "95.00"), ("EUR", "2024-03-01", "100.00")],
)
def test_what_is_known_is_shown(balance, commodity, day, worth):
    status, out, _ = balance(commodity, day)
    assert status == 0
    assert sorted(Decimal(line.split()[0]) for line in out.splitlines()) == [-Decimal(worth), Decimal(worth)]


def test_a_rate_of_zero_is_known_too(balance):
    rates = "2024-03-10 XXX 0 EUR\n"
    try:
        parse_rates(rates.splitlines())
    except LedgerError:
        return  # a line that makes no sense may be refused
    status, out, _ = balance("XXX", "2024-03-31", rates=rates)
    assert status == 0
    assert {Decimal(line.split()[0]) for line in out.splitlines()} <= {Decimal(0)}


def test_without_a_wish_nothing_is_converted(tmp_path, capsys):
    (tmp_path / "journal").write_text("2024-03-02 Kiosk\n    Expenses:Food     1.00 SEK\n    Assets:Cash      -1.00 SEK\n", encoding="utf-8")
    assert main(["balance", str(tmp_path / "journal")]) == 0
    assert capsys.readouterr().out.split()[:2] == ["-1.00", "SEK"]


def test_so_does_the_library():
    for lines in ([], RATES.splitlines()):
        for amount in (Decimal(1), Decimal(-1)):
            with pytest.raises(LedgerError, match="SEK"):
                parse_rates(lines).convert(amount, "SEK", "EUR", datetime.date(2024, 3, 31))
