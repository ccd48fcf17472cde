"""Types of options: how a value is read from text, and its description for help and errors.

A reader raises ValueError or KeyError for a text that it cannot read. It imports what it needs when it reads: pytest
imports this module in every run, and a run without a reviewer reads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from datetime import date
from typing import Any, NamedTuple

FRESH_STEPS = ("answers", "review", "revision", "judgement")

_SWITCH = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


class OptionType(NamedTuple):
    """A type of values."""

    #: Reads a value from a text.
    read: Callable[[str], Any]
    #: What a value should be.
    meaning: str
    #: The name of a value in help.
    metavar: str | None = None


def _with_check(read: Callable[[str], Any], accept: Callable[[Any], object]) -> Callable[[str], Any]:
    """Return a reader of values that ``accept`` holds for."""

    def checked(text: str) -> Any:
        value = read(text)
        if not accept(value):
            raise ValueError
        return value

    return checked


def _number(least: float, most: float = float("inf"), read: Callable[[str], float] = float) -> Callable[[str], Any]:
    return _with_check(read, lambda number: least <= number <= most)


def _one_of(words: Container[str]) -> Callable[[str], str]:
    return _with_check(str, words.__contains__)


def _points(text: str) -> float:
    from pytest_crab.formats import parse_points

    return parse_points(text)


def _margin(text: str) -> tuple[str, float]:
    """Read points, or points for a label as in security=10; the name is empty for the whole."""
    name, _, number = text.rpartition("=")
    return name.strip(), _points(number.strip())


def _shard(text: str) -> tuple[int, int]:
    index, count = (int(part) for part in text.split("/"))
    if not 1 <= index <= count:
        raise ValueError
    return index, count


#: Reads the address of a scheduler.
address = _with_check(str, lambda text: re.fullmatch(r"(tcp|tls|ws|wss)://[^/\s]+:[0-9]{1,5}", text))


def _switch(text: str) -> bool:
    return bool(text) and _SWITCH[text.lower()]


def _share(text: str) -> float:
    from pytest_crab.formats import parse_share

    return parse_share(text)


def _size(text: str) -> int:
    from pytest_crab.formats import parse_size

    return parse_size(text)


def _condition(text: str) -> str:
    from pytest_crab.gate.conditions import CONDITIONS

    return _one_of(CONDITIONS)(text)


def _day(text: str) -> date:
    from pytest_crab.instances.dates import day

    return day(text)


def one_of(words: Sequence[str]) -> OptionType:
    """Return the type of an option that takes one of these words."""
    return OptionType(_one_of(words), f"one of {', '.join(words)}", "NAME")


NAME = OptionType(str, "a name", "NAME")
FOLDER = OptionType(str, "a folder", "DIR")
FILE = OptionType(str, "a file", "FILE")
IMAGE = OptionType(str, "an image name")
RUNTIME = OptionType(str, "auto, docker or local", "auto|docker|local")
REPORT = OptionType(str, "a report's folder or its trials.jsonl", "FILE")
BASELINE = OptionType(str, "a summary.json, or the folder of a report or a store", "FILE")
COUNT = OptionType(_number(1, read=int), "a whole number from 1", "N")
COUNT_OR_NONE = OptionType(_number(0, read=int), "a whole number from 0", "N")
DOLLARS = OptionType(_with_check(float, lambda number: 0 < number < float("inf")), "a number of dollars above 0", "USD")
RATE = OptionType(_share, "a share such as 30% or 0.3", "RATE")
SHARE = OptionType(_share, "a share such as 5% or 0.05", "SHARE")
SIZE = OptionType(_size, "a size such as 20G or 800M", "SIZE")
POINTS = OptionType(_points, "points from 0 to 100 such as 5 or 5pp", "POINTS")
MARGIN = OptionType(_margin, "points from 0 to 100 such as 5 or 5pp, or LABEL=POINTS", "[LABEL=]POINTS")
EXPLAIN = OptionType(_one_of(("all", "misses", "none")), "all, misses or none", "all|misses|none")
PROVE = OptionType(_one_of(("lock", "full")), "lock or full", "lock|full")
FAIL_ON = OptionType(_one_of(("cannot-tell", "worse")), "cannot-tell or worse", "cannot-tell|worse")
UNIT = OptionType(_one_of(("pull-request", "repository")), "pull-request or repository", "pull-request|repository")
GATE_ON = OptionType(_one_of(("rate", "resolved")), "rate or resolved", "rate|resolved")
MISSES = OptionType(_one_of(("failure", "skipped", "none")), "failure, skipped or none", "failure|skipped|none")
CONDITION = OptionType(_condition, "dataset, agent, agent-version, harness, runtime or leaky", "WHAT")
SHARD = OptionType(_shard, "i/n, as in 2/4", "I/N")
ADDRESS = OptionType(address, "an address such as tcp://10.0.0.5:8786", "ADDRESS")
DAY = OptionType(_day, "a day such as 2024-05-01", "DAY")
STEP = OptionType(_one_of(FRESH_STEPS), "answers, review, revision or judgement", "STEP")
SWITCH = OptionType(_switch, "true or false")
