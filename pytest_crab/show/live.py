"""Reports as they are served while their run goes on: rendered from the records, with nothing written beside them."""

from __future__ import annotations

import bisect
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count, format_percent
from pytest_crab.instances.pull_requests import read_subject
from pytest_crab.results.files import read_record
from pytest_crab.results.kept_runs import kept_runs, shown_run
from pytest_crab.results.loading import SUMMARY, TRIALS, load_summary, trials_file
from pytest_crab.results.rates import Rate
from pytest_crab.results.run_progress import PLAN, FollowedRun, has_plan, read_run
from pytest_crab.results.summary import Summary, SummaryBuilder
from pytest_crab.show.page import PARTS, TRANSCRIPTS, Live, Page
from pytest_crab.show.page.charts import history_plot
from pytest_crab.show.page.rendering import render_page
from pytest_crab.show.page.rows import subject_detail, trial_detail
from pytest_crab.show.summary_tables import label
from pytest_crab.show.transcripts import read_transcript
from pytest_crab.types import TrialId

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServedPage:
    """A page with the content security policy that goes with it."""

    body: bytes
    policy: str


class _Records:
    """The records of a run that were read so far, each once, in a page without their details and in a summary.

    ``summing`` is None where summary.json has the numbers. ``file`` None: there are no records yet. ``number`` tells
    these records from those that were read before in another file.
    """

    def __init__(self, folder: Path, file: Path | None, number: int, *, summing: bool) -> None:
        self.page = Page(folder, None)
        self.summing = SummaryBuilder() if summing else None
        self.number = number
        self.end = 0
        self._file = file
        self._last = b""
        self._starts: list[int] = []
        self._trials: list[TrialId] = []

    def follow(self, file: Path | None) -> bool:
        """Go on with this file; False if the records that were read are not in it any more."""
        if not self.end:
            self._file = file
        if file is None:
            return not self.end
        with file.open("rb") as opened:
            opened.seek(self.end - len(self._last))
            return opened.read(len(self._last)) == self._last

    def read_on(self) -> None:
        """Read the records that were added. Raises BadInput, OSError."""
        if self._file is None:
            return
        with self._file.open("rb") as file:
            file.seek(self.end)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # it is being written
                trial = read_record(line, f"{self._file}, byte {self.end}")
                self.page.add(trial, self.end)
                if self.summing is not None:
                    self.summing.add(trial)
                self._starts.append(self.end)
                self._trials.append(trial.id)
                self.end, self._last = self.end + len(line), line

    def rows_from(self, start: int) -> list[dict[str, Any]]:
        """Return the rows of the list for the records from this byte on."""
        return [self.page.row(trial) for trial in self._trials[bisect.bisect_left(self._starts, start) :]]


