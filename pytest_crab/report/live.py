"""Reports as they are served while their run goes on: rendered from the records, with nothing written beside them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count, format_percent
from pytest_crab.report.files import read_record, read_summary
from pytest_crab.report.loading import SUMMARY, TRIALS, load_summary, trials_file
from pytest_crab.report.page import TRANSCRIPTS, Live, Page
from pytest_crab.report.page.charts import history_plot
from pytest_crab.report.page.rendering import render_page
from pytest_crab.report.page.rows import subject_detail, trial_detail
from pytest_crab.report.pull_requests import read_subject
from pytest_crab.report.rates import Rate
from pytest_crab.report.summary import Summary, SummaryBuilder
from pytest_crab.report.summary_tables import label
from pytest_crab.report.transcripts import read_transcript


@dataclass(frozen=True, slots=True)
class ServedPage:
    """A page with the content security policy that goes with it."""

    body: bytes
    policy: str


class _Records:
    """The records of a run that were read so far, each once, in a page without their details and in a summary.

    ``summing`` is None where summary.json has the numbers.
    """

    def __init__(self, folder: Path, *, summing: bool) -> None:
        self.page = Page(folder, None)
        self.summing = SummaryBuilder() if summing else None
        self._file = folder / TRIALS
        self._end = 0
        self._last = b""

    def continues(self) -> bool:
        """Return whether the file still has what was read last where it was."""
        with self._file.open("rb") as file:
            file.seek(self._end - len(self._last))
            return file.read(len(self._last)) == self._last

    def read_on(self) -> None:
        """Read the records that were added. Raises BadInput, OSError."""
        with self._file.open("rb") as file:
            file.seek(self._end)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # it is being written
                trial = read_record(line, f"{self._file}, byte {self._end}")
                self.page.add(trial, self._end)
                if self.summing is not None:
                    self.summing.add(trial)
                self._end, self._last = self._end + len(line), line


class LiveReport:
    """A report whose page is made from its records, and made again once they change; safe for several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._records: _Records | None = None
        self._page: tuple[str, ServedPage] | None = None
        self._ended: tuple[str, Summary | None] | None = None
        self._rates: tuple[str, Mapping[str, Rate]] | None = None

    def state(self) -> str:
        """Return a tag that changes whenever the records or the summary do."""
        return "-".join(f"{stamp:x}" for name in (TRIALS, SUMMARY) for stamp in _stamps(self.folder / name))

    def ended(self) -> Summary | None:
        """Return the summary of a run that has ended; None if it lacks records: the run goes on, or was ended early."""
        state, kept = self.state(), self._ended
        if kept is None or kept[0] != state:
            self._ended = kept = state, self._whole_summary()
        return kept[1]

    def _whole_summary(self) -> Summary | None:
        try:
            summary = read_summary(self.folder / SUMMARY)
        except BadInput:
            return None
        return summary if sum(one.trials for one in summary.reviewers) + summary.superseded == self.trials() else None

    def words(self) -> str:
        """Return the state of the run in one sentence."""
        trials = format_count(self.trials(), "trial")
        if self.ended() is None:
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

    def detail(self, parts: Sequence[str]) -> dict[str, Any] | None:
        """Return what the page shows of one trial or pull request; None: there is none. Raises BadInput, OSError."""
        if len(parts) == 2 and parts[0] == "subject":
            subject = read_subject(self.folder, unquote(parts[1]))
            return None if subject is None else subject_detail(subject)
        if len(parts) != 3 or parts[0] != "trial" or not re.fullmatch("[0-9]{1,15}", parts[1]):
            return None
        with (self.folder / TRIALS).open("rb") as file:
            file.seek(int(parts[1]))
            trial = read_record(file.readline(), f"{self.folder / TRIALS}, byte {parts[1]}")
        if str(trial.id) != unquote(parts[2]):
            return None  # the file was written anew
        found = (read_transcript(self.folder, key) for key in trial.transcripts[:TRANSCRIPTS])
        return trial_detail(trial, [one for one in found if one is not None])

    def _render(self, live: Live) -> ServedPage:
        ended, records = self.ended(), self._records
        if records is None or not records.continues() or (ended is None and records.summing is None):
            self._records = records = _Records(self.folder, summing=ended is None)
        try:
            records.read_on()
        except (BadInput, OSError):
            self._records = None
            raise
        summary = ended
        if summary is None:
            assert records.summing is not None
            summary = records.summing.summary(errors_as_misses=self._errors_as_misses())
        rendered = records.page.render(summary, live)
        return ServedPage(f"{rendered.head}{rendered.tail}".encode(), rendered.policy)

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
                "state": "under way" if one.ended() is None else "complete",
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
