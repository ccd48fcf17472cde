"""All faults of a repository as one source: those that its fixes mended, and between them those that mutations seed."""

from __future__ import annotations

import itertools
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

#: So many fixes come before each seeded fault.
_FIXES_FOR_ONE = 2


@dataclass(kw_only=True)
class FaultSource(CandidateSource):
    """Two fixes, whose faults were real, for each seeded fault.

    Both come newest first. All fixes at once would soon be so old that an environment for them takes minutes to find.
    """

    #: None where its methods are not wanted.
    fixes: FixSource | None
    #: The same.
    seeded: SeededSource | None
    kind: str = ORIGIN

    @override
    def identity(self) -> Mapping[str, Any]:
        known = [source.identity() for source in (self.fixes, self.seeded) if source is not None]
        return known[0] if len(known) == 1 else {"kind": self.kind, "sources": known}

    @override
    def list_candidates(self) -> Iterator[PullCandidate]:
        """Raises what they raise."""
        fixes, seeded = (() if source is None else source.list_candidates() for source in (self.fixes, self.seeded))
        pairs = itertools.zip_longest(*[iter(fixes)] * _FIXES_FOR_ONE)
        for group in itertools.zip_longest(pairs, ((one,) for one in seeded), fillvalue=()):
            yield from (one for one in itertools.chain(*group) if one is not None)

    @override
    def complete(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        return self._source_of(candidate).complete(candidate, context)

    def propose_others(self, candidate: PullCandidate, context: CurationContext) -> Iterator[PullCandidate]:
        """Yield further proposals of a candidate, for where no test sees the first. Raises SourceError."""
        return self._source_of(candidate).propose_others(candidate, context)

    def _source_of(self, candidate: PullCandidate) -> FixSource | SeededSource:
        source = self.seeded if MUTANT in candidate.tags else self.fixes
        assert source is not None
        return source
