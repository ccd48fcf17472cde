"""The last lines of what the project's own tests or commands print, for who has to mend something by them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from pytest_crab import harness
from pytest_crab.ecosystems import messages
from pytest_crab.text import cut, escape_controls, output_lines
from pytest_crab.trial.context import TrialContext

#: The name of what a run says of the oracle's file as a whole.
SESSION = "session"

#: So many characters of them are told.
_MOST = 1_500


def last_lines(context: TrialContext, run: harness.AnyRun) -> str:
    """Return the end of what a run prints that is to tell it; empty if nothing is known.

    Where its runner picks what a build says out of what that prints, it is the beginning of this.
    Raises ImageError, EngineError, Cancelled.
    """
    report = run_alone(context, run)
    said = report.quoted.get(run.id, {}).get(SESSION)
    printed = _texts(report.printed.get(run.id, "")) if said is None else output_lines(said)
    lines = [*_without_stacks(line for line in printed if line.strip())]
    told = "\n".join(lines)[-_MOST:] if said is None else "\n".join(_first(lines))
    return "\n".join(escape_controls(line) for line in output_lines(told) if line.strip())


def _first(lines: Sequence[str]) -> Iterator[str]:
    """Yield the first lines, as many as are told, each of them whole; the very first may be cut."""
    left = _MOST
    for number, line in enumerate(lines):
        left -= len(line)
        if left < 0 and number:
            return
        yield cut(line, _MOST)


def run_alone(context: TrialContext, run: harness.AnyRun) -> harness.HarnessReport:
    """Return the report on one run, which counts for no proof. Raises ImageError, EngineError, Cancelled."""
    job = harness.Job(
        image=context.image,
        environment=context.instance.required_environment,
        states={run.state: context.snapshot.changes(run.state)},
        runs=[run],
    )
    return harness.parse(job, context.execute(harness.commands(job), seconds=job.seconds))


def _without_stacks(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines; of those one below the other that only say where something went wrong the first, the innermost."""
    below = False
    for line in lines:
        was_below, below = below, messages.patterns().banner.match(line) is not None
        if not (was_below and below):
            yield line


def _texts(printed: str) -> Iterator[str]:
    """Yield the lines that were printed; of a line of JSON those of its texts that are lines themselves."""
    for line in output_lines(printed):
        try:
            data = json.loads(line) if line.startswith("{") else line
        except (ValueError, RecursionError):
            data = line
        yield from output_lines(line) if data is line else _inner(data)


def _inner(data: object) -> Iterator[str]:
    if isinstance(data, dict | list):
        for each in data.values() if isinstance(data, dict) else data:
            yield from _inner(each)
    elif isinstance(data, str) and "\n" in data:
        yield from output_lines(data)
