"""Recorded revisions, one diff per instance."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab.errors import AgentError
from pytest_crab.instances.recorded import read_recording, recording_of, require_recordings
from pytest_crab.protocols import Checkout
from pytest_crab.types import Finding, Instance, PullRequest, Revision

VERSION = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayAgent:
    """Privileged, since it gets the name of the instance that it revises."""

    #: A folder of <instance id>.diff files; or else ``reviewer`` is set.
    revisions: str | None = None
    #: The one whose recorded revisions to take from the set that the instance lies in (docs/reference/recorded.md).
    reviewer: str | None = None
    folder: str = "."
    simulated: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        require_recordings("revisions", self.revisions, self.reviewer, self.folder)

    def bind(self, instance: Instance) -> BoundReplayAgent:
        """The agent that repeats what was recorded for this instance."""
        return BoundReplayAgent(file=recording_of(instance, ".diff", self.revisions, self.reviewer, self.folder))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundReplayAgent:
    """One recorded revision."""

    file: Path
    simulated: bool = field(default=False, init=False)

    def identity(self) -> Mapping[str, Any]:
        """The digest of the recording. Raises AgentError if there is none."""
        return {
            "adapter": "replay",
            "version": VERSION,
            "revision": hashlib.sha256(read_recording(self.file, AgentError)).hexdigest(),
        }

    def revise(
        self,
        pull_request: PullRequest,  # noqa: ARG002 - it is recorded
        findings: Sequence[Finding],  # noqa: ARG002 - the same
        checkout: Checkout,  # noqa: ARG002 - the same
    ) -> Revision:
        """The recording, whatever the findings say. Raises AgentError if it is missing."""
        return Revision(diff=read_recording(self.file, AgentError).decode(errors="surrogateescape"), recorded=True)
