"""Reports as they are served while their run goes on: rendered from the records, with nothing written beside them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count, format_percent
from pytest_crab.report.files import read_summary, read_trials
from pytest_crab.report.loading import SUMMARY, TRIALS, load_summary, trials_file
from pytest_crab.report.page import Live, open_page
from pytest_crab.report.page.charts import history_plot
from pytest_crab.report.page.rendering import render_page
from pytest_crab.report.rates import Rate
from pytest_crab.report.summary import SummaryBuilder
from pytest_crab.report.summary_tables import label


@dataclass(frozen=True, slots=True)
class ServedPage:
    """A page with the content security policy that goes with it."""

    body: bytes
    policy: str


class LiveReport:
    """A report whose page is made from its records, and made again once they change; safe for several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._page: tuple[str, ServedPage] | None = None
        self._rates: tuple[str, Mapping[str, Rate]] | None = None

    def state(self) -> str:
        """Return a tag that changes whenever the records or the summary do."""
        return "-".join(f"{stamp:x}" for name in (TRIALS, SUMMARY) for stamp in _stamps(self.folder / name))

    def under_way(self) -> bool:
        """Return whether the summary lacks records: the run goes on, or was ended."""
        try:
            summary = read_summary(self.folder / SUMMARY)
        except BadInput:
            return True
        return sum(one.trials for one in summary.reviewers) + summary.superseded != self.trials()

    def words(self) -> str:
        """Return the state of the run in one sentence."""
        trials = format_count(self.trials(), "trial")
        if self.under_way():
            return f"The run is under way or was ended early: {trials} on record so far."
        return f"The run is complete: {trials} on record."

    def trials(self) -> int:
        """Return the number of records."""
        try:
            with (self.folder / TRIALS).open("rb") as file:
                return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
        except OSError:
            return 0

    def when(self) -> str:
        """Return when the last record came, in UTC."""
        return f"{datetime.fromtimestamp(_stamps(self.folder / TRIALS)[0] / 1e9, timezone.utc):%Y-%m-%d %H:%M}"

    def rates(self) -> Mapping[str, Rate]:
        """Return the rates by reviewer. Raises BadInput."""
        with self._lock:
            state = self.state()
            if self._rates is None or self._rates[0] != state:
                found = load_summary(self.folder)
                self._rates = state, {label(one): one.overall for one in found.reviewers}
            return self._rates[1]

    def page(self, *, several: bool) -> ServedPage:
        """Return the page of the records as they are. Raises BadInput, OSError."""
        with self._lock:
            state = self.state()
            if self._page is None or self._page[0] != state:
                self._page = (state, self._render(Live(state=state, words=self.words(), several=several)))
            return self._page[1]

    def _render(self, live: Live) -> ServedPage:
        builder = SummaryBuilder()
        with open_page(self.folder) as page:
            for trial in read_trials(self.folder / TRIALS):
                builder.add(trial)
                page.add(trial)
            summary = builder.summary(errors_as_misses=self._errors_as_misses())
            rendered = page.render(summary, live)
            return ServedPage(b"".join(page.chunks(rendered)), rendered.policy)

    def _errors_as_misses(self) -> bool:
        return (self.folder / SUMMARY).is_file() and read_summary(self.folder / SUMMARY).errors_as_misses


def find_reports(place: Path) -> list[Path]:
    """Return the folders of the reports at a place: a report, a store, or a folder of such; none before a record."""
    try:
        return [trials_file(place).parent]
    except BadInput:
        return sorted(_inside(place)) if place.is_dir() else []


def _inside(place: Path) -> Iterator[Path]:
    for folder in place.iterdir():
        if folder.is_dir():
            try:
                yield trials_file(folder).parent
            except BadInput:
                continue


def list_page(place: Path, reports: list[LiveReport]) -> ServedPage:
    """Return the page that links to several reports, or waits for the first record."""
    rows, runs = [], []
    for one in reports:
        name = str(one.folder.relative_to(place))
        try:
            rates, problem = one.rates(), ""
        except BadInput as error:
            rates, problem = {}, str(error)
        runs.append((one.when(), name, rates))
        rows.append(
            {
                "name": name,
                "when": one.when(),
                "state": "under way" if one.under_way() else "complete",
                "trials": one.trials(),
                "rates": problem or ", ".join(f"{who} {format_percent(rate.micro)}" for who, rate in rates.items()),
            }
        )
    history = history_plot([(name, rates) for _, name, rates in sorted(runs, key=lambda run: run[:2])])
    scripts = ("elements.js", "tables.js", "charts.js")
    page = render_page("reports.html", scripts, place=str(place), reports=rows, history=history)
    return ServedPage(page.head.encode(), page.policy)


def _stamps(file: Path) -> tuple[int, int]:
    """Return when a file was changed, in nanoseconds, and its size; zeros where it is missing."""
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
