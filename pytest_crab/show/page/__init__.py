"""index.html: a report as one file that works from disk, without any network."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from pytest_crab.instances.pull_requests import Subject, read_subject
from pytest_crab.lazy import lazy
from pytest_crab.results.files import write_report_file
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import Summary
from pytest_crab.show.detail_tables import PAIRS, detail_tables
from pytest_crab.show.mediator_text import mediator_lines, mediator_tables
from pytest_crab.show.page.charts import Bar, cost_plot, forest_plot, heat_map, overlap_plot, timeline
from pytest_crab.show.page.figures import (
    bar_of,
    find_priced,
    findings_tables,
    near_words,
    overlaps_table,
    repositories_table,
    turn,
)
from pytest_crab.show.page.headline import (
    Clock,
    banners,
    highest,
    measured_sentences,
    role,
    run_facts,
    set_words,
    title_words,
)
from pytest_crab.show.page.more import more_sections
from pytest_crab.show.page.rendering import INDEX, Rendered, packed_block, render_page, render_template, safe_json
from pytest_crab.show.page.rows import index_row, subject_detail, trial_detail
from pytest_crab.show.page.rulers import RulersBuilder, RulersSection
from pytest_crab.show.reviewer_numbers import page_table
from pytest_crab.show.summary_tables import explained_tables, finding_tables, label, rate_tables
from pytest_crab.show.summary_text import advice_line, note_lines
from pytest_crab.show.transcripts import Transcript, drop_transcripts, read_transcript
from pytest_crab.statistics.comparison import Key
from pytest_crab.types import Trial, TrialId

#: The page's name in a report's folder.
FILE = "index.html"

#: The most transcripts of one trial that the page shows, and the most characters of all of them.
TRANSCRIPTS, ROOM = 8, 32 << 20

#: The page's scripts, in the order that they need each other in.
SCRIPTS = ("elements.js", "tables.js", "charts.js", "markdown.js", "syntax.js", "diffs.js", "trial.js", "list.js")

_CHUNK = 1 << 20

#: Characters of details that are packed as one: what is alike in them then takes place and time once.
_PACKED = 1 << 16

#: The templates of the page, one below the other. A section in one of them is linked at the top by its heading.
OVERVIEW = (
    "headline", "look", "trials", "gate", "rates", "labels", "overlap", "agents", "rulers", "cost", "more"
)  # fmt: skip

#: Those that are there without any trial on record; they do not follow a run that goes on.
FIXED = ("trials", "more")

#: The parts of a served page that change with the summary: its title, the links to its sections, and templates.
PARTS = ("top", "links", *(name for name in OVERVIEW if name not in FIXED))

#: A heading that the page links to: that of a section, or one within it that has an id.
_HEADING = re.compile(r'<h2 id="h-([\w-]+)">(.*?)</h2>|<h3 id="([\w-]+)">(.*?)</h3>')

#: The most reviewers with a card, and in a picture; the highest are shown. The most sets of reviewers in a picture.
CARDS, PICTURED, SETS = 6, 12, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The state of the records behind a served page."""

    #: A tag that changes with the state.
    state: str
    #: The state in words.
    words: str
    #: The number of the file that the records are in.
    records: int = 0
    #: The byte up to which they are on the page.
    end: int = 0
    several: bool = False


#: Where details are: the number of a packed list and the place in it, or an address at the page's server.
_Place = tuple[int, int] | str


@contextmanager
def open_page(report: Path) -> Iterator[Page]:
    """A page for a report's folder, whose trials are to be added one after the other."""
    with tempfile.TemporaryFile() as blocks:
        yield Page(report, blocks)


