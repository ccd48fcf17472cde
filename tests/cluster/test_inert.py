"""Pickles of a cluster are read without making an object of them; plain values and errors in words come out."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.campaign.cluster import inert


class Runs:
    """An object whose pickle runs a command where it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("wrap", [lambda it: it, lambda it: [it], lambda it: {"a": (1, it)}, KeyError])
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_no_pickle_runs(tmp_path: Path, wrap: Any, protocol: int) -> None:
    content = pickle.dumps(wrap(Runs(tmp_path / "ran")), protocol=protocol)
    inert.loads(content)
    assert not (tmp_path / "ran").exists()
    pickle.loads(content)
    assert (tmp_path / "ran").exists(), "the pickle is none that runs"


@pytest.mark.parametrize("value", [None, "text", 3, 2.5, b"bytes", [1, {"a": ("b",)}], {"x": {1, 2}}])
def test_plain_values_are_read(value: Any) -> None:
    assert inert.loads(pickle.dumps(value)) == value


def test_errors_come_in_words() -> None:
    class Own(Exception):
        pass

    Own.__qualname__ = "Own"
    globals()["Own"] = Own
    known = inert.loads(pickle.dumps(FileNotFoundError(2, "gone")))
    assert isinstance(known, OSError)
    assert "gone" in str(known)
    own = inert.loads(pickle.dumps(Own("said\nso")))
    assert isinstance(own, inert.RemoteError)
    assert (own.name, str(own)) == ("Own", "Own: said so")


@pytest.mark.parametrize("content", [b"", b"\x80\x05", b"garbage", b"\x80\x04Pabc\n.", pickle.dumps([1])[:-3]])
def test_what_is_no_pickle_is_an_error_that_is_returned(content: bytes) -> None:
    assert isinstance(inert.loads(content), inert.RemoteError)
