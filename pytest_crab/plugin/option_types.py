"""Types of options: how a value is read from text, and its description for help and errors.

A reader raises ValueError or KeyError for a text that it cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Container
from datetime import date
from typing import Any
from typing import NamedTuple

from pytest_crab.gate.comparable import CONDITIONS

FRESH_STEPS = ("review", "revision")

_SWITCH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


class OptionType(NamedTuple):
    """A type of values: its reader, what a value should be, and its name in help."""

    read: Callable[[str], Any]
    meaning: str
    metavar: str | None = None


def _whole_number(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text)
        if number < least:
            raise ValueError
        return number

    return read


def _number(least: float, most: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        number = float(text)
        if not least <= number <= most:
            raise ValueError
        return number

    return read


def _one_of(words: Container[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError
        return text

    return read


def _dollars(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError
    return number


def _bytes(text: str) -> int:
    from pytest_crab.formats import parse_size

    return parse_size(text)


def _margin(text: str) -> tuple[str, float]:
    """Read points, or points for a label as in security=10; the name is empty for the whole."""
    name, _, number = text.rpartition("=")
    return name.strip(), _number(0, 100)(number)


def _shard(text: str) -> tuple[int, int]:
    index, count = (int(part) for part in text.split("/"))
    if not 1 <= index <= count:
        raise ValueError
    return index, count


def address(text: str) -> str:
    """Read the address of a scheduler."""
    if not re.fullmatch(r"(tcp|tls|ws|wss)://[^/\s]+:[0-9]{1,5}", text):
        raise ValueError
    return text


def _switch(text: str) -> bool:
    return bool(text) and _SWITCH[text.lower()]


def _day(text: str) -> date:
    from pytest_crab.instances.dates import day

    return day(text)


NAME = OptionType(str, "a name", "NAME")
FOLDER = OptionType(str, "a folder", "DIR")
FILE = OptionType(str, "a file", "FILE")
IMAGE = OptionType(str, "an image name")
RUNTIME = OptionType(str, "auto, docker or local", "auto|docker|local")
REPORT = OptionType(str, "a report's folder or its trials.jsonl", "FILE")
BASELINE = OptionType(str, "a summary.json, or the folder of a report or a store", "FILE")
COUNT = OptionType(_whole_number(1), "a whole number from 1", "N")
COUNT_OR_NONE = OptionType(_whole_number(0), "a whole number from 0", "N")
DOLLARS = OptionType(_dollars, "a number of dollars above 0", "USD")
RATE = OptionType(_number(0, 1), "a number from 0 to 1", "RATE")
SHARE = OptionType(_number(0, 1), "a number from 0 to 1", "SHARE")
SIZE = OptionType(_bytes, "a size such as 20G or 800M", "SIZE")
MARGIN = OptionType(_margin, "a number of points from 0 to 100, or LABEL=POINTS", "[LABEL=]POINTS")
UNIT = OptionType(
    {"repository": "repository", "pull-request": "pull request"}.__getitem__,
    "repository or pull-request",
    "repository|pull-request",
)
MISSES = OptionType(_one_of(("failure", "skipped", "none")), "failure, skipped or none", "failure|skipped|none")
CONDITION = OptionType(_one_of(CONDITIONS), "dataset, agent, agent-version, harness, runtime or leaky", "WHAT")
SHARD = OptionType(_shard, "i/n, as in 2/4", "I/N")
ADDRESS = OptionType(address, "an address such as tcp://10.0.0.5:8786", "ADDRESS")
DAY = OptionType(_day, "a day such as 2024-05-01", "DAY")
STEP = OptionType(_one_of(FRESH_STEPS), "review or revision", "STEP")
SWITCH = OptionType(_switch, "true or false")
