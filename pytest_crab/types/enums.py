"""The words of records: each enum is a closed list, whose members are their own text."""

from __future__ import annotations

import enum

from pytest_crab.lazy import lazy


class StrEnum(str, enum.Enum):
    """An enum whose members are their own text."""

    __str__ = str.__str__
    __hash__ = str.__hash__


class Provenance(StrEnum):
    """The origin of an instance: written for a set (authored), real with comments of people (github), or injected.

    ``injected`` is a real change of a repository with a fault put into it, or its clean twin; no person reviewed it.
    """

    AUTHORED = "authored"
    GITHUB = "github"
    INJECTED = "injected"


class Kind(StrEnum):
    """The kind of an oracle: it runs the code, or it inspects its source (arXiv 2603.23448, section 4.2.3)."""

    BEHAVIORAL = "behavioral"
    STRUCTURAL = "structural"


class Category(StrEnum):
    """The ten concerns of arXiv 2603.23448, figure 7."""

    FUNCTIONAL = "functional"
    TESTING = "testing"
    ROBUSTNESS = "robustness"
    COMPATIBILITY = "compatibility"
    DOCUMENTATION = "documentation"
    DESIGN = "design"
    ERROR_HANDLING = "error-handling"
    MAINTAINABILITY = "maintainability"
    EFFICIENCY = "efficiency"
    SECURITY = "security"


class Side(StrEnum):
    """The version of a file in which a line number counts: left is base, right is head."""

    LEFT = "left"
    RIGHT = "right"


class Isolation(StrEnum):
    """The isolation of an oracle: it imports the project (none), or runs it as a process of another user (process)."""

    NONE = "none"
    PROCESS = "process"


class Unit(StrEnum):
    """The unit of one score."""

    COMMENT = "comment"
    FINDING = "finding"
    TRIAL = "trial"


class Artefact(StrEnum):
    """A part of a trial that a scorer may need."""

    REVIEW = "review"
    REVISION = "revision"
    ENVIRONMENT = "environment"
    MODEL = "model"


class Verdict(StrEnum):
    """The verdict on one oracle after a trial: caught, missed, or unknown where nothing was measured."""

    CAUGHT = "caught"
    MISSED = "missed"
    UNKNOWN = "unknown"


class Reason(StrEnum):
    """The reason of a verdict; each reason belongs to exactly one verdict."""

    GREEN = "green"
    CORRECT = "correct"
    HIT = "hit"

    INCORRECT = "incorrect"
    FAILED = "test failed"
    GUARD = "guard broke"
    NO_HIT = "no hit"
    NO_FINDINGS = "no findings"
    EMPTY_REVISION = "empty revision"
    DOES_NOT_APPLY = "does not apply"
    INSTALL = "install broke"
    TIMEOUT = "timed out"
    MEMORY = "out of memory"
    PROCESSES = "too many processes"
    OUTPUT = "too much output"
    CRASHED = "interpreter crashed"
    EXITED = "exited early"
    NOT_COLLECTED = "tests did not run"
    SKIPPED = "tests were skipped"
    TAMPERED = "tampered"
    LIMIT = "over the trial's budget"

    REVIEWER_ERROR = "reviewer error"
    AGENT_ERROR = "agent error"
    BROKEN = "broken"
    NOT_RUN = "not run"
    NOT_JUDGED = "not judged"

    @lazy
    def verdict(self) -> Verdict:
        """The verdict that this reason stands for."""
        return _VERDICTS.get(self, Verdict.MISSED)


_VERDICTS = {
    **dict.fromkeys((Reason.GREEN, Reason.CORRECT, Reason.HIT), Verdict.CAUGHT),
    **dict.fromkeys(
        (Reason.REVIEWER_ERROR, Reason.AGENT_ERROR, Reason.BROKEN, Reason.NOT_RUN, Reason.NOT_JUDGED), Verdict.UNKNOWN
    ),
}


class Ending(StrEnum):
    """The end of one run in the workspace.

    ``lost``: its sandbox ended, and nothing inside could report how; ``tampered``: another process wrote into the
    harness's report; ``uninstalled``: its tree does not install, so it was not started.
    """

    COMPLETED = "completed"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    PROCESSES = "processes"
    OUTPUT = "output"
    CRASHED = "crashed"
    EXITED = "exited"
    LOST = "lost"
    TAMPERED = "tampered"
    UNSTARTED = "unstarted"
    UNINSTALLED = "uninstalled"
