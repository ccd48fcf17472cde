"""Choose a project's CPython: the newest that it supported and that had been out for a year."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from pytest_crab.ecosystems.interpreters import RELEASED

_SETTLED = datetime.timedelta(days=365)


def choose(
    at_hand: Iterable[str], *, requires: Sequence[str], classifiers: Iterable[str], head: datetime.date
) -> str | None:
    """Return the X.Y to use, out of those at hand, for code written on the day ``head``; None if there are none.

    A version is allowed if it satisfies all of ``requires`` and is among the ``classifiers`` if any of those names a
    version. The newest allowed version that had been out for 365 days is taken, else the oldest allowed. Where the
    project allows none of those at hand, all of them count as allowed.
    """
    ordered = sorted(set(at_hand) & set(RELEASED), key=Version)
    wanted = [specifier for specifier in map(_specifier, requires) if specifier is not None]
    named = set(classifiers)
    satisfying = [version for version in ordered if all(_admits(specifier, version) for specifier in wanted)]
    allowed = [version for version in satisfying if not named or version in named] or satisfying or ordered
    settled = [version for version in allowed if RELEASED[version] + _SETTLED <= head]
    return settled[-1] if settled else next(iter(allowed), None)


def _specifier(text: str) -> SpecifierSet | None:
    """Read a requires-python specifier, also in poetry's notation; None for any other text."""
    parts = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if part[:1] in "^~" and not part.startswith("~="):
            parts.extend(_caret(part))
        elif part[:1].isdigit():
            parts.append(f"=={part}")
        elif part != "*":
            parts.append(part)
    try:
        return SpecifierSet(",".join(parts))
    except InvalidSpecifier:
        return None


def _caret(part: str) -> list[str]:
    numbers = part[1:].strip().split(".")
    if part[0] == "^":
        return [f">={'.'.join(numbers)}", f"<{int(numbers[0]) + 1}"] if numbers[0].isdigit() else []
    if len(numbers) > 1 and numbers[1].isdigit():
        return [f">={'.'.join(numbers)}", f"<{numbers[0]}.{int(numbers[1]) + 1}"]
    return [f"=={numbers[0]}.*"]


def _admits(specifier: SpecifierSet, version: str) -> bool:
    """Return whether some X.Y.Z is admitted: a lower bound may name a patch release."""
    return any(specifier.contains(f"{version}.{patch}") for patch in (0, 1, 5, 10, 20, 99))
