"""Without a name in the whitelist every cow is available, whatever form "no name" has."""

import pytest

from ansible import constants as C
from ansible.utils.display import Display

COWS = {"default", "moose", "tux"}


@pytest.fixture
def display(monkeypatch, tmp_path):
    """Makes a Display with a cowsay of our own and the given whitelist."""
    cowsay = tmp_path / "cowsay"
    cowsay.write_text("#!/bin/sh\necho default moose tux\n")
    cowsay.chmod(0o755)
    monkeypatch.setattr(C, "ANSIBLE_NOCOWS", False)
    monkeypatch.setattr(C, "ANSIBLE_COW_PATH", str(cowsay))

    def make(whitelist):
        monkeypatch.setattr(C, "ANSIBLE_COW_WHITELIST", whitelist)

        class Fresh(Display):
            """Display is a singleton, its subclass is another one."""

        return Fresh()

    return make


@pytest.mark.parametrize("whitelist", [None, [], [""], ["", ""], [None]], ids=repr)
def test_without_a_name_every_cow_is_available(display, whitelist):
    made = display(whitelist)
    assert made.b_cowsay
    assert set(made.cows_available) == COWS


@pytest.mark.parametrize("whitelist", [["tux", "moose"], ["", "tux", "moose", "none of ours"]], ids=repr)
def test_names_still_choose(display, whitelist):
    made = display(whitelist)
    assert made.b_cowsay
    assert set(made.cows_available) == {"tux", "moose"}


@pytest.mark.parametrize("whitelist", [None, [], ["tux"]], ids=repr)
def test_a_cowsay_that_cannot_be_run_is_still_no_cow(display, monkeypatch, tmp_path, whitelist):
    (tmp_path / "cowsay").chmod(0o644)
    assert not display(whitelist).b_cowsay
