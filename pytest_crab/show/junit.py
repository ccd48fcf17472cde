"""The JUnit file with a case per oracle: one suite per reviewer, its rates as the suite's properties."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol
from xml.etree import ElementTree

import junitparser

from pytest_crab.formats import format_table
from pytest_crab.results.explain import explain_result, why
from pytest_crab.results.explained import ExplainedRates
from pytest_crab.results.files import write_report_file
from pytest_crab.results.gate_record import Gate, GateRuling
from pytest_crab.results.rates import Rate
from pytest_crab.results.recorded_rulers import RecordedRuler
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import OUTCOMES, Summary
from pytest_crab.show.label_changes import label_table
from pytest_crab.text import one_line
from pytest_crab.types import Reason, Trial, Verdict

#: The rulings that a gate's cases tell apart, and the most characters of their reasons.
_PASSED, _FAILED, _LONGEST = "passed", "failed", 5000


class ReasonOfVerdict(Protocol):
    """The reason of a verdict, of trials or of another kind."""

    @property
    def value(self) -> str:
        """Its word."""

    @property
    def verdict(self) -> Verdict:
        """The verdict that it stands for."""


_Ending = junitparser.Failure | junitparser.Skipped | junitparser.Error


#: What a missed oracle can be in the file.
FAILURE, SKIPPED, NONE = "failure", "skipped", "none"

#: The name of the suite with the gate's rulings.
GATE = "gate"


def write_junit(
    path: Path,
    trials: Iterable[Trial],
    summary: Summary,
    *,
    misses: str = FAILURE,
    more: Iterable[junitparser.TestSuite] = (),
) -> None:
    """Write the file; whoever reads sees the old one or the whole new one. Raises OSError."""
    write_report_file(path, [render(trials, summary, misses=misses, more=more)])


def render(
    trials: Iterable[Trial],
    summary: Summary,
    *,
    misses: str = FAILURE,
    more: Iterable[junitparser.TestSuite] = (),
) -> bytes:
    """Return the file's bytes, valid against Jenkins' xunit2 schema.

    Caught passes, missed is what ``misses`` says (NONE: it passes; so do the misses of the control and other variants),
    unknown is an error, not run is skipped. With a gate the first suite has a case for each of its rulings,
    with the table of labels before and after below the reasons. A trial's
    seconds are shared out evenly among its cases. A trial without any oracle result is one case of its own. Suites of
    contestants of another kind (``more``) come last. All text is legal in XML, messages are on one line, and none of it
    comes from an oracle's source.
    """
    cases: dict[str, list[junitparser.TestCase]] = {}
    latest = {trial.id: trial for trial in trials}
    for trial in latest.values():
        cases.setdefault(trial.reviewer, []).extend(_cases(trial, misses if trial.variant is None else NONE))
    document = junitparser.JUnitXml("pytest-crab")
    if summary.gate is not None:
        document.add_testsuite(gate_suite(GATE, summary.gate))
    for reviewer in summary.reviewers:
        properties = _properties(reviewer, summary.rulers)
        document.add_testsuite(suite_of(reviewer.reviewer, properties, cases.get(reviewer.reviewer, [])))
    for suite in more:
        document.add_testsuite(suite)
    document.update_statistics()  # type: ignore[no-untyped-call]
    content = io.BytesIO()
    document.write(content)
    return _conforming(content.getvalue())


def suite_of(
    contestant: str, properties: Mapping[str, object], cases: Iterable[junitparser.TestCase]
) -> junitparser.TestSuite:
    """Return a contestant's suite. Names of properties get ``crab.`` before them; those that are None are left out."""
    suite = junitparser.TestSuite(one_line(contestant))
    for name, value in properties.items():
        if value is not None:
            text = f"{value:.6g}" if isinstance(value, float) else str(value)
            suite.add_property(f"crab.{name}", one_line(text))
    suite.add_testcases(list(cases))
    return suite


def gate_suite(name: str, gate: Gate) -> junitparser.TestSuite:
    """Return the suite of a gate, with a case for each of its rulings."""
    properties = {"exit_code": gate.exit_code, "ruling": gate.ruling, "account": gate.account or None}
    return suite_of(name, properties, [_gate_case(ruling, gate) for ruling in gate.rulings])


def case_of(
    name: str, instance: str, seconds: float, reason: ReasonOfVerdict, message: str, body: str, misses: str
) -> junitparser.TestCase:
    """Return the case of one verdict: see ``render``. ``message`` is one line of why, ``body`` all that is known."""
    case = junitparser.TestCase(one_line(name), classname=one_line(instance), time=round(seconds, 3))
    case.result = list(_endings(reason, message, body, misses))
    if not case.result:
        case.system_out = body
    return case


def _endings(reason: ReasonOfVerdict, message: str, body: str, misses: str) -> Iterator[_Ending]:
    if reason.verdict is Verdict.MISSED:
        if misses == FAILURE:
            yield _with_body(junitparser.Failure(message, reason.value), body)
        elif misses == SKIPPED:
            yield _with_body(junitparser.Skipped(message, reason.value), body)
    elif reason.value == Reason.NOT_RUN.value:
        yield junitparser.Skipped(message, reason.value)
    elif reason.verdict is Verdict.UNKNOWN:
        yield _with_body(junitparser.Error(message, reason.value), body)


