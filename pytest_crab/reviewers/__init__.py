"""The reviewers by name, each imported only when it is chosen."""

from __future__ import annotations

from pytest_crab.adapters import Family

REVIEWERS = Family(
    noun="reviewer",
    verb="review",
    members={
        "claude-code": "pytest_crab.reviewers.claude_code:ClaudeCodeReviewer",
        "codex": "pytest_crab.reviewers.codex:CodexReviewer",
        "command": "pytest_crab.reviewers.command:CommandReviewer",
        "devin": "pytest_crab.reviewers.devin:DevinReviewer",
        "human": "pytest_crab.reviewers.human:HumanReviewer",
        "hunks": "pytest_crab.reviewers.hunks:HunksReviewer",
        "layered": "pytest_crab.reviewers.layered:LayeredReviewer",
        "linter": "pytest_crab.reviewers.linter:LinterReviewer",
        "none": "pytest_crab.reviewers.none:NoReviewer",
        "reflexion": "pytest_crab.reviewers.reflexion:ReflexionReviewer",
        "pr-agent": "pytest_crab.reviewers.pr_agent:PrAgentReviewer",
        "replay": "pytest_crab.reviewers.replay:ReplayReviewer",
        "ruff": "pytest_crab.reviewers.ruff:RuffReviewer",
        "single-shot": "pytest_crab.reviewers.single_shot:SingleShotReviewer",
    },
)
