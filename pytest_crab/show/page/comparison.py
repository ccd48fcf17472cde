"""The page of two runs side by side: rates, the gate's ruling, labels, and each oracle that was lost or gained."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_crab.errors import BadInput
from pytest_crab.gate.baseline import BaselineComparison
from pytest_crab.instances.pull_requests import read_subject
from pytest_crab.results.files import read_trials, write_report_file
from pytest_crab.results.gate_record import GateRuling
from pytest_crab.results.loading import TRIALS, trials_file
from pytest_crab.show.page.rendering import packed_block, render_page, safe_json
from pytest_crab.show.page.rows import safe, subject_detail, trial_detail
from pytest_crab.text import label_words
from pytest_crab.types import CommentResult, Trial, Verdict

#: The page's scripts, in the order that they need each other in.
SCRIPTS = ("elements.js", "tables.js", "markdown.js", "syntax.js", "diffs.js", "comparison.js")

#: The verdict that a lost and a gained oracle has before and after.
_VERDICTS = {"lost": (Verdict.CAUGHT, Verdict.MISSED), "gained": (Verdict.MISSED, Verdict.CAUGHT)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedReviewer:
    """One reviewer of two runs."""

    beside: BaselineComparison
    words: GateRuling
    #: The paths that the first measurement is from: one, or several that were pooled.
    runs: tuple[Path, ...]
    #: Its name in the first run.
    before: str
    #: Its name in the second.
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedOracle:
    """One oracle that was lost or gained."""

    #: The place of its reviewer among those that are compared.
    place: int
    change: str
    instance: str
    comment: str
    labels: str = ""
    reasons: tuple[str, str] = ("", "")
    #: The number of its packed data; None without records.
    block: int | None = None


def write_comparison(file: Path, after: Path, compared: Sequence[ComparedReviewer], ruling: str | None) -> None:
    """Write the page of two runs; ``ruling`` is the gate's sentence on all reviewers, None without a gate.

    ``after`` and the earlier runs are what ``load_summary`` takes. Diffs are shown where their trials.jsonl are there.
    Raises BadInput, OSError.
    """
    wanted = [
        ChangedOracle(place=place, change=change, instance=instance, comment=comment)
        for place, one in enumerate(compared)
        if (comparison := one.beside.comparison) is not None
        for change, keys in (("lost", comparison.lost), ("gained", comparison.gained))
        for instance, _, comment in (key.rpartition("::") for key in keys)
    ]
    instances = {one.instance for one in wanted}
    runs = dict.fromkeys(run for one in compared for run in one.runs)
    earlier = {run: _trials(run, {one.before for one in compared}, instances) for run in runs}
    later = _trials(after, {one.after for one in compared}, instances)
    blocks: list[bytes] = []
    changed = []
    for one in wanted:
        reviewer = compared[one.place]
        first = [trial for run in reviewer.runs for trial in earlier[run].get((one.instance, reviewer.before), ())]
        second = later.get((one.instance, reviewer.after), [])
        changed.append(_with_records(one, first, second, _folder(after), blocks))
    page = render_page(
        "comparison.html",
        SCRIPTS,
        before=", ".join(map(str, runs)),
        after=str(after),
        compared=compared,
        changed=changed,
        ruling=ruling,
        recorded=bool(blocks) or not changed,
    )
    write_report_file(file, itertools.chain([page.head.encode()], blocks, [page.tail.encode()]))


def _folder(run: Path) -> Path:
    try:
        return trials_file(run if run.is_dir() else run.parent).parent
    except BadInput:
        return run


def _trials(run: Path, reviewers: Iterable[str], instances: Iterable[str]) -> dict[tuple[str, str], list[Trial]]:
    """Return a run's trials of these reviewers and instances by both; empty where it has no trials.jsonl."""
    file = run if run.suffix == ".jsonl" else _folder(run) / TRIALS
    found: dict[tuple[str, str], list[Trial]] = {}
    for trial in read_trials(file) if file.is_file() else ():
        if trial.reviewer in reviewers and trial.instance in instances:
            found.setdefault((trial.instance, trial.reviewer), []).append(trial)
    return found


def _with_records(
    one: ChangedOracle, first: Iterable[Trial], second: Iterable[Trial], report: Path, blocks: list[bytes]
) -> ChangedOracle:
    """Return the oracle with its labels and reasons, and put what is shown of it into ``blocks``."""
    old, new = _VERDICTS[one.change]
    was, now = _example(first, one.comment, old), _example(second, one.comment, new)
    if was is None or now is None:
        return one
    subject = read_subject(report, one.instance)
    own = [] if subject is None else [each for each in subject_detail(subject)["comments"] if each["id"] == one.comment]
    shown = {"comments": own, "before": _side(was[0]), "after": _side(now[0])}
    blocks.append(packed_block(len(blocks), [safe_json(shown)]))
    return dataclasses.replace(
        one,
        labels=safe(label_words(now[1].place.labels)),
        reasons=(was[1].reason.value, now[1].reason.value),
        block=len(blocks) - 1,
    )


def _example(trials: Iterable[Trial], comment: str, verdict: Verdict) -> tuple[Trial, CommentResult] | None:
    """Return the first trial in which the comment has this verdict, else the first one that has the comment."""
    found = [(trial, result) for trial in trials for result in trial.results if result.comment == comment]
    return next((pair for pair in found if pair[1].verdict is verdict), found[0] if found else None)


def _side(trial: Trial) -> dict[str, Any]:
    """Return what is shown of a trial of one run."""
    detail = trial_detail(trial)
    return {"name": safe(str(trial.id)), **{key: detail[key] for key in ("findings", "files", "results", "error")}}
