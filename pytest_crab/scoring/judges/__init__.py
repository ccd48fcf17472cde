"""The judges by name, each imported only when it is chosen: models that label findings by one published rule."""

from __future__ import annotations

from typing import Any

from pytest_crab.adapters import Family
from pytest_crab.errors import BadInput
from pytest_crab.registry import Members
from pytest_crab.scoring.judges.votes import Judge
from pytest_crab.settings import Settings

JUDGES = Family(
    noun="judge",
    verb="judge",
    members=Members(
        {
            "bug-category": "pytest_crab.scoring.judges.label_judges:BugCategory",
            "bug-impact": "pytest_crab.scoring.judges.label_judges:BugImpact",
            "bug-severity": "pytest_crab.scoring.judges.label_judges:BugSeverity",
            "detectable-bug": "pytest_crab.scoring.judges.label_judges:DetectableBug",
            "issue-category": "pytest_crab.scoring.judges.label_judges:IssueCategory",
            "own-words": "pytest_crab.scoring.judges.label_judges:OwnWords",
            "problem-domain": "pytest_crab.scoring.judges.label_judges:ProblemDomain",
            "review-filter": "pytest_crab.scoring.judges.label_judges:ReviewFilter",
            "same-concern": "pytest_crab.scoring.judges.label_judges:SameConcern",
        },
        lambda benchmark: benchmark.judges,
        str,
    ),
)


def require_hits(judge: Judge, name: str) -> None:
    """Raise BadInput for a judge that cannot be a ruler, since it compares no finding with a comment."""
    if not judge.knows_hits:
        problem = f"{judge.role} compares no finding with a comment, so it knows no hits"
        raise BadInput(JUDGES.where(name), [problem])


def build_judge(name: str, settings: Settings) -> Any:
    """Return the judge of this name in crab.yaml. Raises BadInput."""
    variant = settings.judges.get(name)
    if variant is None:
        known = ", ".join(settings.judges) or "none"
        raise BadInput("crab.yaml", [f"it names no judge {name!r}; its judges are {known}"])
    return JUDGES.make(variant.use, variant.settings, settings.folder, JUDGES.where(name), settings.judges)
