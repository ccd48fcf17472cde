"""Recorded verdicts, nothing run: table 5 of arXiv 2603.23448, union, overlaps, rates per repository."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from pytest_crab.benchmarks.ccrab.agreement import agreement_lines, agreements
from pytest_crab.benchmarks.ccrab.reader import has_recording, recording_at
from pytest_crab.benchmarks.ccrab.recorded import HUMAN, Recording
from pytest_crab.formats import NOTHING, format_count, format_decimal, format_names, format_percent, format_table
from pytest_crab.instances import load_instances
from pytest_crab.instances.recorded import FOLDER
from pytest_crab.results.recorded_results import RecordedResults, RecordedVerdicts, Told
from pytest_crab.results.reviewer_summary import KIND
from pytest_crab.statistics import overlap
from pytest_crab.statistics.comparison import Measured
from pytest_crab.statistics.shares import Share
from pytest_crab.text import one_line
from pytest_crab.types import SCHEMA, Instance, Kind, Trial

#: One oracle: its instance and its comment.
Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTool:
    """One tool's results over all oracles; those that are not on record count as missed."""

    tool: str
    #: The known numbers of findings, added up; None: none is known.
    comments: int | None
    comments_per_pull_request: float | None
    #: Its ``rate`` is the micro rate, caught / oracles.
    overall: Share
    #: The mean of s_i = caught_i / oracles_i over all instances.
    macro: float | None
    by_kind: Mapping[str, Share]
    by_repository: Mapping[str, Share]
    #: Instances without a result.
    absent: tuple[str, ...] = ()
    #: Oracles that a result says nothing of.
    unjudged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOverlap:
    """The number of oracles that all of these tools caught and no other did."""

    tools: tuple[str, ...]
    oracles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSummary:
    """All tools over the same oracles."""

    schema: int = SCHEMA
    instances: int
    oracles: int
    repositories: int
    #: Inferred.
    kinds: Mapping[str, int]
    tools: tuple[RecordedTool, ...]
    human: RecordedTool | None = None
    #: The oracles that any tool but the humans caught.
    union: Share
    overlaps: tuple[ToolOverlap, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def everyone(self) -> tuple[RecordedTool, ...]:
        """The tools, and the humans last where they are on record."""
        return self.tools if self.human is None else (*self.tools, self.human)


def summarise_recording(recording: Recording) -> RecordedSummary:
    """Sum up recorded results by the paper's rules (section 5 and the release's own filter).

    The oracles are those of the comments that the human result says were resolved; where there is none, all that any
    result names. An instance that a tool has no result of counts as missed.
    """
    keys, notes = _oracles(recording)
    repositories = {name: result.repo for results in recording.results.values() for name, result in results.items()}
    kinds = _kinds(recording, keys)
    caught = {tool: _caught_keys(recording, tool, keys) for tool in recording.results}
    rows = {tool: _tool(recording, tool, keys, caught[tool], repositories, kinds) for tool in recording.results}
    tools = recording.tools
    contest = {tool: caught[tool] for tool in tools}
    found = overlap.overlaps(keys, contest, every=True)
    return RecordedSummary(
        instances=len({name for name, _ in keys}),
        oracles=len(keys),
        repositories=len({repositories[name] for name, _ in keys}),
        kinds={kind.value: sum(found is kind for found in kinds.values()) for kind in Kind},
        tools=tuple(rows[tool] for tool in tools),
        human=rows.get(HUMAN),
        union=_share(keys, set().union(*contest.values())),
        overlaps=tuple(ToolOverlap(tools=who, oracles=count) for who, count in found.items()),
        notes=(*recording.notes, *notes),
    )


def measured_of(recording: Recording, tool: str) -> dict[Key, Measured]:
    """One tool's verdicts as comparisons take them; what is not on record counts as missed, as in the tables."""
    keys, _ = _oracles(recording)
    repositories = {name: result.repo for results in recording.results.values() for name, result in results.items()}
    caught = _caught_keys(recording, tool, keys)
    return {
        key: Measured(repo=repositories[key[0]], caught=int(key in caught), missed=int(key not in caught))
        for key in keys
    }


def labels_of(recording: Recording, instances: Iterable[Instance]) -> dict[Key, dict[str, str]]:
    """Return the labels of each oracle by dimension: its kind on record, and what its instance says."""
    keys, _ = _oracles(recording)
    labels = {key: {KIND: kind.value} for key, kind in _kinds(recording, keys).items()}
    said = {(instance.id, comment.id): comment.dimensions for instance in instances for comment in instance.comments}
    return {key: {**labels.get(key, {}), **said.get(key, {})} for key in keys}


def _oracles(recording: Recording) -> tuple[list[Key], list[str]]:
    human = recording.results.get(HUMAN)
    if human:
        keys = [(name, comment) for name, result in human.items() for comment, ok in result.verdicts.items() if ok]
        return keys, []
    everything = {
        (name, comment): None
        for results in recording.results.values()
        for name, result in results.items()
        for comment in result.verdicts
    }
    note = "which comments were resolved is not on record: every comment that a result names counts"
    return sorted(everything), [note]


def _kinds(recording: Recording, keys: Iterable[Key]) -> dict[Key, Kind]:
    human = recording.results.get(HUMAN, {})
    found = {(name, comment): human[name].kinds.get(comment) for name, comment in keys if name in human}
    return {key: kind for key, kind in found.items() if kind is not None}


def _caught_keys(recording: Recording, tool: str, keys: Iterable[Key]) -> set[Key]:
    results = recording.results[tool]
    return {(name, c) for name, c in keys if name in results and results[name].verdicts.get(c) is True}


def _tool(
    recording: Recording,
    tool: str,
    keys: Sequence[Key],
    caught: set[Key],
    repositories: Mapping[str, str],
    kinds: Mapping[Key, Kind],
) -> RecordedTool:
    results = recording.results[tool]
    names = list(dict.fromkeys(name for name, _ in keys))
    counted = [results[name].findings for name in names if name in results]
    known = [count for count in counted if count is not None]
    comments = len(keys) if tool == HUMAN else sum(known) if known else None
    shares = [_share(own, caught) for own in _group(keys, lambda key: key[0]).values()]
    return RecordedTool(
        tool=tool,
        comments=comments,
        comments_per_pull_request=None if comments is None else comments / len(names),
        overall=_share(keys, caught),
        macro=_mean([Fraction(share.part) / share.known for share in shares]),
        by_kind={kind: _share(own, caught) for kind, own in sorted(_group(kinds, lambda key: kinds[key]).items())},
        by_repository={
            repo: _share(own, caught) for repo, own in sorted(_group(keys, lambda key: repositories[key[0]]).items())
        },
        absent=tuple(name for name in names if name not in results),
        unjudged=tuple(f"{name}: {c}" for name, c in keys if name in results and results[name].verdicts.get(c) is None),
    )


def _group(keys: Iterable[Key], name: Callable[[Key], str]) -> dict[str, list[Key]]:
    groups: dict[str, list[Key]] = {}
    for key in keys:
        groups.setdefault(str(name(key)), []).append(key)
    return groups


def _share(keys: Sequence[Key], caught: Collection[Hashable]) -> Share:
    return Share.of(key in caught for key in keys)


def _mean(values: Sequence[Fraction]) -> float | None:
    return float(sum(values, Fraction()) / len(values)) if values else None


# --- in words --------------------------------------------------------------------------------------------------------

#: How many names a line gives before it only counts.
_SHOWN = 3


def recorded_lines(summary: RecordedSummary) -> Iterator[str]:
    """Yield the tables as lines of text, names of tools and instances escaped."""
    yield f"recorded verdicts, nothing was run: {_sizes(summary)}"
    yield ""
    yield from format_table(_overall(summary))
    yield ""
    yield f"kinds are inferred: {_list_counts(summary.kinds)}; the columns of kinds are no numbers of the paper"
    yield f"caught by any of {len(summary.tools)} tools: {_of(summary.union)} ({_rate(summary.union.rate)})"
    for group in summary.overlaps:
        yield f"  {group.oracles:>4}  {one_line(_only(group.tools, len(summary.tools)))}"
    yield ""
    yield from format_table(_repositories(summary))
    yield ""
    for tool in summary.everyone:
        if tool.absent:
            those = f"no result of {len(tool.absent)} instances"
            yield one_line(f"{tool.tool}: {those}, which count as missed: {format_names(tool.absent, _SHOWN)}", 500)
        if tool.unjudged:
            those = f"no verdict on {len(tool.unjudged)} oracles"
            yield one_line(f"{tool.tool}: {those}, which count as missed: {format_names(tool.unjudged, _SHOWN)}", 500)
    yield from (one_line(note, 500) for note in summary.notes)


def _sizes(summary: RecordedSummary) -> str:
    sizes = {"oracle": summary.oracles, "instance": summary.instances, "repository": summary.repositories}
    return ", ".join(format_count(count, noun) for noun, count in sizes.items())


def _overall(summary: RecordedSummary) -> Iterator[list[str]]:
    yield ["reviewer", "comments", "per PR", *(f"{kind} *" for kind in Kind), "caught", "micro", "macro"]
    for tool in summary.everyone:
        yield [
            tool.tool,
            NOTHING if tool.comments is None else str(tool.comments),
            format_decimal(tool.comments_per_pull_request, 1),
            *(_rate(share.rate if (share := tool.by_kind.get(kind)) else None) for kind in Kind),
            _of(tool.overall),
            _rate(tool.overall.rate),
            _rate(tool.macro),
        ]


def _repositories(summary: RecordedSummary) -> Iterator[list[str]]:
    yield ["repository", "oracles", *(tool.tool for tool in summary.tools)]
    sizes = {repo: share.known for tool in summary.everyone for repo, share in tool.by_repository.items()}
    for repo, oracles in sorted(sizes.items(), key=lambda pair: (-pair[1], pair[0].lower())):
        shares = [tool.by_repository[repo] for tool in summary.tools]
        yield [repo, str(oracles), *(f"{share.part} ({_rate(share.rate)})" for share in shares)]


def _only(tools: Sequence[str], of: int) -> str:
    if not tools:
        return "none"
    return " and ".join(tools) + ("" if len(tools) == of else " only")


def _rate(rate: float | None) -> str:
    return NOTHING if rate is None else f"{format_percent(rate)}%"


def _of(share: Share) -> str:
    return f"{share.part}/{share.known}"


def _list_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


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