class Page:
    """A page in the making: details go to a scratch file at once, only what is listed and counted stays.

    So memory does not grow with the texts of trials. Without a scratch file the page has no details: it asks its server
    for those of a trial that is opened.
    """

    def __init__(self, report: Path, blocks: IO[bytes] | None) -> None:
        self._report = report
        self._blocks = blocks
        self._rows: dict[TrialId, str] = {}  # as JSON, which takes a quarter of the memory
        self._near: dict[TrialId, tuple[str, ...]] = {}
        self._subjects: dict[str, _Place | None] = {}
        self._rulers = RulersBuilder()
        self._named: set[str] = set()
        self._clock = Clock()
        self._bars: dict[TrialId, Bar | None] = {}
        self._room = ROOM
        self._count = 0
        self._texts: list[str] = []
        self._size = 0
        self._charts: Charts | None = None

    def add(self, trial: Trial, start: int = 0) -> None:
        """Take a trial in; a later record of the same one replaces it. Raises BadInput for a damaged subject.

        ``start`` is the byte of trials.jsonl that its record starts at, by which a server finds it.
        """
        key = trial.id
        if trial.instance not in self._subjects:
            subject = read_subject(self._report, trial.instance)
            self._subjects[trial.instance] = None if subject is None else self._subject_place(subject)
            if subject is not None:
                self._rulers.note_subject(subject)
        place = {"d": self._trial_place(trial, start), "q": self._subjects[trial.instance]}
        self._rows[key] = safe_json({**index_row(trial), **place})
        self._charts = None
        self._rulers.add(trial)
        self._near[key] = near_words(trial)
        bar = self._bars[key] = bar_of(trial)
        if bar is not None:
            self._clock.add(bar.start, bar.seconds)

    def write(self, summary: Summary) -> None:
        """Write index.html, with the numbers of ``summary``. Raises OSError."""
        rendered = self.render(summary)
        write_report_file(self._report / FILE, self.chunks(rendered))
        drop_transcripts(self._report, self._named)

    def render(self, summary: Summary, live: Live | None = None) -> Rendered:
        """Return the page around its details; ``live``: it is served and follows its records."""
        values = {**self._values(summary), "live": live}
        overview = values["charts"].overview(values)
        return render_page(
            "page.html",
            SCRIPTS if live is None else (*SCRIPTS, "live.js"),
            connects=live is not None,
            **values,
            overview=overview,
            followed=PARTS,
            links=_links(overview),
        )

    def render_part(self, part: str, summary: Summary, live: Live) -> str:
        """Return one of PARTS of a served page by itself, without the element around it."""
        values = {**self._values(summary), "live": live}
        if part == "top":
            return render_template("top.html", **values)
        overview: dict[str, str] = values["charts"].overview(values)
        return _links(overview) if part == "links" else overview[part]

    def row(self, trial: TrialId) -> dict[str, Any]:
        """Return a trial's row in the list."""
        row: dict[str, Any] = json.loads(self._rows[trial])
        return row

    def _values(self, summary: Summary) -> dict[str, Any]:
        """Return what the templates show, by name; pictures and rulers are made where a template asks for them."""
        near: dict[str, Counter[str]] = {}
        for trial, words in self._near.items():
            near.setdefault(trial.reviewer, Counter()).update(words)
        if self._charts is None or self._charts.summary is not summary:
            self._charts = Charts(summary, list(filter(None, self._bars.values())), self._rulers)
        more = more_sections(self._report)
        return {**_values(summary, near), "when": self._clock.words(), "charts": self._charts, "more": more}

    def chunks(self, rendered: Rendered) -> Iterator[bytes]:
        """Yield the whole page in pieces."""
        yield rendered.head.encode()
        if self._blocks is not None:
            self._pack(self._blocks)
            self._blocks.seek(0)
            while chunk := self._blocks.read(_CHUNK):
                yield chunk
        before, _, after = rendered.tail.partition(INDEX)
        yield before.encode()
        yield from (f"{',' if at else '['}{row}".encode() for at, row in enumerate(self._rows.values()))
        yield f"{'' if self._rows else '['}]{after}".encode()

    def _transcripts(self, trial: Trial) -> Iterator[Transcript]:
        """The copies of a trial's transcripts in the report, as long as there is room for them."""
        self._named.update(trial.transcripts)
        for key in trial.transcripts[:TRANSCRIPTS]:
            found = read_transcript(self._report, key) if self._room > 0 else None
            if found is not None:
                self._room -= len(found.text)
                yield found

    def _trial_place(self, trial: Trial, start: int) -> _Place:
        """Return where a trial's details are: see ``_Place``."""
        if self._blocks is None:
            return f"trial/{start}/{quote(str(trial.id), safe='')}"
        return self._packed(self._blocks, trial_detail(trial, list(self._transcripts(trial))))

    def _subject_place(self, subject: Subject) -> _Place:
        if self._blocks is None:
            return f"subject/{quote(subject.instance, safe='')}"
        return self._packed(self._blocks, subject_detail(subject))

    def _packed(self, blocks: IO[bytes], data: Any) -> _Place:
        text = safe_json(data)
        self._texts.append(text)
        self._size += len(text)
        place = self._count, len(self._texts) - 1
        if self._size >= _PACKED:
            self._pack(blocks)
        return place

    def _pack(self, blocks: IO[bytes]) -> None:
        """Write the details that wait for others to be packed with."""
        if self._texts:
            blocks.write(packed_block(self._count, self._texts))
            self._count += 1
            self._texts, self._size = [], 0


