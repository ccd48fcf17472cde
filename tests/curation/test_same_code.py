"""What two texts of a Python file may differ in while they do the same."""

from __future__ import annotations

import pytest

from pytest_crab.curation.same_code import same_code

SOURCE = """\
from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from shop.carts import Cart

__all__ = ["Parcel", "load"]


@dataclass
class Parcel:
    weight: int
    limit: ClassVar[int] = 30


class Form:
    weight: int


def load(text: str) -> Any:
    found: dict[str, Any] = json.loads(text)
    return found


if __name__ == "__main__":
    print(load("{}"))
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("text: str", "text: bytes"),
        ("found: dict[str, Any]", "found: object"),
        ("weight: int\n    limit", "weight: float\n    limit"),
        ("from shop.carts import Cart", "import shop"),
        ("TYPE_CHECKING, Any, ClassVar", "TYPE_CHECKING, Any, ClassVar, Iterable"),
        ('__all__ = ["Parcel", "load"]\n', ""),
        ('print(load("{}"))', "pass"),
    ],
)
def test_types_and_what_only_tools_read_are_no_code(old: str, new: str) -> None:
    assert SOURCE.count(old) == 1
    assert same_code("shop.py", SOURCE.encode(), SOURCE.replace(old, new).encode())


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("shop.py", "import json", "import simplejson as json"),
        ("shop.py", "ClassVar[int]", "int"),  # a mark that makes it no field
        ("shop.py", "class Form:\n    weight: int", "class Form:\n    weight: str"),  # some classes read these
        ("shop.py", "json.loads(text)", "text"),
        ("__init__.py", "import json", "import json, shop"),  # others import it from there
        ("shop.js", "text: str", "text: bytes"),
    ],
)
def test_what_a_run_may_show_is_code(path: str, old: str, new: str) -> None:
    assert SOURCE.count(old) == 1
    assert not same_code(path, SOURCE.encode(), SOURCE.replace(old, new).encode())


def test_what_cannot_be_read_is_like_nothing() -> None:
    assert not same_code("shop.py", b"def f(:\n", b"def g(:\n")
