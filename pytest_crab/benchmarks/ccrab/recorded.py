"""Recorded results beside a set: <set>/recorded/<tool>/<instance id>.json and .diff, and every tool's as one whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_crab import diffs, serialization
from pytest_crab.errors import BadInput
from pytest_crab.instances.recorded import FOLDER
from pytest_crab.types import SCHEMA, Kind, Usage

#: The tool that stands for the humans' own comments: what of them a coding agent could resolve.
HUMAN = "human"

#: The note on a recorded catch that no replay can show.
EMPTY_CATCH = "recorded caught with an empty revision: what the agent staged or added as a new file is not in it"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The recorded result of one tool's review of one instance."""

    schema: int = SCHEMA
    repo: str
    #: The number of findings; None: not on record.
    findings: int | None = None
    #: By comment id: True caught, False missed, None not on record.
    verdicts: Mapping[str, bool | None]
    source: str
    #: The oracles' kinds, inferred; only the human result has them.
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    #: The review's; None: not on record.
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """All recorded results of a release or a set."""

    #: By tool, then by instance id.
    results: Mapping[str, Mapping[str, Result]]
    #: Sentences on what is missing.
    notes: tuple[str, ...] = ()

    @property
    def tools(self) -> tuple[str, ...]:
        """The contestants, sorted: all but the humans."""
        return tuple(sorted(tool for tool in self.results if tool != HUMAN))


def write_result(folder: Path, tool: str, instance: str, result: Result, diff: str | None) -> None:
    """Write one result into the set in ``folder``, with its revision where that is on record."""
    place = folder / FOLDER / tool
    place.mkdir(parents=True, exist_ok=True)
    data = serialization.dump(result) | {"findings": result.findings}
    (place / f"{instance}.json").write_text(json.dumps(data, indent=1, allow_nan=False) + "\n")
    if diff is not None:
        (place / f"{instance}.diff").write_bytes(diffs.normalise(diff).encode("utf-8", "surrogateescape"))


def read_recording(folder: Path) -> Recording:
    """Return what lies in ``folder``/recorded. Raises BadInput with every fault."""
    root = folder / FOLDER
    results: dict[str, dict[str, Result]] = {}
    problems: list[str] = []
    for tool in sorted(path.name for path in root.iterdir()):
        if not (root / tool).is_dir():
            continue
        results[tool] = {}
        for path in sorted((root / tool).glob("*.json")):
            result = _read(path, problems, f"{tool}/{path.name}")
            if result is not None:
                results[tool][path.stem] = result
    if problems:
        raise BadInput(str(root), problems)
    return Recording(results=results)


def _read(path: Path, problems: list[str], name: str) -> Result | None:
    faults: list[str] = []
    try:
        result = serialization.read(Result, json.loads(path.read_bytes()), faults)
    except (OSError, ValueError, RecursionError) as error:
        faults.append(f"it is no JSON ({error})")
        result = None
    if result is not None and result.schema != SCHEMA:
        faults.append(f"schema is {result.schema}; this version reads {SCHEMA}")
    problems.extend(f"{name}: {fault}" for fault in faults[:1])
    return result