def _conforming(content: bytes) -> bytes:
    """Return the document with what the xunit2 schema forbids mended: skipped on testsuites, times of many digits."""
    root = ElementTree.fromstring(content)  # noqa: S314 - written here
    root.attrib.pop("skipped", None)
    for element in root.iter():
        if "time" in element.attrib:
            element.set("time", str(round(float(element.attrib["time"]), 3)))
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _gate_case(ruling: GateRuling, gate: Gate) -> junitparser.TestCase:
    case = junitparser.TestCase(one_line(ruling.reviewer or "run"), classname=GATE, time=0.0)
    reasons = (one_line(line, _LONGEST) for line in (*ruling.lines, *ruling.details))
    text = "\n".join([*reasons, *_change_lines(ruling.reviewer, gate)])
    if ruling.ruling == _PASSED:
        case.system_out = text
        return case
    message = one_line(" ".join(ruling.lines))
    failed = ruling.ruling == _FAILED
    ending = junitparser.Failure(message, ruling.ruling) if failed else junitparser.Error(message, ruling.ruling)
    case.result = [_with_body(ending, text)]
    return case


def _change_lines(reviewer: str | None, gate: Gate) -> Iterator[str]:
    """Yield the tables of a reviewer's labels before and after, against the baseline and against the anchor."""
    for name, labels in gate.labels.items():
        if reviewer is not None and (name == reviewer or name.startswith(f"{reviewer} against ")):
            yield ""
            yield one_line(f"{name} by label, before and after")
            yield from format_table(label_table(labels))


def _with_body(ending: _Ending, text: str) -> _Ending:
    ending.text = text
    return ending


def _cases(trial: Trial, misses: str) -> Iterator[junitparser.TestCase]:
    repeat = f"[{trial.repeat}]" if trial.repeat > 1 else ""
    seconds = round(trial.seconds / max(1, len(trial.results)), 3)
    for result in trial.results:
        skipped = f": {one_line(trial.skipped)}" if trial.skipped and result.reason is Reason.NOT_RUN else ""
        body = "\n".join(explain_result(result, trial))
        name = f"{result.comment}{repeat}"
        yield case_of(name, trial.instance, seconds, result.reason, f"{why(result)}{skipped}", body, misses)
    if not trial.results:
        case = junitparser.TestCase(f"trial{repeat}", classname=one_line(trial.instance), time=seconds)
        cause = trial.error or trial.skipped
        if cause is not None:
            kind = junitparser.Skipped if trial.error is None else junitparser.Error
            case.result = [kind(one_line(cause), Reason.NOT_RUN.value)]
        yield case


def _interval(score: Rate) -> str | None:
    interval = score.interval
    return None if interval is None else f"{interval.low:.4g} to {interval.high:.4g} over {interval.basis}"


def _label_rates(reviewer: ReviewerSummary) -> Iterator[tuple[str, Rate]]:
    """Yield rates by ``dimension.word``; by the word alone for a kind or a category, unless it is both."""
    both = reviewer.by_kind.keys() & reviewer.by_category.keys()
    for dimension, rates in reviewer.by_label.items():
        short = dimension in ("kind", "category")
        for word, own in rates.items():
            yield (word if short and word not in both else f"{dimension}.{word}"), own


def _decided_by(reviewer: ReviewerSummary) -> str | None:
    return ", ".join(f"{ruler} {count}" for ruler, count in reviewer.decided_by.items()) or None


def _explained(own: ExplainedRates | None) -> dict[str, object]:
    if own is None:
        return {}
    rates = {name.replace(" ", "-"): rate for name, rate in own.rates().items()}
    known = {f"{name}.known": rate.known for name, rate in rates.items()}
    return {**{name: rate.micro for name, rate in rates.items()}, **known}


def _properties(reviewer: ReviewerSummary, rulers: Mapping[str, RecordedRuler]) -> dict[str, object]:
    """Return the numbers by name; None: not measured."""
    score = reviewer.overall
    labels = dict(_label_rates(reviewer))
    shown = [ruler for ruler in reviewer.by_ruler if ruler in rulers]
    return {
        "agent": ", ".join(reviewer.agents),
        "runtime": ", ".join(reviewer.runtimes) or None,
        "rate": score.micro,
        "macro": score.macro,
        "low": score.low,
        "high": score.high,
        "oracles": score.oracles,
        "known": score.known,
        "interval": _interval(score),
        **{f"rate.{name}": own.micro for name, own in labels.items()},
        **{f"interval.{name}": _interval(own) for name, own in labels.items()},
        **{f"outcome.{outcome.replace(' ', '-')}": reviewer.outcomes.get(outcome, 0.0) for outcome in OUTCOMES},
        "decided_by": _decided_by(reviewer),
        **{f"ruler.{ruler}": own.mean for ruler, own in reviewer.by_ruler.items()},
        **{f"ruler.{ruler}.comments": own.comments for ruler, own in reviewer.by_ruler.items()},
        **{f"ruler.{ruler}.version": " and ".join(rulers[ruler].versions) for ruler in shown},
        **{f"ruler.{ruler}.caution": rulers[ruler].caution or None for ruler in shown},
        **_explained(reviewer.explained),
        "comments": reviewer.comments,
        "false_alarms_per_clean_pull_request": None if reviewer.clean is None else reviewer.clean.per_pull_request,
        "cost_usd": reviewer.cost_usd,
        "authored": reviewer.authored,
        "github": reviewer.github,
        "injected": reviewer.injected,
        "notes": "; ".join(reviewer.notes) or None,
    }
