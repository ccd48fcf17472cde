"""The records that every layer shares: frozen, complete, and plain JSON in and out (see plain)."""

from __future__ import annotations

from pytest_crab.types.candidates import FIX
from pytest_crab.types.candidates import CandidateComment
from pytest_crab.types.candidates import PullCandidate
from pytest_crab.types.candidates import ReviewActivity
from pytest_crab.types.enums import Artefact
from pytest_crab.types.enums import Category
from pytest_crab.types.enums import ChangeType
from pytest_crab.types.enums import Ending
from pytest_crab.types.enums import Isolation
from pytest_crab.types.enums import Kind
from pytest_crab.types.enums import OracleRunner
from pytest_crab.types.enums import Provenance
from pytest_crab.types.enums import Reason
from pytest_crab.types.enums import Side
from pytest_crab.types.enums import StrEnum
from pytest_crab.types.enums import Unit
from pytest_crab.types.enums import Verdict
from pytest_crab.types.instances import INSTANCE_ID
from pytest_crab.types.instances import Comment
from pytest_crab.types.instances import Environment
from pytest_crab.types.instances import GitSource
from pytest_crab.types.instances import Instance
from pytest_crab.types.instances import LineOptions
from pytest_crab.types.instances import Oracle
from pytest_crab.types.instances import Probes
from pytest_crab.types.instances import PullRequestFacts
from pytest_crab.types.instances import SdistSource
from pytest_crab.types.instances import SnippetSource
from pytest_crab.types.instances import Source
from pytest_crab.types.instances import TextOptions
from pytest_crab.types.instances import TreeSource
from pytest_crab.types.reviews import CONTROL
from pytest_crab.types.reviews import FIRST
from pytest_crab.types.reviews import PLACEBO
from pytest_crab.types.reviews import VARIANTS
from pytest_crab.types.reviews import Finding
from pytest_crab.types.reviews import PullRequest
from pytest_crab.types.reviews import Review
from pytest_crab.types.reviews import Revision
from pytest_crab.types.reviews import Usage
from pytest_crab.types.reviews import total_usage
from pytest_crab.types.runs import Judgement
from pytest_crab.types.runs import Proof
from pytest_crab.types.runs import Run
from pytest_crab.types.runs import TestOutcome
from pytest_crab.types.scores import COMPARED
from pytest_crab.types.scores import CommentResult
from pytest_crab.types.scores import ErrorRate
from pytest_crab.types.scores import OracleError
from pytest_crab.types.scores import Score
from pytest_crab.types.scores import ScoredComment
from pytest_crab.types.scores import verdict_score
from pytest_crab.types.trials import PASS_TO_PASS
from pytest_crab.types.trials import SCHEMA
from pytest_crab.types.trials import TRIAL_SCHEMA
from pytest_crab.types.trials import StepRecord
from pytest_crab.types.trials import Trial
from pytest_crab.types.trials import TrialId
from pytest_crab.types.trials import full_name

__all__ = [
    "COMPARED",
    "CONTROL",
    "FIRST",
    "FIX",
    "INSTANCE_ID",
    "PASS_TO_PASS",
    "PLACEBO",
    "SCHEMA",
    "TRIAL_SCHEMA",
    "VARIANTS",
    "Artefact",
    "CandidateComment",
    "Category",
    "ChangeType",
    "Comment",
    "CommentResult",
    "Ending",
    "Environment",
    "ErrorRate",
    "Finding",
    "GitSource",
    "Instance",
    "Isolation",
    "Judgement",
    "Kind",
    "LineOptions",
    "Oracle",
    "OracleError",
    "OracleRunner",
    "Probes",
    "Proof",
    "Provenance",
    "PullCandidate",
    "PullRequest",
    "PullRequestFacts",
    "Reason",
    "Review",
    "ReviewActivity",
    "Revision",
    "Run",
    "Score",
    "ScoredComment",
    "SdistSource",
    "Side",
    "SnippetSource",
    "Source",
    "StepRecord",
    "StrEnum",
    "TestOutcome",
    "TextOptions",
    "TreeSource",
    "Trial",
    "TrialId",
    "Unit",
    "Usage",
    "Verdict",
    "full_name",
    "total_usage",
    "verdict_score",
]
