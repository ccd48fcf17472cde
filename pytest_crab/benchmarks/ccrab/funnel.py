"""The funnel of c-CRAB's curation (arXiv 2603.23448, table 3): as its release states it and its archives count it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.instances.archives import read_record

#: The file that states the funnel; it lies beside the rows of the stages.
STATED = "summary.json"

#: The paper's table 3: pull requests and comments after each step.
TABLE_3 = ((671, 1313), (410, 595), (410, 595), (339, 481), (184, 234))


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedStage:
    """One stage as the release states it."""

    name: str
    instances: int
    comments: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _StatedFunnel:
    stages: tuple[StatedStage, ...]


def funnel_notes(stages: Iterable[Path], attempts: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """Yield a sentence for each stage of the funnel: as stated, as printed in the paper, as counted in the archives.

    ``stages`` are the files of rows, beside which the release states its numbers; without them there is nothing to
    yield. ``attempts`` are, by instance, the comments that an agent tried to resolve, which are those with a verified
    test, and how many it did resolve.
    """
    resolved = [done for _, done in attempts.values() if done]
    counted = {
        "stage3_testgen_verified": (len(attempts), sum(tried for tried, _ in attempts.values())),
        "stage4_agent_resolved": (len(resolved), sum(resolved)),
    }
    for stage, paper in zip(_stated_stages(stages), TABLE_3, strict=False):
        own = (stage.instances, stage.comments)
        words = [f"{stage.name}: {own[0]} pull requests and {own[1]} comments as the release states"]
        if paper != own:
            words.append(f"the paper's table 3 has {paper[0]} and {paper[1]}")
        if attempts and stage.name in counted:
            found = counted[stage.name]
            same = found == own
            words.append("the archives count the same" if same else f"the archives count {found[0]} and {found[1]}")
        yield "; ".join(words)


def _stated_stages(stages: Iterable[Path]) -> tuple[StatedStage, ...]:
    for path in sorted({stage.parent / STATED for stage in stages}):
        if path.is_file():
            found = read_record(path.read_bytes(), _StatedFunnel, [], STATED)
            return () if found is None else found.stages
    return ()
