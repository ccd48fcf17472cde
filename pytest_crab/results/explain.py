"""One trial in words: a line for the progress of a run, and what a person needs who asks why it failed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from pytest_crab import diffs
from pytest_crab.formats import format_count
from pytest_crab.text import cut, escape_controls, label_words, one_line, split_lines
from pytest_crab.types import NO_RUNTIME, CommentResult, Explanation, Finding, Reason, Review, Revision, Trial, Verdict
from pytest_crab.types.reviews import SuggestionCounts

#: A finding is near a comment if at most this many lines lie between them.
NEAR = 10

_ROLES = {Reason.FAILED: "the concern's own tests fail", Reason.GUARD: "a guard that held on head broke"}

#: How many findings are shown beside one oracle, and how many lines of each.
SHOWN, EXCERPT = 5, 4

#: How many further lines of one reason, and how many characters of each.
LONGEST, WIDEST = 30, 240


def instance_line(trial: Trial) -> str:
    """Return one line: what was caught, why the rest was not, how long it took here and which steps the store had."""
    parts = [f"skipped: {one_line(trial.skipped)}"] if trial.skipped is not None else _verdicts(trial)
    if trial.regressions:
        parts.append("passing tests broke")
    parts.append(f"{trial.seconds:.1f} s")
    reused = [one_line(step.step) for step in trial.steps if step.reused]
    if reused:
        parts.append(f"reused {', '.join(reused)}")
    return "; ".join(parts)


def _verdicts(trial: Trial) -> list[str]:
    parts = [f"{len(trial.having(Verdict.CAUGHT))}/{len(trial.results)} caught" if trial.results else "no oracle"]
    alike: dict[tuple[Verdict, str], list[str]] = {}
    for result in (*trial.having(Verdict.MISSED), *trial.having(Verdict.UNKNOWN)):
        alike.setdefault((result.verdict, why(result)), []).append(one_line(result.comment))
    return parts + [f"{', '.join(ids)} {verdict} ({reason})" for (verdict, reason), ids in alike.items()]


def why(result: CommentResult, limit: int = 200) -> str:
    """Return a verdict's reason with its detail on one line; without a detail, where the first bad test stopped.

    The detail is cut to ``limit`` characters. Where the proof knows the roles of the oracle's tests, it says whether
    the concern's own or a guard failed.
    """
    detail, reason = result.detail, str(result.reason)
    if "guards" in result.score.evidence:
        reason = _ROLES.get(result.reason, reason)
    if detail is None and result.reason is Reason.FAILED:
        stops = (f"{test.exception} at {test.where}" for test in result.tests if test.exception and test.where)
        detail = next(stops, None)
    return f"{reason}: {one_line(detail, limit)}" if detail else reason


def explain(trial: Trial) -> list[str]:
    """Return lines for a failed or broken item: each oracle with the findings near it, then review and revision.

    Holds nothing of an oracle but its comment's id and place. What a model wrote is shown with its controls escaped.
    """
    repeat = f" (repeat {trial.repeat})" if trial.repeat > 1 else ""
    lines = [one_line(f"{trial.instance}: {measured_words(trial)}{repeat}")]
    if trial.skipped is not None:
        lines.append(f"skipped: {one_line(trial.skipped)}")
    if trial.error is not None:
        lines.append(one_line(trial.error, 500))
    for result in trial.results:
        lines += explain_result(result, trial)
    lines += _told_at_length(trial)
    lines.append(_review_size(trial.review))
    lines += review_faults(trial)
    lines.append(_revision_size(trial.revision))
    lines += revision_faults(trial)
    lines += suggestion_words(None if trial.revision is None else trial.revision.suggestions)
    if trial.regressions is not None:
        lines.append(f"tests that passed before {'are broken' if trial.regressions else 'still pass'}")
    if trial.transcripts and trial.error is not None:
        lines.append(f"to see what was said: pytest-crab show {one_line(str(trial.id))} --transcript")
    if any(result.score.evidence.get("proved") is False for result in trial.results):
        lines.append(f"to see what is wrong with an oracle: pytest-crab set certify {one_line(trial.instance)}")
    return lines


def measured_words(trial: Trial) -> str:
    """Return who was measured, and with what."""
    place = "" if trial.runtime == NO_RUNTIME else f", on {trial.runtime}"
    return f"reviewer {trial.reviewer}, agent {trial.agent}{place}"


def attachments(trial: Trial) -> dict[str, str]:
    """Return the texts that go with a trial into other tools' reports: outcome, findings, and the revision as a diff.

    What there is not is left out. Control characters are escaped.
    """
    findings = () if trial.review is None else trial.review.findings
    texts = {
        "outcome": "\n".join(explain(trial)),
        "findings": "\n\n".join(f"{_finding_place(finding)}\n{finding.body}" for finding in findings),
        "revision": "" if trial.revision is None else trial.revision.diff or "",
    }
    return {name: "\n".join(map(escape_controls, text.split("\n"))) for name, text in texts.items() if text}


def explain_result(result: CommentResult, trial: Trial) -> list[str]:
    """Return a line for one oracle, and indented ones for the findings near it."""
    lines = [f"{one_line(result.comment)} {_place(result)}: {result.verdict} ({why(result)})"]
    explanation = trial.explanations.get(result.comment)
    if explanation is not None:
        lines.append(f"    {one_line(explanation.words)}")
    lines += [f"    {line}" for line in part_lines(result)]
    near = () if trial.review is None else _findings_near(result, trial.review, explanation)
    return [*lines, *(f"    {line}" for line in near)]


def part_lines(result: CommentResult) -> list[str]:
    """Return a line for each thing that the comment asks for, where these are several and the tests told."""
    return [
        one_line(f"part {number} of {len(result.parts)} is {'' if part.resolved else 'not '}resolved: {part.asks}")
        for number, part in enumerate(result.parts, 1)
    ]


def _told_at_length(trial: Trial) -> Iterator[str]:
    """Yield the further lines of errors and reasons, such as the difference to a recording; equal ones once."""
    for told in dict.fromkeys([trial.error, *(result.detail for result in trial.results)]):
        for line in split_lines(told or "")[1 : LONGEST + 1]:
            yield f"    {cut(escape_controls(line), WIDEST)}"


def _place(result: CommentResult) -> str:
    where = "" if result.place.path is None else f"{one_line(result.place.path)}{_span(result.place.lines)}, "
    return f"({where}{label_words(result.place.labels)})"


def _span(lines: tuple[int, int] | None) -> str:
    if lines is None:
        return ""
    return f":{lines[0]}" if lines[0] == lines[1] else f":{lines[0]}-{lines[1]}"


def _findings_near(result: CommentResult, review: Review, explanation: Explanation | None) -> Iterator[str]:
    """Yield the findings that the explanation calls near; without one, those within NEAR lines."""
    if explanation is not None:
        near = [review.findings[number - 1] for number in explanation.near if number <= len(review.findings)]
    elif result.place.path is None:
        return
    else:
        near = [finding for finding in review.findings if is_near(finding, result)]
        if not near and review.count is None:
            yield f"no finding within {NEAR} lines"
    for finding in near[:SHOWN]:
        yield f"near: {_finding_place(finding)} {one_line(finding.title or '', 100)}".rstrip()
        yield from (f"    {line}" for line in _excerpt(finding.body))
    if len(near) > SHOWN:
        yield f"and {len(near) - SHOWN} more near it"


def is_near(finding: Finding, result: CommentResult) -> bool:
    """Tell whether a finding speaks of the comment's file and side, and of the whole file or of lines close by."""
    if finding.path is None or finding.path != result.place.path:
        return False
    if finding.lines is None or result.place.lines is None:
        return True
    start, end = finding.lines
    first, last = result.place.lines
    return finding.side is result.place.side and start <= last + NEAR and end >= first - NEAR


