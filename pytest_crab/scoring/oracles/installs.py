"""Installs of revised trees: made where the changed files ask for one, once for each tree, and kept in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.ecosystems import needs_install
from pytest_crab.errors import InstallFailed
from pytest_crab.protocols import FileChange, InstallResult
from pytest_crab.scoring.protocols import ScoringContext
from pytest_crab.scoring.steps import Step


def install_all(
    context: ScoringContext, trees: Mapping[str, Sequence[FileChange]]
) -> tuple[Mapping[str, InstallResult], Mapping[str, str]]:
    """Install those trees anew that head's install does not serve; what that made, and why a tree does not install.

    ``trees`` are given with what they change of head. What was made once is taken from the store. Raises EngineError,
    StoreError, Cancelled.
    """
    made: dict[str, InstallResult] = {}
    failed: dict[str, str] = {}
    for tree in sorted(tree for tree, changes in trees.items() if _needs_install(context, changes)):
        try:
            made[tree] = context.cache.results(_InstallStep(context, tree))[""]
        except InstallFailed as error:
            failed[tree] = str(error)
    return made, failed


def _needs_install(context: ScoringContext, changes: Sequence[FileChange]) -> bool:
    changed = (change.path for change in changes)
    return needs_install(context.instance.required_environment, changed, frozenset(context.image.compiled))


class _InstallStep(Step[InstallResult]):
    """The step that installs one tree; a failure is kept by the verdicts that it decides."""

    name = "install"
    record = InstallResult

    def __init__(self, context: ScoringContext, tree: str) -> None:
        self._context = context
        self._tree = tree

    @override
    def keys(self) -> Mapping[str, str]:
        return {"": serialization.digest({"environment": self._context.environment, "tree": self._tree})}

    @override
    def run(self, subjects: Sequence[str]) -> Mapping[str, InstallResult]:
        return {subject: self._context.reinstall(self._tree) for subject in subjects}
