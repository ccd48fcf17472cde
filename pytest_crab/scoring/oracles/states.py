"""The states of the code that an oracle is checked against: single diffs on head, and right fixes in company."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_crab.errors import DiffRejected
from pytest_crab.instances.files import diff_text
from pytest_crab.scoring.oracles.oracle_runs import tests_pass
from pytest_crab.scoring.protocols import ScoringContext
from pytest_crab.types import Comment, Instance


class Role(str, enum.Enum):
    """The role of a state: the oracle must be red on head, rejects and unrelated changes, and green on the others."""

    HEAD = "head"
    REFERENCE = "reference"
    OWN = "own reference"
    ACCEPT = "accept"
    COMPANY = "company"
    REJECT = "reject"
    UNRELATED = "unrelated"

    @property
    def red(self) -> bool:
        """True if the oracle must be red on this state."""
        return self in (Role.HEAD, Role.REJECT, Role.UNRELATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedState:
    """One state that an oracle is checked on."""

    role: Role
    #: The diffs that are applied to head, one after the other.
    diffs: tuple[str, ...]
    #: Whether they are applied to the reference instead.
    on_reference: bool = False

    @property
    def name(self) -> str:
        """The name of the state in sentences."""
        first, *others = (("the reference",) if self.on_reference else ()) + self.diffs
        return first + "".join(f" with {other}" for other in others)

    def tree(self, context: ScoringContext) -> str:
        """Return the git id of its tree. Raises DiffRejected, which names the diff that does not apply."""
        snapshot = context.snapshot
        tree = snapshot.reference_tree if self.on_reference else snapshot.head_tree
        for at, file in enumerate(self.diffs):
            try:
                tree = snapshot.apply(diff_text(context.instance, file), tree)
            except DiffRejected as error:
                where = f"after {', '.join(self.diffs[:at])}" if at else "to head"
                raise DiffRejected(f"{file} does not apply {where}: {error}") from error
        return tree


def checked_states(instance: Instance, comment: Comment) -> Iterator[CheckedState]:
    """Yield the states of a comment's audit, the single diffs first.

    In company: the comment's own reference and each of its accepts, together with each other comment's reference and
    with each of the right changes that no comment asks for (``company``). A strong review has more findings than one,
    and what it fixes besides must not refuse a right fix. Such a change alone resolves no comment.
    """
    yield from (CheckedState(role=Role.ACCEPT, diffs=(name,)) for name in comment.accepts)
    yield from (CheckedState(role=Role.REJECT, diffs=(name,)) for name in comment.rejects)
    yield from (CheckedState(role=Role.UNRELATED, diffs=(name,)) for name in instance.company)
    fixes = (*([comment.reference] if comment.reference else []), *comment.accepts)
    for other in company_of(instance, comment):
        yield from (CheckedState(role=Role.COMPANY, diffs=(fix, other)) for fix in fixes)
    if comment.reference is None:
        yield from (CheckedState(role=Role.COMPANY, diffs=(other,), on_reference=True) for other in instance.company)


def company_of(instance: Instance, comment: Comment) -> tuple[str, ...]:
    """Return the right changes that may stand beside a comment's fix: other comments' references, then ``company``."""
    references = (other.reference for other in instance.with_oracles)
    return (*dict.fromkeys(one for one in references if one and one != comment.reference), *instance.company)


def applied_states(context: ScoringContext, comment: Comment) -> Iterator[tuple[CheckedState, str]]:
    """Yield the states of a comment's audit, each with the git id of its tree.

    Two changes of the same lines cannot stand beside each other, so a pair in company that does not apply is left out.
    Raises DiffRejected for another diff that does not apply.
    """
    for state in checked_states(context.instance, comment):
        try:
            yield state, state.tree(context)
        except DiffRejected:
            if state.role is not Role.COMPANY:
                raise


def goes_together(context: ScoringContext, tree: str) -> bool:
    """Return whether the project's own tests pass on a tree; an instance without them (pass_to_pass) cannot tell.

    Two right changes that break them together are no right change. Raises EngineError, Cancelled.
    """
    return not context.instance.pass_to_pass or tests_pass(context, tree)
