"""The page's data on one trial and one instance; controls in foreign texts are escaped here."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_crab import diffs
from pytest_crab.diffs import HUNK_HEAD, split_files
from pytest_crab.formats import NOTHING, format_dollars
from pytest_crab.instances.pull_requests import Subject, SubjectComment
from pytest_crab.results.explain import NEAR, review_faults, revision_faults
from pytest_crab.results.recorded_rulers import rulers_of
from pytest_crab.show.summary_tables import name_with_marks
from pytest_crab.show.transcripts import Transcript
from pytest_crab.text import cut, escape_controls, label_words, split_lines
from pytest_crab.types import (
    FIRST,
    NO_RUNTIME,
    PLACEBO,
    CommentResult,
    Explanation,
    Finding,
    Reason,
    Review,
    Revision,
    ScoredComment,
    Trial,
    Usage,
    Verdict,
)

#: Longest line, text and diff that the page shows; what is longer ends with a note, and is whole in trials.jsonl.
LINE, TEXT, DIFF_LINES, FINDINGS = 1_000, 20_000, 4_000, 500

#: Lines of a diff that only say what stands above the file anyway.
_NAMES = ("diff --git ", "index ", "--- ", "+++ ")

#: The reasons that say no more than the verdict does.
_SAID_BY_VERDICT = frozenset({Reason.GREEN, Reason.CORRECT, Reason.HIT, Reason.FAILED, Reason.NO_HIT})

_VERDICTS = tuple(Verdict)

#: The marks of lines that one side of a diff has, or both.
_MARKS = frozenset(" +-")

#: In a hunk a line that is not of it, and no head of the next one.
_ODD_LINE = re.compile(rf"\n(?![ +\\-]|{HUNK_HEAD.pattern})")


def safe(text: str | None) -> str:
    """Foreign text of several lines that cannot steer anything: escapes shown, lines and the whole cut."""
    text = text or ""
    if len(text) <= LINE and text.isprintable():
        return text
    return "\n".join(map(_safe_line, split_lines(cut(text, TEXT))))


def _safe_line(line: str) -> str:
    if line.isprintable() and len(line) <= LINE:
        return line
    return cut(escape_controls(line.expandtabs(8)), LINE)


def index_row(trial: Trial) -> dict[str, Any]:
    """The trial in the list: what is filtered by and what is counted."""
    results = trial.results
    marked = name_with_marks(trial.reviewer, trial.privileged, trial.leaky)
    return {
        "i": trial.instance,
        "r": trial.reviewer,
        **({"l": marked} if marked != trial.reviewer else {}),
        "n": trial.repeat,
        "p": trial.repo,
        "g": sorted({safe(result.place.category) for result in results}),
        "k": sorted({safe(result.place.kind) for result in results}),
        "v": list(verdict_counts(trial)),
        "f": None if trial.review is None else trial.review.size,
        "s": trial.seconds,
        "w": sorted({result.reason.value for result in results}),
    }


def verdict_counts(trial: Trial) -> tuple[int, ...]:
    """Return how often a trial has each verdict, in their order."""
    return tuple(map([result.verdict for result in trial.results].count, _VERDICTS))


def trial_detail(trial: Trial, transcripts: Sequence[Transcript] = ()) -> dict[str, Any]:
    """Everything that the page shows of one trial, with those of its transcripts that there is room for."""
    findings = () if trial.review is None else trial.review.findings
    return {
        "agent": safe(trial.agent),
        "runtime": None if trial.runtime == NO_RUNTIME else trial.runtime,
        "error": safe(trial.error or trial.skipped) or None,
        "regressions": trial.regressions,
        "results": [_result(result, trial.explanations.get(result.comment)) for result in trial.results],
        "commits": list(_commits(trial)),
        "findings": [
            {**_finding(finding), "id": place + 1, "led": _led_to(trial, place)}
            for place, finding in enumerate(findings[:FINDINGS])
        ],
        "unshown": max(0, len(findings) - FINDINGS),
        "files": None if trial.revision is None else list(diff_files(trial.revision.diff)),
        "notes": safe(None if trial.revision is None else trial.revision.notes) or None,
        "steps": list(_steps(trial)),
        "commands": list(_commands(trial)),
        "facts": list(_facts(trial)),
        "transcripts": [{"head": safe(one.heading), "text": safe(one.text)} for one in transcripts],
        "unheard": max(0, len(trial.transcripts) - len(transcripts)),
    }


def subject_detail(subject: Subject) -> dict[str, Any]:
    """The pull request with its human comments, as the page shows them."""
    return {
        "title": safe(subject.title),
        "body": safe(subject.body),
        "url": subject.url if (subject.url or "").startswith("https://") else None,
        "files": list(diff_files(subject.diff)),
        "comments": [_comment(comment) for comment in subject.comments],
    }


def diff_files(diff: str) -> Iterator[dict[str, Any]]:
    """The files of a git diff: the path, and as one text the lines that the page's script numbers; never raises.

    A line begins with its mark: that of the diff, "@" for the head of a hunk, "#" for what stands above the hunks.
    What an agent handed over may be no diff at all; it is then shown as it is, under no file's name.
    """
    left = DIFF_LINES
    for part in split_files(diff):
        above, hunks = _plain_hunks(part.text, left)
        lines = split_lines(above)
        rows = [*_rows(lines[:left]), *hunks]
        if len(lines) > left:
            rows.append("\\ more lines are in trials.jsonl")
        left -= part.text.count("\n")
        path = part.new if part.new is not None else part.old
        yield {"path": None if path is None else safe(path), "rows": "\n".join(rows)}
        if left < 0:
            return


def _plain_hunks(text: str, most: int) -> tuple[str, list[str]]:
    """Return the lines of a file's diff to look at one by one, and behind them the hunks that can be shown as they are.

    Most can, and there is nothing to do for each of their lines. ``most`` lines are shown.
    """
    above, found, rest = text.partition("\n@@ -")
    hunks = found + rest.removesuffix("\n")
    plain = (
        found
        and text.count("\n") < most
        and _ODD_LINE.search(hunks) is None
        and hunks.replace("\n", "").isprintable()
        and max(map(len, hunks.split("\n"))) <= LINE
    )
    return (f"{above}\n", [hunks.replace("\n@@", "\n@@@")[1:]]) if plain else (text, [])


def _rows(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of one file's diff, each behind its mark."""
    as_they_are = "".join(lines).isprintable() and max(map(len, lines), default=0) <= LINE
    in_hunk = False
    for line in lines:
        if in_hunk and line[:1] in _MARKS:
            yield line if as_they_are else line[:1] + _safe_line(line[1:])
        elif HUNK_HEAD.match(line):
            in_hunk = True
            yield "@" + safe(line)
        elif in_hunk:
            yield "\\" + safe(line.removeprefix("\\"))
        elif not line.startswith(_NAMES):
            yield "#" + safe(line)