class Charts:
    """The page's pictures and the comparison of rulers, each made when a template first asks for it, and the page."""

    def __init__(self, summary: Summary, bars: Sequence[Bar], rulers: RulersBuilder) -> None:
        self.summary = summary
        self._bars = bars
        self._rulers = rulers
        self._overview: dict[str, str] = {}

    def overview(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Return the templates of OVERVIEW with the values of this summary; empty where there is nothing to show yet.

        They are made once: a served page asks for each of its parts, and for the links to what all of them hold.
        """
        if not self._overview:
            shown = OVERVIEW if self.summary.reviewers else FIXED
            for name in OVERVIEW:
                self._overview[name] = render_template(f"{name}.html", **values) if name in shown else ""
        return self._overview

    def text(self, key: Key) -> str:
        """Return the beginning of what a human comment says; empty where that is not on record."""
        return self._rulers.text(key)

    @lazy
    def forest(self) -> str:
        """The rates with their intervals."""
        return forest_plot({label(one): one.overall for one in self._pictured})

    @lazy
    def heat(self) -> list[str]:
        """The rates by label and reviewer, a picture for each dimension."""
        return [
            heat_map(
                [label(one) for one in self._pictured],
                [(word, [one.by_label.get(dimension, {}).get(word) for one in self._pictured]) for word in words],
            )
            for dimension, words in self.summary.dimensions().items()
        ]

    @lazy
    def costs(self) -> str:
        """Cost against rate; empty where nothing cost anything."""
        reviewers = self._pictured
        return cost_plot(list(find_priced(reviewers))) if any(one.cost_usd for one in reviewers) else ""

    @lazy
    def upset(self) -> str:
        """The overlap of the reviewers."""
        return overlap_plot(self.summary.together.reviewers, overlaps_table(self.summary)[:SETS])

    @property
    def _pictured(self) -> list[ReviewerSummary]:
        return highest(self.summary.reviewers, PICTURED)

    @property
    def has_timeline(self) -> bool:
        """True if the start of any trial is on record."""
        return bool(self._bars)

    @lazy
    def timeline(self) -> str:
        """The trials as bars along the time of the run."""
        return timeline(self._bars)

    @lazy
    def rulers(self) -> RulersSection | None:
        """The comparison of rulers; None where no two of them measured one comment."""
        return self._rulers.section(self.summary.rulers)


def _links(overview: Mapping[str, str]) -> str:
    """Return the links to the sections of the page, each once."""
    found = _HEADING.findall("".join(overview.values()))
    titles = {anchor or within: title or below for anchor, title, within, below in found}
    return "\n".join(f'<a href="#{anchor}">{title}</a>' for anchor, title in titles.items())


def _values(summary: Summary, near: Mapping[str, Counter[str]]) -> dict[str, Any]:
    """Return what the templates show of a summary, by name."""
    labels = {one.reviewer: label(one) for one in summary.reviewers}
    found = [*findings_tables(near, labels), *finding_tables(summary), *explained_tables(summary)]
    repositories = repositories_table(summary)
    details = {one.title: one for one in detail_tables(summary)}
    return {
        "summary": summary,
        "title": title_words(summary),
        "set_words": set_words(summary),
        "measured": list(measured_sentences(summary)),
        "facts": list(run_facts(summary)),
        "banners": list(banners(summary)),
        "cards": highest(summary.reviewers, CARDS),
        "role": role,
        "of_those": f" (the {PICTURED} highest)" if len(summary.reviewers) > PICTURED else "",
        "rates": page_table(summary),
        "rate_tables": list(map(turn, rate_tables(summary))),
        "finding_tables": list(map(turn, found)),
        "overlaps": overlaps_table(summary),
        "sets": SETS,
        "pairs": details.pop(PAIRS, None),
        "details": [turn(one) for one in details.values()],
        "repositories": None if repositories is None else turn(repositories),
        "labels": labels,
        "notes": [*note_lines(summary.reviewers), *_bases(summary)],
        "agent_tables": list(mediator_tables(summary)),
        "agent_lines": list(mediator_lines(summary)),
        "advice": {one.reviewer: advice_line(one) for one in summary.reviewers},
    }


def _bases(summary: Summary) -> list[str]:
    """Return what intervals of rates are over, each once."""
    ends = (end for one in summary.reviewers for end in (one.overall.here, one.overall.interval))
    return list(dict.fromkeys(f"95% intervals over {end.basis}" for end in ends if end is not None))
