"""The stage right after collect: may a set hold this pull request at all? It is asked before anything costs money."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from typing_extensions import override

from pytest_crab.curation.licences import PERMISSIVE
from pytest_crab.curation.stages import CurationContext, Rejection, SettingsStage
from pytest_crab.types import PullCandidate

#: Stands on a candidate where a rule had nothing to go by.
UNTOLD = "the source does not say: {}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission(SettingsStage):
    """The rule that texts of a project may be passed on."""

    #: Whether the set is not passed on, so that it may hold all.
    private: bool = False
    #: Those of ``publish``.
    licences: tuple[str, ...] = PERMISSIVE
    #: That of ``publish``: with a judge that restates comments, any licence will do.
    own_words: str = ""

    name = "permit"

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        return self.decide(candidate)

    def decide(self, candidate: PullCandidate) -> PullCandidate | Rejection:
        """Return the candidate, or its rejection."""
        if self.private:
            return candidate
        if candidate.activity.public is False:
            return Rejection(reason="the repository is not public (curate.private)")
        if candidate.license not in self.licences and not self.own_words:
            reason = "its licence lets no text be passed on (curate.private, curate.publish.licences)"
            return Rejection(reason=reason, detail=candidate.license)
        if candidate.activity.public is None:
            return dataclasses.replace(candidate, flags=(*candidate.flags, UNTOLD.format("public")))
        return candidate
