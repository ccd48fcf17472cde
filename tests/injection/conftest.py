"""A repository with fixes of several kinds, on one main line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pytest_crab.curation.stages import CurationContext
from pytest_crab.scoring.steps import StepCache
from pytest_crab.store import FileStore
from tests.curation.conftest import proving, reviewed

__all__ = ["proving", "reviewed"]

SHOP = '''\
"""A shop."""


def mean(cart):
    return sum(cart) / len(cart)
'''
DISCOUNT = '''

def discount(price, share):
    """Take a share (0 to 100) off a price."""
    return price - share
'''
TESTS = """\
import shop


def test_mean():
    assert shop.mean([1, 2]) == 1.5
"""
CONFTEST = """\
import pytest


@pytest.fixture
def cart():
    return []
"""
SEND = '''

def send(cart, address=None):
    """Send what is in a cart."""
    if not cart:
        raise ValueError("there is nothing to send")

    parcels = []
    for item in cart:
        if item.weight <= 30:
            parcels.append((item, address))
    return parcels
'''
SENT = """

def test_send():
    light, item = (type("Item", (), {"weight": weight})() for weight in (1, 30))
    heavy = type("Item", (), {"weight": 31})()
    assert shop.send([light, item, heavy], "here") == [(light, "here"), (item, "here")]
    with pytest.raises(ValueError):
        shop.send([])
"""
WRAP = '''

def wrap(parcels):
    """Wrap parcels."""
    return [parcel for parcel in parcels if parcel is not None and parcel[0]]


def unwrap(parcel):
    """Take the paper off."""
    return parcel[0]
'''


@pytest.fixture(scope="session")
def shop_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the repository.

    Its fixes: of a line that an earlier change wrote (#2), of a guard that was missing (#4), with a place that no test
    sees, one whose test asks for what it adds (#6), one that no test sees (#7), and one after which nothing changed
    (#8).
    """
    folder = tmp_path_factory.mktemp("history") / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "symbolic-ref", "HEAD", "refs/heads/main")
    shop, tests, notes = SHOP, TESTS, "# Changes\n"
    commit(folder, "Start", shop, tests, notes, conftest=CONFTEST)
    shop += DISCOUNT
    notes += "\n- Prices have discounts.\n"
    commit(folder, "Discount prices (#1)\n\nA share is taken off.", shop, tests, notes)
    shop = shop.replace("price - share", "price - price * share / 100")
    tests += "\n\ndef test_discount():\n    assert shop.discount(200, 10) == 180\n"
    commit(folder, "Fix discounts, which took the share as a price (#2)", shop, tests, notes, data="tests/shares.txt")
    shop += "\n\ndef label(price):\n    return str(price)\n\n\ndef old_label(price):\n    return str(price)\n"
    commit(folder, "Label prices (#3)", shop, tests, notes)
    shop = shop.replace(
        "    return sum(cart)", "    # Carts may be empty.\n    if not cart:\n        return 0\n    return sum(cart)"
    )
    shop = shop.replace("    return price - price", "    if not share:\n        return price\n    return price - price")
    tests += "\n\ndef test_mean_of_nothing(cart):\n    assert shop.mean(cart) == 0\n"
    notes += "- The mean of an empty cart is zero and no crash.\n"
    commit(folder, "Fix the crash of empty carts (#4)", shop, tests, notes, data="tests/carts.txt")
    shop = shop.replace('"""A shop."""', '"""A shop for all."""\n\nCURRENCY = "EUR"').replace(
        "str(price)", "f'{price} EUR'"
    )
    commit(folder, "Name the currency (#5)", shop, tests, notes)
    shop = shop.replace("def label(price):", "def label(price, sign=''):").replace("EUR'", "EUR'", 1)
    tests += "\n\ndef test_sign():\n    assert shop.label(1, sign='') == '1 EUR'\n"
    commit(folder, "Fix labels that had no sign (#6)", shop, tests, notes)
    shop = shop.replace("f'{price} EUR'", "'%s EUR' % (price,)", 1)
    tests += "\n\ndef test_label():\n    assert shop.label(2) == '2 EUR'\n"
    commit(folder, "Fix labels of pairs (#7)", shop, tests, notes)
    shop = shop.replace("f'{price} EUR'", "'%s EUR' % (price,)") + "\n\nSIGNS = ('EUR',)\nPLACES = 2\nNAME = 'shop'\n"
    commit(folder, "Tidy labels (#9)", shop, tests, notes)
    shop = shop.replace("PLACES = 2", "PLACES = 3")
    tests += "\n\ndef test_places():\n    assert shop.PLACES == 3\n"
    commit(folder, "Fix the number of places (#8)", shop, tests, notes)
    return folder


@pytest.fixture(scope="session")
def send_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three changes with tests: one whose lines stand, one that a later one rewrote, and that one."""
    folder = tmp_path_factory.mktemp("seeded") / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "symbolic-ref", "HEAD", "refs/heads/main")
    commit(folder, "Start", SHOP, TESTS, "# Changes\n")
    sent = f"import pytest\n{TESTS}{SENT}"
    commit(folder, "Send carts (#1)\n\nParcels are made.", SHOP + SEND, sent, "# Changes\n")
    wrapped = sent + "\n\ndef test_wrap():\n    assert shop.wrap([None]) == []\n"
    commit(folder, "Wrap parcels (#2)", SHOP + SEND + WRAP, wrapped, "# Changes\n")
    tape = WRAP.replace("if parcel is not None and parcel[0]", "if parcel").replace("[0]", "[1]")
    commit(folder, "Wrap with tape (#3)", SHOP + SEND + tape, wrapped + "\n\nTAPE = 1\n", "# Changes\n")
    return folder


def commit(
    folder: Path, message: str, shop: str, tests: str, notes: str, conftest: str = CONFTEST, data: str | None = None
) -> None:
    files = {"shop.py": shop, "tests/test_shop.py": tests, "tests/conftest.py": conftest, "CHANGES.md": notes}
    files |= {} if data is None else {data: "1 2\n"}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", message)


def git(folder: Path, *arguments: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {f"GIT_{who}_DATE": "2025-06-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}
    argv = ["git", "-c", "user.name=dev", "-c", "user.email=dev@example.org", *arguments]
    subprocess.run(argv, cwd=folder, env=env, check=True, capture_output=True)


def curation(folder: Path) -> CurationContext:
    """Return a context in which no judge is asked and nothing is proved, with a store in a folder."""

    def never(*_: object) -> object:
        raise AssertionError

    store = FileStore(folder / ".crab")
    return CurationContext(cache=StepCache(store=store), folder=store.cache, judge=never, proving=never)  # type: ignore[arg-type]
