"""The statuses of items that measure: caught, missed, unknown, in pytest's own output."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

#: pytest's category of an item that was missed; its report stays a failed one.
MISSED = "missed"

#: The categories of items that measure: caught, missed, unknown.
_CATEGORIES = ("passed", MISSED, "error")

#: The most missed items that pytest's section FAILURES shows unless it is asked for more.
SHOWN_MISSES = 3

#: A category, a letter, and a word with its colour.
Status = tuple[str, str, tuple[str, dict[str, bool]]]


def status_of(report: pytest.TestReport | pytest.CollectReport, text: str) -> Status | None:
    """Return the status of an item that measures, with ``text`` in verbose output; None: pytest's own holds."""
    if report.outcome not in ("passed", "failed"):  # a plugin that runs items again has its own
        return None
    if report.when == "setup" and report.failed:
        return "error", "U", (f"UNKNOWN {text}", {"red": True})
    if report.when != "call":
        return None
    if report.failed:
        return MISSED, "M", (f"MISSED {text}", {"yellow": True})
    return "passed", ".", (f"CAUGHT {text}", {"green": True})


class Sections:
    """pytest's sections and its last line, for the items that ``is_own`` says yes to."""

    def __init__(self, is_own: Callable[[Any], bool]) -> None:
        self._is_own = is_own
        self._kept: dict[str, list[Any]] = {}

    def own(self, reporter: pytest.TerminalReporter, category: str) -> list[Any]:
        """Return the reports of its items in a category."""
        return [one for one in reporter.stats.get(category, ()) if self._is_own(one)]

    def show(self, reporter: pytest.TerminalReporter, hidden: Iterable[Any] = ()) -> None:
        """Have pytest's sections show what was missed as failed, and leave out the reports that are ``hidden``."""
        if not self._kept:
            self._kept = {category: reporter.stats.get(category, []) for category in ("failed", "error")}
        left_out = set(hidden)
        for category, missed in (("failed", self.own(reporter, MISSED)), ("error", [])):
            reporter.stats[category] = [one for one in (*self._kept[category], *missed) if one not in left_out]

    def end(self, reporter: pytest.TerminalReporter, unit: str) -> None:
        """Give each report its own category again, and have the last line tell how many items were fully caught."""
        for category, reports in self._kept.items():
            reporter.stats[category] = reports
            if not reports:
                del reporter.stats[category]  # its name alone would make the last line red
        self._kept.clear()
        build = reporter.build_summary_stats_line

        def in_own_words() -> tuple[list[tuple[str, dict[str, bool]]], str]:
            parts, colour = build()
            own = {category: self.own(reporter, category) for category in _CATEGORIES}
            caught, missed, unknown = map(len, own.values())
            total = caught + missed + unknown
            if not total:
                return parts, colour
            kept = dict(reporter.stats)
            for category, reports in own.items():
                left_out = set(reports)
                reporter.stats[category] = [one for one in kept.get(category, ()) if one not in left_out]
            parts = [part for part in build()[0] if part[0] != "no tests ran"]
            reporter.stats = kept
            told = f"{caught} of {total} {unit}{'' if total == 1 else 's'} fully caught"
            first = [(told, {"green" if caught == total else "yellow": True, "bold": True})]
            return first + ([(f"{unknown} unknown", {"red": True})] if unknown else []) + parts, colour

        reporter.build_summary_stats_line = in_own_words  # type: ignore[method-assign]
