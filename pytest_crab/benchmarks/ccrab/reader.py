"""c-CRAB's public release (arXiv 2603.23448): its parts found, read, and joined on instance id and comment text."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TypeVar

from pytest_crab.benchmarks.ccrab.funnel import funnel_notes
from pytest_crab.benchmarks.ccrab.recorded import HUMAN, Recording, Result, read_recording
from pytest_crab.errors import BadInput
from pytest_crab.instances.archives import results
from pytest_crab.instances.inferred import kind_of
from pytest_crab.instances.recorded import FOLDER
from pytest_crab.types import Kind

T = TypeVar("T")

TESTS = "testgen_combined"
RESOLUTION = "agent_resolution_combined"
_EVALUATION = re.compile(r"results_eval_([A-Za-z0-9][A-Za-z0-9._-]{0,59})")
_STAGE = re.compile(r"(stage\d)_\w+\.jsonl")

#: What runs a generated test, by the end of its name.
SUFFIXES: Mapping[str, str] = {
    ".py": "pytest",
    ".test.js": "jest",
    ".test.ts": "jest",
}


class NoRelease(BadInput):
    """A folder has no part of c-CRAB's release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Generated:
    comment_text: str
    comment_type: str | None = None
    test_file: str | None = None
    test_code: str | None = None
    success: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _GeneratedFile:
    instance_id: str
    repo: str
    results: tuple[_Generated, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resolved:
    comment_text: str
    resolved: bool
    agent_diff: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ResolvedFile:
    instance_id: str
    repo: str
    results: tuple[_Resolved, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    comment_text: str
    test_passed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgedFile:
    instance_id: str
    repo: str
    num_findings: int | None = None
    agent_diff: str | None = None
    results: tuple[_Judged, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseParts:
    """The paths of a release's parts; a part that is not there is None or absent."""

    folder: Path
    stages: Mapping[int, Path]
    tests: Path | None
    resolution: Path | None
    evaluations: Mapping[str, Path]

    def parts(self) -> Iterator[str]:
        """Yield a sentence for each kind of part that is not there."""
        if self.tests is None:
            yield f"{TESTS} is not there: no comment gets an oracle"
        if self.resolution is None:
            yield f"{RESOLUTION} is not there: which comments were resolved is not known, so all of the rows count"
        if not self.evaluations:
            yield "results_eval_<tool> is not there: no tool has recorded results"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedOracle:
    """The generated test of one comment."""

    code: str
    suffix: str
    #: The release's own label of the comment.
    comment_type: str | None

    @property
    def kind(self) -> Kind:
        """Behavioral or structural, inferred."""
        return kind_of(self.code, SUFFIXES[self.suffix])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The recorded outcome of one review of one instance."""

    repo: str
    findings: int | None
    diff: str | None
    #: By comment text; None where rows contradict.
    verdicts: Mapping[str, bool | None]


@dataclass(slots=True)
class Release:
    """The content of a release's archives."""

    place: ReleaseParts
    oracles: dict[str, dict[str, ReleasedOracle]] = field(default_factory=dict)
    outcomes: dict[str, dict[str, Outcome]] = field(default_factory=dict)
    #: The parts that could not be used.
    notes: list[str] = field(default_factory=list)

    def resolved_texts(self, instance: str) -> tuple[str, ...]:
        """Return the texts of the comments that an agent resolved from the human comment, in the archive's order."""
        outcome = self.outcomes.get(HUMAN, {}).get(instance)
        return () if outcome is None else tuple(text for text, known in outcome.verdicts.items() if known)

    def result(self, tool: str, instance: str, texts: Sequence[str]) -> Result | None:
        """Return the record of one tool and instance, None if there is none; the n-th text is comment c<n>."""
        outcome = self.outcomes[tool].get(instance)
        if outcome is None:
            return None
        oracles = self.oracles.get(instance, {}) if tool == HUMAN else {}
        place = self.place.resolution if tool == HUMAN else self.place.evaluations[tool]
        return Result(
            repo=outcome.repo,
            findings=outcome.findings,
            verdicts={f"c{n}": outcome.verdicts.get(text) for n, text in enumerate(texts)},
            source=f"{place.name if place else tool}: {instance}/result.json",
            kinds={f"c{n}": oracles[text].kind for n, text in enumerate(texts) if text in oracles},
        )


def find(folder: Path) -> ReleaseParts:
    """Find the parts of a release in ``folder`` or up to two folders below it.

    Raises NoRelease if there is none, and BadInput if one is there twice.
    """
    found: dict[str, list[Path]] = {}
    for path in _candidates(folder, 2):
        name = path.name.removesuffix(".zip") if path.suffix == ".zip" else path.name
        known = name in (TESTS, RESOLUTION) or _EVALUATION.fullmatch(name)
        if stage := _STAGE.fullmatch(path.name):
            found.setdefault(stage[1], []).append(path)
        elif known and (path.is_dir() or path.suffix == ".zip"):
            found.setdefault(name, []).append(path)
    problems = [
        f"{name} is there twice, as {' and '.join(str(path.relative_to(folder)) for path in paths)}; one should go"
        for name, paths in sorted(found.items())
        if len(paths) > 1
    ]
    if not found:
        parts = f"{TESTS}, {RESOLUTION}, results_eval_<tool>, stage<n>_*.jsonl"
        raise NoRelease(str(folder), [f"it holds no part of c-CRAB's release ({parts})"])
    if problems:
        raise BadInput(str(folder), problems)
    one = {name: paths[0] for name, paths in sorted(found.items())}
    evaluations = ((_EVALUATION.fullmatch(name), path) for name, path in one.items())
    return ReleaseParts(
        folder=folder,
        stages={number: one[f"stage{number}"] for number in range(10) if f"stage{number}" in one},
        tests=one.get(TESTS),
        resolution=one.get(RESOLUTION),
        evaluations={match[1]: path for match, path in evaluations if match},
    )


def _candidates(folder: Path, depth: int) -> Iterator[Path]:
    """Everything in a folder and the folders below it; not what lies inside a part."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        yield Path(entry.path)
        inside = entry.name in (TESTS, RESOLUTION) or _EVALUATION.fullmatch(entry.name)
        if depth and not inside and entry.is_dir(follow_symlinks=False):
            yield from _candidates(Path(entry.path), depth - 1)


def read(place: ReleaseParts, only: re.Pattern[str] | None = None) -> Release:
    """Read all archives, of them the instances whose id ``only`` finds something in.

    Raises BadInput with every fault of the first archive that has any.
    """
    release = Release(place=place)
    if HUMAN in place.evaluations:
        raise BadInput(str(place.evaluations[HUMAN]), [f"no tool may be called {HUMAN}; rename it"])
    if place.tests is not None:
        _read_tests(place.tests, release, only)
    if place.resolution is not None:
        _read_resolution(place.resolution, release, only)
    for tool, path in place.evaluations.items():
        release.outcomes[tool] = {
            name: Outcome(
                repo=file.repo,
                findings=file.num_findings,
                diff=file.agent_diff,
                verdicts=_verdicts([(one.comment_text, one.test_passed) for one in file.results]),
            )
            for name, file in _results(path, _JudgedFile, only)
        }
    return release


def _results(path: Path, cls: type[T], only: re.Pattern[str] | None) -> Iterator[tuple[str, T]]:
    """Yield the records of an archive, as ``archives.results`` does, of instances that ``only`` finds something in."""
    return (own for own in results(path, cls) if only is None or only.search(own[0]))


def _read_tests(path: Path, release: Release, only: re.Pattern[str] | None) -> None:
    for name, file in _results(path, _GeneratedFile, only):
        found: dict[str, set[tuple[str, str]]] = {}
        types = {}
        for one in file.results:
            if one.success and one.test_code is not None and one.test_file is not None:
                test = PurePosixPath(one.test_file).name
                suffix = next((suffix for suffix in SUFFIXES if test.endswith(suffix)), None)
                if suffix is None:
                    release.notes.append(f"{name}: nothing here runs {test}; its comment gets no oracle")
                    continue
                found.setdefault(one.comment_text, set()).add((one.test_code, suffix))
                types[one.comment_text] = one.comment_type
        unique = {text: tests.pop() for text, tests in found.items() if len(tests) == 1}
        release.oracles[name] = {
            text: ReleasedOracle(code=code, suffix=suffix, comment_type=types[text])
            for text, (code, suffix) in unique.items()
        }


def _read_resolution(path: Path, release: Release, only: re.Pattern[str] | None) -> None:
    outcomes = release.outcomes.setdefault(HUMAN, {})
    for name, file in _results(path, _ResolvedFile, only):
        revisions = {one.agent_diff for one in file.results}
        if len(revisions) > 1:
            release.notes.append(f"{name}: {len(revisions)} different resolutions are recorded; none is taken")
        outcomes[name] = Outcome(
            repo=file.repo,
            findings=len(file.results),
            diff=revisions.pop() if len(revisions) == 1 else None,
            verdicts=_verdicts([(one.comment_text, one.resolved) for one in file.results]),
        )


def _verdicts(rows: Sequence[tuple[str, bool | None]]) -> dict[str, bool | None]:
    """By text; rows of the same text that say different things say nothing."""
    said: dict[str, set[bool | None]] = {}
    for text, verdict in rows:
        said.setdefault(text, set()).add(verdict)
    return {text: verdicts.pop() if len(verdicts) == 1 else None for text, verdicts in said.items()}


def has_recording(folder: Path) -> bool:
    """Return True if ``recording_at`` reads the folder. Raises BadInput for a part that is there twice."""
    if (folder / FOLDER).is_dir():
        return True
    try:
        find(folder)
    except NoRelease:
        return False
    return True


def recording_at(folder: Path) -> Recording:
    """The recorded results of a set that was imported, or of c-CRAB's release itself. Raises BadInput."""
    return read_recording(folder) if (folder / FOLDER).is_dir() else recording(read(find(folder)))


def recording(release: Release) -> Recording:
    """Return every recorded result on resolved comments, or on all comments where no resolved one is on record.

    An instance that a tool's archive has not is not there.
    """
    names = sorted(release.outcomes.get(HUMAN, {}))
    texts = {name: tuple(own) for name in names if (own := release.resolved_texts(name))}
    if not texts:
        every = ((name, own) for outcomes in release.outcomes.values() for name, own in sorted(outcomes.items()))
        for name, outcome in every:
            texts[name] = tuple(dict.fromkeys((*texts.get(name, ()), *outcome.verdicts)))
    found: dict[str, dict[str, Result]] = {}
    for tool in sorted(release.outcomes):
        results_of = {name: release.result(tool, name, own) for name, own in texts.items()}
        found[tool] = {name: result for name, result in results_of.items() if result is not None}
    attempts = {
        name: (outcome.findings or 0, sum(map(bool, outcome.verdicts.values())))
        for name, outcome in release.outcomes.get(HUMAN, {}).items()
    }
    funnel = funnel_notes(release.place.stages.values(), attempts)
    return Recording(results=found, notes=(*release.place.parts(), *release.notes, *funnel))