def _finding_place(finding: Finding) -> str:
    return f"{one_line(finding.path or '')}{_span(finding.lines)}"


def _excerpt(body: str) -> list[str]:
    """Return the first lines of a text, each of them visible and at most 100 wide."""
    wrapped = [
        escape_controls(part)
        for line in split_lines(body)
        for part in textwrap.wrap(escape_controls(line.strip()), 100)
    ]
    return wrapped if len(wrapped) <= EXCERPT else [*wrapped[: EXCERPT - 1], "..."]


def _review_size(review: Review | None) -> str:
    if review is None:
        return "review: none"
    text = "" if review.count is None else ", whose text is not on record"
    return f"review: {format_count(review.size, 'finding')}{text}"


def review_faults(trial: Trial) -> Iterator[str]:
    """Yield a line for a prompt that was cut, for findings on no file of the diff, those not read, or not placed."""
    if trial.review is not None and trial.review.cut:
        yield _cut_words("the reviewer was not shown all", trial.review.cut)
    if trial.off_diff:
        paths = ", ".join(dict.fromkeys(trial.off_diff))
        yield one_line(f"on no file of the diff: {format_count(len(trial.off_diff), 'finding')} ({paths})", 500)
    if trial.review is not None and trial.review.set_aside:
        yield _fault("could not be read and set aside", trial.review.set_aside)
    if trial.review is not None and trial.review.unplaced:
        yield _fault("kept without a place that cannot be read", trial.review.unplaced)


def revision_faults(trial: Trial) -> Iterator[str]:
    """Yield a line for an agent's prompt that was cut."""
    if trial.revision is not None and trial.revision.cut:
        yield _cut_words("the agent was not shown all", trial.revision.cut)


def _cut_words(what: str, sentences: Sequence[str]) -> str:
    return one_line(f"{what}: {'; '.join(sentences)}", 500)


def _fault(what: str, sentences: Sequence[str]) -> str:
    reasons = "; ".join(dict.fromkeys(sentences))
    return one_line(f"{what}: {format_count(len(sentences), 'finding')} ({reasons})", 500)


def suggestion_words(counts: SuggestionCounts | None) -> list[str]:
    """Return a line on what became of suggestion blocks; none where there were none."""
    if counts is None:
        return []
    other = counts.given - counts.applied - counts.unparsed - counts.unread
    reasons = (
        (counts.unparsed, "left out since the file would not parse"),
        (counts.unread, "whose mark, place or end cannot be read"),
        (other, "not fitting the head or another one"),
    )
    told = "".join(f", {count} {reason}" for count, reason in reasons if count)
    return [f"suggestions: {counts.applied} of {counts.given} applied{told}"]


def _revision_size(revision: Revision | None) -> str:
    if revision is None:
        return "revision: none"
    diff = diffs.normalise(revision.diff)
    if not diff:
        return "revision: empty"
    try:
        files = diffs.parse(diff)
    except ValueError:
        return f"revision: {len(split_lines(diff))} lines that are not a git diff"
    added, removed = sum(len(file.added) for file in files), sum(len(file.removed) for file in files)
    return f"revision: +{added} -{removed} lines in {format_count(len(files), 'file')}"
