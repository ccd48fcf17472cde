"""One trial in full: each finding at its line of the pull request's diff, the oracles, and the revision."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from pytest_crab import diffs
from pytest_crab.diffs import ChangedFile, Hunk
from pytest_crab.formats import format_count, format_dollars
from pytest_crab.instances.pull_requests import Subject
from pytest_crab.results.explain import measured_words, part_lines, review_faults, revision_faults, why
from pytest_crab.show.terminal import Line
from pytest_crab.show.transcripts import Transcript
from pytest_crab.text import escape_controls, label_words, one_line, split_lines
from pytest_crab.types import CommentResult, Explanation, Finding, Review, Side, Trial

_WIDTH = 100
_MOST_LINES = 4000


def show_trial(trial: Trial, subject: Subject | None) -> Iterator[Line]:
    """Yield a trial's lines; ``subject`` has the pull request's diff and comments, None where it cannot be had.

    Everything that came from outside is shown with its controls escaped, and holds nothing of an oracle's source.
    """
    repeat = f", repeat {trial.repeat}" if trial.repeat > 1 else ""
    yield Line(one_line(f"{trial.instance}: {measured_words(trial)}{repeat}"), "heading")
    told = [name for name in trial.privileged if name != trial.agent or not trial.simulated]
    shown = f"shown the answer: {', '.join(told)}" if told else ""
    leaky = f"worked on the public pull request: {', '.join(trial.leaky)}" if trial.leaky else ""
    labels = list(filter(None, [shown, leaky, "simulated agent" if trial.simulated else ""]))
    if labels:
        yield Line(one_line("; ".join(labels)))
    for problem in (trial.skipped and f"skipped: {trial.skipped}", trial.error):
        if problem:
            yield Line(one_line(problem, 500), "bad")
    yield Line("")
    yield from _review(trial, None if subject is None else subject.diff)
    yield Line("oracles", "heading")
    comments = {} if subject is None else {comment.id: comment.body for comment in subject.comments}
    for result in trial.results:
        yield from _oracle(result, comments.get(result.comment, ""), trial.explanations.get(result.comment))
    if trial.regressions is not None:
        yield Line(f"tests that passed before {'are broken' if trial.regressions else 'still pass'}")
    yield Line("")
    yield from _revision(trial)


def trial_head(trial: Trial) -> Iterator[Line]:
    """Yield the name of a trial, and why it broke."""
    yield Line(one_line(str(trial.id)), "heading")
    if trial.error is not None:
        yield Line(one_line(trial.error, 500), "bad")


def show_transcripts(transcripts: Iterable[Transcript]) -> Iterator[Line]:
    """Yield the lines of transcripts, with their controls escaped."""
    found = list(transcripts)
    if not found:
        yield Line("there is no transcript: neither the record's store nor its report has one")
    for transcript in found:
        yield from transcript_lines(transcript)


def transcript_lines(transcript: Transcript) -> Iterator[Line]:
    """Yield the lines of one transcript."""
    yield Line("")
    yield Line(one_line(transcript.heading), "heading")
    for line in split_lines(transcript.text):
        yield Line(escape_controls(line))


def _review(trial: Trial, diff: str | None) -> Iterator[Line]:
    review = trial.review
    if review is None:
        yield Line("review: none", "heading")
        yield Line("")
        return
    yield Line(f"review: {format_count(review.size, 'finding')}{_cost(review)}", "heading")
    if review.count is not None:
        yield Line("their text is not on record")
    for fault in review_faults(trial):
        yield Line(fault, "bad")
    left = list(enumerate(review.findings, start=1))
    if diff is None:
        yield Line("the pull request's diff is not available here, so findings are shown without it")
    for file, hunks in diffs.parse_hunks(diff or ""):
        names = {file.old, file.new} - {None}
        yield Line(f"--- {escape_controls(file.path)}", "heading")
        for number, finding in [(n, f) for n, f in left if f.path in names and f.start is None]:
            left.remove((number, finding))
            yield from _finding(number, finding)
        for hunk in hunks:
            yield Line(escape_controls(f"@@ -{hunk.old_start} +{hunk.start} @@ {hunk.heading}").rstrip())
            yield from _hunk(hunk, file, left, trial.results)
    yield from _outside(left, with_diff=diff is not None)
    yield Line("")


def _hunk(
    hunk: Hunk, file: ChangedFile, left: list[tuple[int, Finding]], results: Sequence[CommentResult]
) -> Iterator[Line]:
    for line in hunk.lines:
        number = line.new if line.new is not None else line.old
        style = {"+": "added", "-": "removed"}.get(line.mark, "")
        yield Line(f"{number or '':>5} {line.mark}{escape_controls(line.text)}", style)
        ends = {(Side.LEFT, file.old, line.old), (Side.RIGHT, file.new, line.new)}
        for result in results:
            if (
                result.place.lines is not None
                and (result.place.side, result.place.path or "", result.place.lines[1]) in ends
            ):
                yield Line(f"      | {one_line(result.comment)} was commented on here: {result.verdict}", "comment")
        for found in [one for one in left if (one[1].side, one[1].path or "", one[1].end or one[1].start) in ends]:
            left.remove(found)
            yield from _finding(*found)


def _outside(left: Sequence[tuple[int, Finding]], *, with_diff: bool) -> Iterator[Line]:
    if left and with_diff:
        yield Line("findings on lines that the diff does not show", "heading")
    for number, finding in left:
        place = finding.path or "the whole pull request"
        span = "" if finding.start is None else f":{finding.start}"
        span += f"-{finding.end}" if finding.end not in (None, finding.start) else ""
        yield from _finding(number, finding, f"{place}{span}{' (left)' if finding.side is Side.LEFT else ''}: ")


def _finding(number: int, finding: Finding, place: str = "") -> Iterator[Line]:
    said = " ".join(filter(None, [finding.severity, finding.rule, finding.title]))
    yield Line(f"    > {number}. {one_line(f'{place}{said}')}".rstrip(), "finding")
    yield from _text(finding.body, "    >    ", "finding")


def _text(text: str, margin: str, style: str) -> Iterator[Line]:
    for line in split_lines(text):
        for part in textwrap.wrap(escape_controls(line), _WIDTH, replace_whitespace=False) or [""]:
            yield Line(f"{margin}{part}".rstrip(), style)


def _oracle(result: CommentResult, comment: str, explanation: Explanation | None) -> Iterator[Line]:
    """One oracle: its verdict, what the human commented, and its tests."""
    place = one_line(result.place.path or "?")
    span = "" if result.place.lines is None else f":{result.place.lines[0]}-{result.place.lines[1]}"
    style = {"caught": "good", "missed": "bad"}.get(str(result.verdict), "")
    name = f"{one_line(result.comment)} {place}{span} ({label_words(result.place.labels)})"
    yield Line(f"{name}: {result.verdict} ({why(result)})", style)
    if explanation is not None:
        yield Line(f"    {one_line(explanation.words)}", style)
    yield from _text(comment, "    | ", "comment")
    for line in part_lines(result):
        yield Line(f"    {line}")
    for test in result.tests:
        stopped = f" with {test.exception}" if test.exception else ""
        where = f" at {test.where}" if test.where else ""
        yield Line(f"    {one_line(f'{test.id}: {test.outcome}{stopped}{where}')}")


def _revision(trial: Trial) -> Iterator[Line]:
    if trial.revision is None:
        yield Line("revision: none", "heading")
        return
    text = trial.revision.diff
    lines = split_lines(text)
    yield Line("revision: empty" if not text.strip() else "revision", "heading")
    for fault in revision_faults(trial):
        yield Line(fault, "bad")
    for number, commit in enumerate(trial.revision.commits, 1):
        findings = ", ".join(map(str, commit.findings))
        added, removed = diffs.counts(commit.diff)
        told = f"finding {findings}" if findings else "names no finding"
        yield Line(one_line(f"commit {number} ({told}, +{added} -{removed}): {commit.message}".rstrip(": ")))
    for line in lines[:_MOST_LINES]:
        style = "added" if line.startswith("+") else "removed" if line.startswith("-") else ""
        yield Line(escape_controls(line), "" if line.startswith(("+++", "---")) else style)
    if len(lines) > _MOST_LINES:
        yield Line(f"and {len(lines) - _MOST_LINES} more lines")
    if trial.revision.notes:
        yield Line(one_line(f"notes: {trial.revision.notes}", 500))


def _cost(review: Review) -> str:
    cost = review.usage.cost_usd if review.usage is not None else None
    return f", {format_dollars(cost, 4)} USD" if cost is not None else ""
