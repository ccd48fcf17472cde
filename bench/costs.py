"""What scale.py is told on its command line: numbers, and files of costs as steps.py writes them."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

#: What steps.py measures: seconds that keep an engine slot busy, and megabytes.
MEASURED = ("image", "megabytes", "proof", "examine")

#: The limits that may be 0.
MAY_BE_ZERO = ("ahead", "worker_usd")

#: What is said of limits in --help.
HELP = {
    "requests": "a minute, of the provider; assumed",
    "tokens": "a minute, of the provider; assumed",
    "registry": "megabytes a second that all workers share; assumed",
    "link": "megabytes a second of each worker; assumed",
    "head": "trials a second that the process of pytest gives out and takes back; measured once",
    "worker_usd": "US dollars an hour of each worker; assumed",
}


def number(kind: type[int | float], *, zero: bool = False) -> Callable[[str], float]:
    """What reads a number above 0, or from 0 on, from the command line."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = kind(-1)
        if not (value > 0 or (zero and value == 0)):
            words = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r} should be {words}, {'0 or more' if zero else 'above 0'}")
        return value

    return read


def read_costs(path: Path) -> dict[str, float]:
    """The costs of MEASURED in a file of steps.py's. Raises OSError, ValueError."""
    told = json.loads(path.read_bytes())
    costs: dict[str, Any] = {name: told.get(name) if isinstance(told, dict) else None for name in MEASURED}
    for name, value in costs.items():
        if type(value) not in (int, float) or not 0 <= value < math.inf:
            raise ValueError(f"{path}: {name} is {value!r}; it should be a number, as bench/steps.py writes it")
    return costs


def given(path: Path, read: Callable[[Path], T]) -> T:
    """What a file that was named holds; one that does not hold it ends the script with a sentence."""
    try:
        return read(path)
    except OSError as error:
        sys.exit(f"{path} cannot be read: {error.strerror}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        words = str(error)
        sys.exit(words if words.startswith(str(path)) else f"{path} holds something else: {words}")
