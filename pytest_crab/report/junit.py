"""The JUnit file with a case per oracle: one suite per reviewer, its rates as the suite's properties."""

from __future__ import annotations

import io
from collections.abc import Iterable
from collections.abc import Iterator
from pathlib import Path

import junitparser

from pytest_crab.report.explain import why
from pytest_crab.report.files import write_report_file
from pytest_crab.report.summary import OUTCOMES
from pytest_crab.report.summary import ReviewerSummary
from pytest_crab.report.summary import Summary
from pytest_crab.text import one_line
from pytest_crab.types import CommentResult
from pytest_crab.types import Reason
from pytest_crab.types import Trial
from pytest_crab.types import Verdict

_Ending = junitparser.Failure | junitparser.Skipped | junitparser.Error


def write_junit(path: Path, trials: Iterable[Trial], summary: Summary) -> None:
    """Write the file; whoever reads sees the old one or the whole new one. Raises OSError."""
    write_report_file(path, [render(trials, summary)])


def render(trials: Iterable[Trial], summary: Summary) -> bytes:
    """Return the file's bytes: caught passes, missed is a failure, unknown an error, not run is skipped.

    A trial's seconds are shared out evenly among its cases. A trial without any oracle result is one case of its own.
    All text is on one line and legal in XML, and none of it comes from an oracle's source.
    """
    cases: dict[str, list[junitparser.TestCase]] = {}
    latest = {trial.id: trial for trial in trials}
    for trial in latest.values():
        cases.setdefault(trial.reviewer, []).extend(_cases(trial))
    document = junitparser.JUnitXml("pytest-crab")
    for reviewer in summary.reviewers:
        suite = junitparser.TestSuite(one_line(reviewer.reviewer))
        for name, value in _properties(reviewer):
            suite.add_property(name, value)
        suite.add_testcases(cases.get(reviewer.reviewer, []))
        document.add_testsuite(suite)
    document.update_statistics()  # type: ignore[no-untyped-call]
    content = io.BytesIO()
    document.write(content)
    return content.getvalue()


def _cases(trial: Trial) -> Iterator[junitparser.TestCase]:
    repeat = f"[{trial.repeat}]" if trial.repeat > 1 else ""
    seconds = round(trial.seconds / max(1, len(trial.results)), 3)
    for result in trial.results:
        name = f"{one_line(result.comment)}{repeat}"
        case = junitparser.TestCase(name, classname=one_line(trial.instance), time=seconds)
        case.result = list(_result(result, trial))
        yield case
    if not trial.results:
        case = junitparser.TestCase(f"trial{repeat}", classname=one_line(trial.instance), time=seconds)
        cause = trial.error or trial.skipped
        if cause is not None:
            kind = junitparser.Skipped if trial.error is None else junitparser.Error
            case.result = [kind(one_line(cause), Reason.NOT_RUN.value)]
        yield case


def _result(result: CommentResult, trial: Trial) -> Iterator[_Ending]:
    if result.verdict is Verdict.MISSED:
        yield junitparser.Failure(why(result), result.reason.value)
    elif result.reason is Reason.NOT_RUN:
        skipped = f": {one_line(trial.skipped)}" if trial.skipped else ""
        yield junitparser.Skipped(f"{why(result)}{skipped}", result.reason.value)
    elif result.verdict is Verdict.UNKNOWN:
        yield junitparser.Error(why(result), result.reason.value)


def _properties(reviewer: ReviewerSummary) -> Iterator[tuple[str, str]]:
    """Names begin with ``crab.``; what was not measured is left out."""
    score = reviewer.overall
    values: dict[str, object] = {
        "agent": ", ".join(reviewer.agents),
        "runtime": ", ".join(reviewer.runtimes),
        "rate": score.micro,
        "macro": score.macro,
        "low": score.low,
        "high": score.high,
        "oracles": score.oracles,
        "known": score.known,
        **{f"rate.{word}": own.micro for word, own in (*reviewer.by_kind.items(), *reviewer.by_category.items())},
        **{f"outcome.{outcome.replace(' ', '-')}": reviewer.outcomes[outcome] for outcome in OUTCOMES},
        "comments": reviewer.comments,
        "cost_usd": reviewer.cost_usd,
        "authored": reviewer.authored,
        "github": reviewer.github,
        "notes": "; ".join(reviewer.notes) or None,
    }
    for name, value in values.items():
        if value is not None:
            text = f"{value:.6g}" if isinstance(value, float) else str(value)
            yield f"crab.{name}", one_line(text)
