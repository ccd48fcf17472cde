"""The judges by name, each imported only when it is chosen: models that label findings by one published rule."""

from __future__ import annotations

from pytest_crab.adapters import Family

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
