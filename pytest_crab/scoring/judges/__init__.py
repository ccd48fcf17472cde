"""The judges by name, each imported only when it is chosen: models that label findings by one published rule."""

from __future__ import annotations

from pytest_crab.adapters import Family
from pytest_crab.errors import BadInput
from pytest_crab.scoring.judges.votes import Judge

JUDGES = Family(
    noun="judge",
    verb="judge",
    table={
        "cr-evaluator": "pytest_crab.scoring.judges.cr_evaluator:CrEvaluator",
        "issue-category": "pytest_crab.scoring.judges.issue_category:IssueCategory",
        "same-concern": "pytest_crab.scoring.judges.same_concern:SameConcern",
        "swe-prbench": "pytest_crab.scoring.judges.swe_prbench:SwePrbenchJudge",
    },
)


def require_hits(judge: Judge, name: str) -> None:
    """Raise BadInput for a judge that cannot be a ruler, since it compares no finding with a comment."""
    if not judge.knows_hits:
        problem = f"{judge.role} compares no finding with a comment, so it knows no hits; match --categories asks it"
        raise BadInput(JUDGES.where(name), [problem])
