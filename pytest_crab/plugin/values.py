"""What the text of an option stands for; each raises ValueError or KeyError where it stands for nothing."""

from __future__ import annotations

import re
from datetime import date

from pytest_crab.gate.comparable import CONDITIONS

FRESH_STEPS = ("review", "revision")


def count(text: str) -> int:
    """A whole number from 1."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def count_or_none(text: str) -> int:
    """A whole number, where 0 turns something off."""
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def dollars(text: str) -> float:
    """A sum above nothing."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError
    return number


def rate(text: str) -> float:
    """A share from 0 to 1."""
    number = float(text)
    if not 0 <= number <= 1:
        raise ValueError
    return number


def size(text: str) -> int:
    """Bytes, of a size with its unit."""
    from pytest_crab.campaign.sizes import read_size

    return read_size(text)


def points(text: str) -> float:
    """Percentage points from 0 to 100."""
    number = float(text)
    if not 0 <= number <= 100:
        raise ValueError
    return number


def margin(text: str) -> tuple[str, float]:
    """Points, or points for a label as in security=10; the name is empty for the whole."""
    name, _, number = text.rpartition("=")
    return name.strip(), points(number)


def unit(text: str) -> str:
    """What intervals take as clusters, as statistics name it."""
    return {"repository": "repository", "pull-request": "pull request"}[text]


def shard(text: str) -> tuple[int, int]:
    """Which part of how many, as in 2/4."""
    at, of = (int(part) for part in text.split("/"))
    if not 1 <= at <= of:
        raise ValueError
    return at, of


def address(text: str) -> str:
    """Where a scheduler listens."""
    if not re.fullmatch(r"(tcp|tls|ws|wss)://[^/\s]+:[0-9]{1,5}", text):
        raise ValueError
    return text


def condition(text: str) -> str:
    """One of what two runs may differ in."""
    if text not in CONDITIONS:
        raise ValueError
    return text


def switch(text: str) -> bool:
    """Yes or no."""
    return {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
        "": False,
    }[text.lower()]


def since(text: str) -> date:
    """A day."""
    from pytest_crab.instances.dates import day

    return day(text)


def step(text: str) -> str:
    """A step that may be forgotten."""
    if text not in FRESH_STEPS:
        raise ValueError
    return text