def near(findings: Iterable[Finding], results: Sequence[CommentResult]) -> Iterator[str | None]:
    """For each finding the category of the nearest comment within NEAR lines on its side of its file, else None."""
    places = [result.place for result in results]
    for finding in findings:
        distances = [
            (distance, at)
            for at, place in enumerate(places)
            if (distance := _distance(finding, place)) is not None and distance <= NEAR
        ]
        yield places[min(distances)[1]].category if distances else None


def _distance(finding: Finding, place: ScoredComment) -> int | None:
    if finding.path is None or finding.path != place.path or finding.side != place.side:
        return None
    if finding.lines is None or place.lines is None:
        return NEAR
    (start, end), (first, last) = finding.lines, place.lines
    return max(0, start - last, first - end)


def _result(result: CommentResult, explanation: Explanation | None) -> dict[str, Any]:
    return {
        "said": list(_verdict_reasons(result, explanation)),
        "comment": result.comment,
        "lines": result.place.lines,
        "side": result.place.side.value,
        "labels": safe(label_words(result.place.labels)),
        "verdict": result.verdict.value,
        "resolvable": result.place.resolvable,
        "path": safe(result.place.path) or None,
        "parts": [[safe(part.asks), part.resolved] for part in result.parts],
        "tests": [[safe(test.id), test.outcome, safe(test.exception), safe(test.where)] for test in result.tests[:50]],
    }


def _verdict_reasons(result: CommentResult, explanation: Explanation | None) -> Iterator[str]:
    """Yield why the verdict is what it is, each fact once: which findings decided it, and what the tests said."""
    silent = result.reason is Reason.NO_FINDINGS
    if explanation is not None and not silent:
        yield safe(explanation.words)
    detail = safe(result.detail)
    if result.reason in _SAID_BY_VERDICT or (silent and detail):
        yield from filter(None, [detail])
    else:
        yield f"{result.reason.value}: {detail}" if detail else result.reason.value


def _finding(finding: Finding) -> dict[str, Any]:
    sure = None if finding.confidence is None else f"confidence {finding.confidence}"
    return {
        "path": safe(finding.path) or None,
        "start": finding.start,
        "end": finding.end,
        "side": finding.side.value,
        "head": safe(" · ".join(filter(None, (finding.severity, sure, finding.rule, finding.title)))),
        "body": safe(finding.body),
    }


