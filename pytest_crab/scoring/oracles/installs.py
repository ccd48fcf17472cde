"""Installs of revised trees: made where the changed files ask for one, once for each tree, and kept in the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytest_crab import serialization
from pytest_crab.ecosystems import needs_install
from pytest_crab.errors import InstallFailed
from pytest_crab.protocols import InstallResult
from pytest_crab.scoring.protocols import ScoringContext


def install_all(context: ScoringContext, trees: Iterable[str]) -> tuple[Mapping[str, InstallResult], Mapping[str, str]]:
    """Install those trees anew that head's install does not serve; what that made, and why a tree does not install.

    What was made once is taken from the store. Raises EngineError, StoreError, Cancelled.
    """
    made: dict[str, InstallResult] = {}
    failed: dict[str, str] = {}
    for tree in sorted(tree for tree in trees if _needs_install(context, tree)):
        try:
            made[tree] = context.cache.results(_InstallStep(context, tree))[""]
        except InstallFailed as error:
            failed[tree] = str(error)
    return made, failed


def _needs_install(context: ScoringContext, tree: str) -> bool:
    changed = (change.path for change in context.snapshot.changes(tree))
    return needs_install(context.instance.required_environment, changed, frozenset(context.image.compiled))


class _InstallStep:
    """The step that installs one tree; a failure is kept by the verdicts that it decides."""

    name = "install"
    record = InstallResult
    paid = False
    deadline = None
    reruns = ()

    def __init__(self, context: ScoringContext, tree: str) -> None:
        self._context = context
        self._tree = tree

    def keys(self) -> Mapping[str, str]:
        """See scoring.protocols.Step."""
        return {"": serialization.digest({"environment": self._context.environment, "tree": self._tree})}

    def run(self, subjects: Sequence[str]) -> Mapping[str, InstallResult]:
        """See scoring.protocols.Step."""
        return {subject: self._context.reinstall(self._tree) for subject in subjects}

    def lasts(self, result: InstallResult) -> bool:  # noqa: ARG002 - see scoring.protocols.Step
        """See scoring.protocols.Step."""
        return True
