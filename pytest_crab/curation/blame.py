"""Find the packages for which an install failed, in the installer's output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_crab.runtimes.environments import project_name
from pytest_crab.text import output_lines

#: Where uv and pip name the package that they failed for.
_FAILED = re.compile(r"(?i)\b(failed|cannot|can't|could not)\b")
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==")
_LISTED = re.compile(
    r"(?:Failed building wheel for|Could not build wheels for|Failed to build) ((?:[\w.-]+(?:, | |$))+)"
)

#: What uv and pip say when they begin with a package, and when they have done with it.
_BEGUN = re.compile(r"\s*(?:Building|Downloading|Building wheel for) ([A-Za-z0-9][A-Za-z0-9._-]*)(?:==| \()")
_DONE = re.compile(r"\s*(?:Built|Downloaded|Building wheel for) ([A-Za-z0-9][A-Za-z0-9._-]*)(?!.*: started)")


def blamed_pins(log: str, pins: Sequence[str]) -> tuple[str, ...]:
    """Return the pins that an installer names as failed, else the only pin that it began and did not finish."""
    known = {project_name(pin): pin for pin in pins}
    lines = output_lines(log)
    named = _select_pins(_failed_names(lines), known)
    if named:
        return named
    done = {project_name(match.group(1)) for line in lines if (match := _DONE.match(line))}
    begun = _select_pins((match.group(1) for line in lines if (match := _BEGUN.match(line))), known)
    left = tuple(pin for pin in begun if project_name(pin) not in done)
    return left if len(left) == 1 else ()


def _failed_names(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if _FAILED.search(line):
            yield from _PIN.findall(line)
            for names in _LISTED.findall(line):
                yield from re.findall(r"[\w.-]+", names)


def _select_pins(names: Iterator[str], known: dict[str, str]) -> tuple[str, ...]:
    found = (known.get(project_name(name)) for name in names)
    return tuple(dict.fromkeys(pin for pin in found if pin is not None))