def _comment(comment: SubjectComment) -> dict[str, Any]:
    return {
        "id": comment.id,
        "path": safe(comment.path) or None,
        "lines": comment.lines,
        "side": comment.side.value,
        "head": safe(label_words(comment.labels)),
        "body": safe(comment.body),
    }


def _commits(trial: Trial) -> Iterator[list[str]]:
    """Yield a row for each commit of a revision that is a series: findings, lines, files, message, oracles decided."""
    for commit in () if trial.revision is None else trial.revision.commits:
        added, removed = diffs.counts(commit.diff)
        decided = [
            f"{comment} {one.outcome}"
            for comment, one in trial.explanations.items()
            if not set(one.findings).isdisjoint(commit.findings)
        ]
        yield [
            ", ".join(map(str, commit.findings)) or NOTHING,
            f"+{added} -{removed}",
            safe(", ".join(sorted(diffs.touched_paths(commit.diff))[:20])),
            safe(commit.message) or NOTHING,
            safe(", ".join(decided)) or NOTHING,
        ]


def _led_to(trial: Trial, place: int) -> list[str]:
    """Return the comments that were caught because of the finding at this place alone, where that was asked for."""
    led = trial.attribution.items() if trial.attribution else ()
    return [safe(comment) for comment, places in led if place in places]


def _steps(trial: Trial) -> Iterator[list[str]]:
    """Yield a row for each step: name, seconds, who made it, requests, tokens in and out, dollars, models; then all.

    The whole takes longer than its steps by what lies between them, and a step from the store by the wait for it.
    """
    made: dict[str, Review | Revision | None] = {"review": trial.review, "revision": trial.revision}
    timed = {one.step: one for one in trial.steps}
    for step in dict.fromkeys([*timed, *(name for name, own in made.items() if own is not None)]):
        record, own = timed.get(step), made.get(step)
        usage = (own and own.usage) or Usage()
        amounts = (usage.requests, usage.input_tokens, usage.output_tokens)
        yield [
            safe(step),
            NOTHING if record is None else f"{record.seconds:.1f}{', from the store' if record.reused else ''}",
            safe(None if own is None else own.version) or NOTHING,
            *(NOTHING if amount is None else f"{amount:,}" for amount in amounts),
            format_dollars(usage.cost_usd, 4),
            safe(", ".join(usage.models or ())) or NOTHING,
        ]
    if timed:
        yield ["the whole trial", f"{trial.seconds:.1f}", *[NOTHING] * 6]


def _commands(trial: Trial) -> Iterator[list[str]]:
    """Yield the commands that show and repeat a trial, each with its purpose."""
    again = " ".join(map(_quoted, ("pytest", *_options(trial), f"SET/{trial.instance}/instance.yaml")))
    name = safe(_quoted(str(trial.id)))
    yield ["Run it again; SET is the folder of the set, and finished steps come from the store", safe(again)]
    yield ["Show it in a terminal; add --report DIR if the report is not in .crab", f"pytest-crab show {name}"]
    yield ["Read all that was asked and said", f"pytest-crab show {name} --transcript"]
    yield ["Open a shell where its revision is applied", f"pytest-crab set shell {name}"]


#: Trials have the same few options.
_quoted = functools.lru_cache(1024)(shlex.quote)


def _options(trial: Trial) -> Iterator[str]:
    """Yield the options of a run that has this trial: those that its record tells."""
    reviewer = trial.review_by or trial.reviewer
    if trial.variant in (FIRST, PLACEBO):
        reviewer, _, first = reviewer.rpartition("@")
        yield f"--reviewer={reviewer}"
        yield f"--crab-top-n={first}" if trial.variant == FIRST else "--crab-placebo=REPORT"
    else:
        yield f"--reviewer={reviewer}"
    yield f"--agent={trial.agent}"
    rulers = [*rulers_of(trial)]
    if rulers not in ([], ["oracles"]):
        yield from (f"--crab-score={name}" for name in rulers)
    if trial.runtime != NO_RUNTIME:
        yield f"--crab-runtime={trial.runtime}"
    if trial.repeat > 1:
        yield f"--crab-repeat={trial.repeat}"
    if trial.attribution is not None:
        yield "--crab-attribute"


def _facts(trial: Trial) -> Iterator[list[str]]:
    """Yield what else is on record, in pairs: faults of the review and the revision, and versions."""
    for fault in (*review_faults(trial), *revision_faults(trial)):
        what, _, details = fault.partition(": ")
        yield [what, safe(details)]
    for key, value in trial.versions.items():
        yield [safe(key), safe(_plain(value))]


def _plain(value: Any) -> str:
    """Return a value of JSON in plain words: names before values, without braces and what is empty."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items() if each not in (None, "", [], {}))
    return ", ".join(map(_plain, value)) if isinstance(value, (list, tuple)) else str(value)
