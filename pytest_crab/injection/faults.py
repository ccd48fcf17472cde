"""All faults of a repository as one source: those that its fixes mended, then those that mutations seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from pytest_crab.curation.collect import CandidateSource
from pytest_crab.curation.stages import CurationContext, Rejection
from pytest_crab.injection.fixes import FixSource
from pytest_crab.injection.proposals import ORIGIN
from pytest_crab.injection.seeded import MUTANT, SeededSource
from pytest_crab.types import PullCandidate


@dataclass(kw_only=True)
class FaultSource(CandidateSource):
    """Fixes first, since their faults were real; either is None where its methods are not wanted."""

    fixes: FixSource | None
    seeded: SeededSource | None
    kind: str = ORIGIN

    @override
    def identity(self) -> Mapping[str, Any]:
        known = [source.identity() for source in (self.fixes, self.seeded) if source is not None]
        return known[0] if len(known) == 1 else {"kind": self.kind, "sources": known}

    @override
    def list_candidates(self) -> Iterator[PullCandidate]:
        """Raises what they raise."""
        for source in (self.fixes, self.seeded):
            if source is not None:
                yield from source.list_candidates()

    @override
    def complete(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        source = self.seeded if MUTANT in candidate.tags else self.fixes
        assert source is not None
        return source.complete(candidate, context)
