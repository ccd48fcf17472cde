"""The records that every layer shares: frozen, complete, and plain JSON in and out (see plain)."""

from __future__ import annotations

from pytest_crab.types.candidates import (
    FIX as FIX,
    CandidateComment as CandidateComment,
    ChangeKind as ChangeKind,
    JudgedChange as JudgedChange,
    OracleAttempt as OracleAttempt,
    PullCandidate as PullCandidate,
    ReviewActivity as ReviewActivity,
)
from pytest_crab.types.enums import (
    Artefact as Artefact,
    Category as Category,
    Ending as Ending,
    Isolation as Isolation,
    Kind as Kind,
    Provenance as Provenance,
    Reason as Reason,
    Side as Side,
    StrEnum as StrEnum,
    Unit as Unit,
    Verdict as Verdict,
)
from pytest_crab.types.explanations import (
    Explain as Explain,
    ExplainedOutcome as ExplainedOutcome,
    Explanation as Explanation,
)
from pytest_crab.types.instances import (
    INSTANCE_ID as INSTANCE_ID,
    LANGUAGE as LANGUAGE,
    UNNAMED_REPOSITORY as UNNAMED_REPOSITORY,
    Comment as Comment,
    CommitSource as CommitSource,
    Environment as Environment,
    GitSource as GitSource,
    Instance as Instance,
    Oracle as Oracle,
    PullRequestFacts as PullRequestFacts,
    SdistSource as SdistSource,
    SnippetSource as SnippetSource,
    Source as Source,
    TreeSource as TreeSource,
)
from pytest_crab.types.reviews import (
    CONTROL as CONTROL,
    FIRST as FIRST,
    PLACEBO as PLACEBO,
    VARIANTS as VARIANTS,
    Finding as Finding,
    PullRequest as PullRequest,
    Review as Review,
    Revision as Revision,
    RevisionCommit as RevisionCommit,
    Usage as Usage,
    total_usage as total_usage,
)
from pytest_crab.types.runs import (
    Judgement as Judgement,
    OraclePart as OraclePart,
    PartResult as PartResult,
    Proof as Proof,
    Run as Run,
    TestOutcome as TestOutcome,
)
from pytest_crab.types.scores import (
    COMPARED as COMPARED,
    CommentResult as CommentResult,
    ErrorRate as ErrorRate,
    OracleError as OracleError,
    Score as Score,
    ScoredComment as ScoredComment,
    verdict_score as verdict_score,
)
from pytest_crab.types.trials import (
    NO_RUNTIME as NO_RUNTIME,
    PASS_TO_PASS as PASS_TO_PASS,
    SCHEMA as SCHEMA,
    TRIAL_SCHEMA as TRIAL_SCHEMA,
    StepRecord as StepRecord,
    Trial as Trial,
    TrialId as TrialId,
    full_name as full_name,
)
