"""The stage that lets a coding agent resolve each comment from its text alone (arXiv 2603.23448, section 4.2.4)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from typing_extensions import override

from pytest_crab.curation.publish import to_instance
from pytest_crab.curation.resolvable import Resolution, crew_of_humans, measure_resolvability
from pytest_crab.curation.stages import CurationContext, Rejection, SettingsStage
from pytest_crab.errors import AgentError
from pytest_crab.instances.dump import instance_yaml
from pytest_crab.instances.files import write_files
from pytest_crab.scratch import scratch
from pytest_crab.settings import load_settings
from pytest_crab.types import CandidateComment, PullCandidate

#: The dimension of labels that says whether the agent solved it, and the words.
SOLVED, YES, NO = "solved", "solved", "unsolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation(SettingsStage):
    """Lets an agent resolve each comment that has an oracle.

    Comments that it solves and those that it does not are both kept, and marked.
    """

    #: Its name in crab.yaml.
    agent: str
    #: The most attempts for each comment.
    attempts: int = 3
    #: The folder of crab.yaml.
    folder: str = "."

    name = "validate"
    version = 1

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError("attempts should be at least 1")

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        """Raises AgentError where an attempt came to nothing, BadInput."""
        if not any(one.comment.oracle is not None for one in candidate.comments):
            return Rejection(reason="no oracle that an agent could resolve")
        _, run_context = context.proving()
        with scratch("validate") as place:
            folder = place / candidate.id
            instance = to_instance(candidate, folder)
            write_files(folder, {**candidate.files, "instance.yaml": instance_yaml(instance)})
            found = measure_resolvability(
                instance,
                instance.with_oracles,
                crew_of_humans(self.agent, load_settings(Path(self.folder))),
                run_context,
                attempts=self.attempts,
                notice=context.notice,
            )
        for usage in (usage for one in found for usage in one.spent):
            context.note_use(self.name, "attempt", usage)
        unknown = next((one for one in found if one.mark is None), None)
        if unknown is not None:
            raise AgentError(f"{candidate.id} {unknown.comment}: {unknown.problem}")
        by_id = {one.comment: one for one in found}
        return dataclasses.replace(
            candidate, comments=tuple(_mark(one, by_id.get(one.comment.id)) for one in candidate.comments)
        )


def _mark(one: CandidateComment, found: Resolution | None) -> CandidateComment:
    if found is None or found.mark is None:
        return one
    labels = {**one.comment.labels, SOLVED: YES if found.mark.resolved else NO}
    return dataclasses.replace(one, comment=dataclasses.replace(one.comment, labels=labels))