class LiveReport:
    """A report whose page is made from its records, and follows them as they come; safe for several threads.

    A record is read once. What is made from all of them is made anew only when it is asked for after a change.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._records: _Records | None = None
        self._made: dict[str, tuple[str, Any]] = {}

    def state(self) -> str:
        """Return a tag that changes whenever the records, the summary or the plan do."""
        return "-".join(f"{stamp:x}" for name in (TRIALS, SUMMARY, PLAN) for stamp in _stamps(self.folder / name))

    def run(self) -> FollowedRun | None:
        """Return the run that goes on, or was killed; None: there is none."""
        return read_run(self.folder)

    def ended(self) -> Summary | None:
        """Return the summary of a run that has ended; None if it lacks records: the run goes on, or was ended early."""
        return self._once("ended", self._whole_summary)

    def _whole_summary(self) -> Summary | None:
        if has_plan(self.folder):
            return None
        try:
            summary = load_summary(self.folder / SUMMARY)
        except BadInput:
            return None
        return summary if sum(one.trials for one in summary.reviewers) + summary.superseded == self.trials() else None

    def words(self) -> str:
        """Return the state of the run in one sentence."""
        run, trials = self.run(), format_count(self.trials(), "trial")
        if run is not None and run.is_alive:
            return run.words()
        if run is not None:
            return f"The run was ended early: {trials} of {len(run.plan.trials)} on record."
        if self.ended() is None:
            return f"The run is under way or was ended early: {trials} on record so far."
        return f"The run is complete: {trials} on record."

    def state_word(self) -> str:
        """Return the state of the run in a word or two."""
        run = self.run()
        if run is not None and not run.is_alive:
            return "ended early"
        return "under way" if self.ended() is None else "complete"

    def news(self) -> dict[str, Any]:
        """Return what an open page asks for again and again: cheap, and without a record being read."""
        run = self.run()
        progress = None
        if run is not None and run.is_alive:
            running = [[one.trial, one.step, round(one.seconds)] for one in run.progress.running]
            progress = {"done": run.progress.done, "total": len(run.plan.trials), "running": running}
        return {"state": self.state(), "words": self.words(), "progress": progress}

    def plan(self) -> list[list[Any]]:
        """Return the instance, reviewer and repeat of each trial of a run that goes on."""
        run = self.run()
        return [] if run is None or not run.is_alive else [[*TrialId.parse(name)] for name in run.plan.trials]

    def trials(self) -> int:
        """Return the number of records."""
        return self._once("trials", self._count)

    def _count(self) -> int:
        file = self._records_file()
        if file is None:
            return 0
        try:
            with file.open("rb") as opened:
                return sum(chunk.count(b"\n") for chunk in iter(lambda: opened.read(1 << 20), b""))
        except OSError:
            return 0

    def _records_file(self) -> Path | None:
        """Return the file of the records; None if there is none, or only that of the run before the one that goes on.

        A run replaces it with its first record.
        """
        file = self.folder / TRIALS
        planned, written = _stamps(self.folder / PLAN)[0], _stamps(file)[0]
        return file if written and written >= planned else None

    def when(self) -> str:
        """Return when the last record came, or the run began, in UTC."""
        last = max(_stamps(self.folder / name)[0] for name in (TRIALS, PLAN))
        return f"{datetime.fromtimestamp(last / 1e9, timezone.utc):%Y-%m-%d %H:%M}"

    def summary(self) -> Summary:
        """Return the numbers of the records as they are; a run without any has no reviewers. Raises BadInput."""
        with self._lock:
            return self._once(
                "numbers", lambda: Summary() if self._records_file() is None else load_summary(self.folder)
            )

    def page(self, *, several: bool) -> ServedPage:
        """Return the page of the records as they are. Raises BadInput, OSError."""
        with self._lock:
            state = self.state()
            return self._once("page", lambda: self._render(state, several=several), state)

    def part(self, name: str, *, several: bool) -> str | None:
        """Return one part of the page as the records are; None: it has no such part. Raises BadInput, OSError."""
        if name not in PARTS:
            return None
        with self._lock:
            state, records = self.state(), self._read_on()
            return records.page.render_part(name, self._sum_up(state, records), self._live(state, several=several))

    def rows(self, records: str, start: str) -> dict[str, Any]:
        """Return the rows of the list from a byte of these records on, and the byte that they end at.

        Rows that are None: the records are in another file now, and the page has to be loaded again. Raises BadInput,
        OSError.
        """
        with self._lock:
            found = self._read_on()
            if records != str(found.number) or not re.fullmatch("[0-9]{1,15}", start):
                return {"end": found.end, "rows": None}
            return {"end": found.end, "rows": found.rows_from(int(start))}

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

    def _once(self, name: str, make: Callable[[], T], state: str | None = None) -> T:
        """Return what ``make`` returns, kept under this name until ``state`` (None: as it is now) changes."""
        state, kept = self.state() if state is None else state, self._made.get(name)
        if kept is None or kept[0] != state:
            self._made[name] = kept = state, make()
        made: T = kept[1]
        return made

    def _render(self, state: str, *, several: bool) -> ServedPage:
        records = self._read_on()
        rendered = records.page.render(self._sum_up(state, records), self._live(state, several=several))
        return ServedPage(b"".join(records.page.chunks(rendered)), rendered.policy)

    def _live(self, state: str, *, several: bool) -> Live:
        assert self._records is not None
        number, end = self._records.number, self._records.end
        return Live(state=state, words=self.words(), records=number, end=end, several=several)

    def _read_on(self) -> _Records:
        """Return the records, with those that were added since. Raises BadInput, OSError."""
        ended, records, file = self.ended(), self._records, self._records_file()
        follows = records is not None and records.follow(file)
        if records is None or not follows or (ended is None and records.summing is None):
            number = 0 if records is None else records.number + (not follows)
            self._records = records = _Records(self.folder, file, number, summing=ended is None)
        try:
            records.read_on()
        except (BadInput, OSError):
            self._records = None
            raise
        return records

    def _sum_up(self, state: str, records: _Records) -> Summary:
        def make() -> Summary:
            summary, file = self.ended(), self.folder / SUMMARY
            if summary is None:
                assert records.summing is not None
                strict = file.is_file() and load_summary(file).errors_as_misses
                summary = records.summing.summary(errors_as_misses=strict)
            return summary

        return self._once("summary", make, state)


def find_reports(place: Path) -> list[Path]:
    """Return the folders of the reports at a place: a report, a store's runs, or a folder of such; none before a run.

    The runs of a store are in the order of time.
    """
    own = [found for found in map(_report_at, kept_runs(place) or [place]) if found is not None]
    if own:
        return own
    inside = map(_report_at, filter(Path.is_dir, place.iterdir())) if place.is_dir() else ()
    return sorted(found for found in inside if found is not None)


def _report_at(place: Path) -> Path | None:
    """Return the folder with the records of a report or a store, or of a run that has none yet."""
    try:
        return trials_file(place).parent
    except BadInput:
        return next((folder for folder in (place, shown_run(place)) if folder and has_plan(folder)), None)


def list_page(place: Path, reports: Mapping[str, LiveReport]) -> ServedPage:
    """Return the page that links to several reports by their names, or waits for the first run.

    The picture is of those that measured the same oracles as the one that the store shows.
    """
    shown = shown_run(place)
    rows: list[dict[str, Any]] = []
    runs: list[tuple[str, str, Summary]] = []
    for name, one in reports.items():
        rates: Mapping[str, Rate] = {}
        problem = ""
        try:
            summary = one.summary()
        except BadInput as error:
            problem = str(error)
        else:
            rates = _rates(summary)
            runs.append((one.when(), name, summary))
        rows.append(
            {
                "name": name,
                "when": one.when(),
                "state": one.state_word(),
                "trials": one.trials(),
                "rates": problem or ", ".join(f"{who} {format_percent(rate.micro)}" for who, rate in rates.items()),
            }
        )
    runs.sort(key=lambda run: run[:2])
    same = next((found.measured for _, name, found in runs if shown and reports[name].folder.samefile(shown)), None)
    alike = [(name, found) for _, name, found in runs if not same or found.measured == same]
    history = history_plot([(name, _rates(found)) for name, found in alike])
    scripts = ("elements.js", "tables.js", "charts.js")
    words = [format_count(len(alike), "run"), *([f"of the same {format_count(len(same), 'oracle')}"] if same else [])]
    page = render_page(
        "reports.html",
        scripts,
        place=str(place),
        reports=sorted(rows, key=lambda row: (row["when"], row["name"]), reverse=True),
        history=history,
        alike=" ".join(words),
    )
    return ServedPage(page.head.encode(), page.policy)


def _rates(summary: Summary) -> dict[str, Rate]:
    return {label(one): one.overall for one in summary.reviewers}


def _stamps(file: Path) -> tuple[int, int]:
    """Return when a file was changed, in nanoseconds, and its size; zeros where it is missing."""
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
