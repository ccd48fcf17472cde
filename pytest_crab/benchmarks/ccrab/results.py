"""c-CRAB's verdicts as recorded results: of its release, or of a set that keeps them beside its instances."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_crab.benchmarks.ccrab.agreement import agreement_lines, agreements
from pytest_crab.benchmarks.ccrab.reader import has_recording, recording_at
from pytest_crab.benchmarks.ccrab.recorded_results import labels_of, measured_of, recorded_lines, summarise_recording
from pytest_crab.instances import load_instances
from pytest_crab.instances.recorded import FOLDER
from pytest_crab.results.recorded_results import RecordedResults, RecordedVerdicts, Told
from pytest_crab.types import Trial


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

    def verdicts() -> RecordedVerdicts:
        recording = recording_at(folder)
        instances = load_instances(folder) if (folder / FOLDER).is_dir() else ()
        tools = {tool: measured_of(recording, tool) for tool in recording.results}
        return RecordedVerdicts(tools=tools, labels=labels_of(recording, instances))

    return RecordedResults(report=report, against=against, verdicts=verdicts)
