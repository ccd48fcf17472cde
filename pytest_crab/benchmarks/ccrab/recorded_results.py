"""Recorded verdicts as trials, nothing run: table 5 of arXiv 2603.23448, union, overlaps, rates per repository."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pytest_crab.benchmarks.ccrab.agreement import agreement_lines, agreements
from pytest_crab.benchmarks.ccrab.reader import has_recording, recording_at
from pytest_crab.benchmarks.ccrab.recorded import HUMAN, Recording, Result
from pytest_crab.formats import NOTHING, format_count, format_decimal, format_number, format_percent, format_table
from pytest_crab.instances import load_instances
from pytest_crab.instances.recorded import FOLDER, NOT_ON_RECORD
from pytest_crab.results.recorded_results import RecordedResults, Told
from pytest_crab.results.reviewer_summary import KIND, ReviewerSummary
from pytest_crab.results.summary import Summary, summarise
from pytest_crab.scoring.oracles import OracleScorer
from pytest_crab.show.stored_report import RECORDED
from pytest_crab.show.summary_tables import rate_cell
from pytest_crab.show.summary_text import names_by_text
from pytest_crab.text import one_line
from pytest_crab.types import (
    Instance,
    Judgement,
    Kind,
    Provenance,
    Reason,
    Review,
    ScoredComment,
    Trial,
    verdict_score,
)

_NO_VERDICT = "no verdict is on record"


def trials_of(recording: Recording, instances: Iterable[Instance] = ()) -> Iterator[Trial]:
    """Yield a trial for each tool and instance, the humans' last, by the paper's rules (section 5).

    The oracles are those of the comments that the human result says were resolved; where there is none, all that any
    result names. What is not on record counts as missed. Labels are the kind on record and those of ``instances``.
    """
    humans = recording.results.get(HUMAN, {})
    said = {(instance.id, comment.id): comment.dimensions for instance in instances for comment in instance.comments}
    repositories = {name: result.repo for results in recording.results.values() for name, result in results.items()}
    for tool in (*recording.tools, *([HUMAN] if HUMAN in recording.results else [])):
        results = recording.results[tool]
        counts_findings = tool == HUMAN or any(one.findings is not None for one in results.values())
        for name, comments in _oracles(recording).items():
            result = results.get(name)
            findings = len(comments) if tool == HUMAN else result.findings or 0 if result else 0
            kinds = humans[name].kinds.items() if name in humans else ()
            labels = {comment: {KIND: kind.value} for comment, kind in kinds}
            yield Trial(
                instance=name,
                repo=repositories[name],
                provenance=Provenance.GITHUB,
                reviewer=tool,
                agent=RECORDED,
                runtime=RECORDED,
                privileged=(tool,) if tool == HUMAN else (),
                review=Review(count=findings) if counts_findings else None,
                comments=tuple(
                    ScoredComment(id=comment, labels={**labels.get(comment, {}), **said.get((name, comment), {})})
                    for comment in comments
                ),
                scores=tuple(
                    verdict_score(OracleScorer.name, comment, _judgement(result, comment)) for comment in comments
                ),
                status=NOT_ON_RECORD if result is None else None,
            )


def _oracles(recording: Recording) -> dict[str, list[str]]:
    """Return the comments that count, by instance."""
    humans = recording.results.get(HUMAN)
    if humans:
        resolved = {name: [comment for comment, ok in one.verdicts.items() if ok] for name, one in humans.items()}
        return {name: comments for name, comments in resolved.items() if comments}
    named: dict[str, set[str]] = {}
    for results in recording.results.values():
        for name, result in results.items():
            named.setdefault(name, set()).update(result.verdicts)
    return {name: sorted(comments) for name, comments in sorted(named.items()) if comments}


def _judgement(result: Result | None, comment: str) -> Judgement:
    verdict = None if result is None else result.verdicts.get(comment)
    detail = _NO_VERDICT if verdict is None else None
    return Judgement(reason=Reason.CORRECT if verdict else Reason.INCORRECT, detail=detail)


def summarise_recording(recording: Recording) -> Summary:
    """Sum up recorded results; the notes on each reviewer say what is not on record."""
    trials = list(trials_of(recording))
    notes = list(recording.notes)
    if not recording.results.get(HUMAN):
        notes.append("which comments were resolved is not on record: every comment that a result names counts")
    summary = summarise(trials)
    return dataclasses.replace(
        summary,
        reviewers=tuple(
            dataclasses.replace(own, notes=(*own.notes, *_gaps(trials, own.reviewer), *notes))
            for own in summary.reviewers
        ),
    )


def _gaps(trials: Iterable[Trial], tool: str) -> Iterator[str]:
    """Yield what of a tool is not on record."""
    own = [trial for trial in trials if trial.reviewer == tool]
    absent = [trial.instance for trial in own if trial.status == NOT_ON_RECORD]
    unjudged = [
        f"{trial.instance}: {result.comment}"
        for trial in own
        for result in trial.results
        if trial.status is None and result.detail == _NO_VERDICT
    ]
    for kind, names in (("result of {} instances", absent), ("verdict on {} oracles", unjudged)):
        if names:
            yield f"no {kind.format(len(names))}, which count as missed: {', '.join(names)}"


# --- in words --------------------------------------------------------------------------------------------------------


def recorded_lines(summary: Summary) -> Iterator[str]:
    """Yield the tables as lines of text, names of tools and instances escaped."""
    reviewers, together = summary.reviewers, summary.together
    if not reviewers:
        return
    repositories = {oracle.repo for oracle in reviewers[0].oracles}
    sizes = {"oracle": len(reviewers[0].oracles), "instance": reviewers[0].trials, "repository": len(repositories)}
    yield f"recorded verdicts, nothing was run: {', '.join(format_count(count, noun) for noun, count in sizes.items())}"
    yield ""
    yield from format_table(_overall(reviewers))
    yield ""
    kinds = reviewers[0].by_kind
    counts = ", ".join(f"{kinds[kind].oracles if kind in kinds else 0} {kind}" for kind in Kind)
    yield f"kinds are inferred: {counts}; the columns of kinds are no numbers of the paper"
    if together.overlaps:
        share = _percent(together.union / together.oracles)
        yield f"caught by any of {len(together.reviewers)} tools: {together.union}/{together.oracles} ({share})"
        for group in together.overlaps:
            yield f"  {group.oracles:>4}  {one_line(_only(group.reviewers, len(together.reviewers)))}"
    yield ""
    tools = [own for own in reviewers if own.reviewer != HUMAN] or reviewers
    yield from format_table(_repositories(tools))
    yield ""
    for note, names in names_by_text((own.reviewer, note) for own in tools for note in own.notes).items():
        yield one_line(note if len(names) == len(tools) else f"{', '.join(names)}: {note}", 500)


def _overall(reviewers: Iterable[ReviewerSummary]) -> Iterator[list[str]]:
    yield ["reviewer", "comments", "per PR", *(f"{kind} *" for kind in Kind), "caught", "micro", "macro"]
    for own in reviewers:
        yield [
            own.reviewer,
            format_number(own.comments),
            format_decimal(own.comments_per_pull_request, 1),
            *(_percent(own.by_kind[kind].micro if kind in own.by_kind else None) for kind in Kind),
            rate_cell(own.overall),
            _percent(own.overall.micro),
            _percent(own.overall.macro),
        ]


def _repositories(tools: Sequence[ReviewerSummary]) -> Iterator[list[str]]:
    yield ["repository", "oracles", *(own.reviewer for own in tools)]
    sizes = Counter(oracle.repo for own in tools[:1] for oracle in own.oracles)
    caught = [Counter(one.repo for one in own.oracles if one.value()) for own in tools]
    for repo, oracles in sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0].lower())):
        yield [repo, str(oracles), *(f"{own[repo]} ({_percent(own[repo] / oracles)})" for own in caught)]


def _only(tools: Sequence[str], of: int) -> str:
    if not tools:
        return "none"
    return " and ".join(tools) + ("" if len(tools) == of else " only")


def _percent(rate: float | None) -> str:
    return NOTHING if rate is None else f"{format_percent(rate)}%"


def recorded(folder: Path) -> RecordedResults | None:
    """Return the verdicts on record in a folder; None where there is none. Raises BadInput."""
    if not has_recording(folder):
        return None

    def report() -> Told:
        summary = summarise_recording(recording_at(folder))
        return summary, recorded_lines(summary)

    def against(trials: Iterable[Trial]) -> Told:
        found = agreements(trials, recording_at(folder))
        return found, agreement_lines(found)

    def trials() -> Iterator[Trial]:
        return trials_of(recording_at(folder), load_instances(folder) if (folder / FOLDER).is_dir() else ())

    return RecordedResults(report=report, against=against, trials=trials)
