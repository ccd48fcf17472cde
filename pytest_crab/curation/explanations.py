"""Explain to an oracle's author what is wrong with it and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_crab.curation.assessment import StateAssessment
from pytest_crab.scoring.oracles.states import Role
from pytest_crab.types import Ending, Run

#: How an oracle ends that does not build with the tree, whichever compiler says so.
UNBUILT = frozenset({"BuildFailed", "MissingCrate", "MissingFile", "MissingModule", "MissingPackage"})

#: What stands for each role's fault: what it means, and what to do.
_WRONG = {
    Role.HEAD: "the oracle is green at head",
    Role.REFERENCE: "the reference does not resolve it",
    Role.OWN: "its own reference {names} does not resolve it",
    Role.ACCEPT: "another right fix is refused: {names}",
    Role.COMPANY: "a right fix is refused beside another right change: {names}",
    Role.REJECT: "a near miss passes: {names}",
    Role.UNRELATED: "a change that no comment asks for passes: {names}",
}
#: The roles that several states of one oracle may have.
_MANY = (Role.ACCEPT, Role.COMPANY, Role.REJECT, Role.UNRELATED)
_ADVICE = {
    Role.HEAD: "assert what the comment asks for and the pull request does not do; if head is a later commit than the "
    "one that was commented on, name that one",
    Role.REFERENCE: "the oracle asks for more than was done, or for something else",
    Role.OWN: "it may need what another comment's reference does",
    Role.ACCEPT: "the oracle is too strict, fitted to one way of writing the fix: assert what it does, not how",
    Role.COMPANY: "the oracle pins what its comment does not ask for: leave it free",
    Role.REJECT: "the oracle is too loose: assert what this diff gets wrong",
    Role.UNRELATED: "it resolves the comment, so it belongs to accepts; or the oracle is too loose",
}


def explain(states: Sequence[StateAssessment]) -> tuple[str, ...]:
    """Return a sentence for each kind of state in which the oracle is red or green and must not be.

    A right oracle gives none, nor do runs that were never started.
    """
    known = [state for state in states if state.is_known]
    return tuple(dict.fromkeys(_sentences(known)))


def _sentences(states: Sequence[StateAssessment]) -> Iterator[str]:
    unloaded = _runs_nowhere(states)
    if unloaded is not None:
        yield unloaded
        return
    alike: dict[Role, list[StateAssessment]] = {}
    for state in states:
        if not state.agree:
            yield (
                f"the oracle is flaky: {len(state.runs)} runs on {state.name} do not agree; take out what changes "
                "from run to run (time, order, chance, other processes)"
            )
        elif state.fault is not None:
            improper = _improper_red(state, state.fault)
            if improper is not None:
                yield improper
            else:
                alike.setdefault(state.role, []).append(state)
    if Role.REFERENCE in alike:
        alike = dict(_said_once(alike, alike[Role.REFERENCE][0].fault))
    if alike.get(Role.HEAD) and alike.get(Role.REFERENCE) and all(_all_pass(state.runs) for state in alike[Role.HEAD]):
        same = alike.pop(Role.REFERENCE)
        del alike[Role.HEAD]
        yield (
            f"the test is green at head and red on the reference ({same[0].fault}): either the merged commit is itself "
            "wrong here, or the test asserts the opposite of what the comment asks for; see which, and leave this "
            "comment out if it is the commit"
        )
    for role, same in alike.items():
        told = "; ".join(f"{state.name}, {state.fault}" for state in same)
        names = told if role in _MANY else same[0].name
        fault = "" if role in _MANY else f" ({same[0].fault})"
        yield f"{_WRONG[role].format(names=names)}{fault}: {_ADVICE[role]}"


def _said_once(
    alike: Mapping[Role, list[StateAssessment]], fault: str | None
) -> Iterator[tuple[Role, list[StateAssessment]]]:
    """Yield the states of each role without those in which the same is wrong as on the whole reference."""
    for role, states in alike.items():
        kept = [state for state in states if role not in (Role.OWN, Role.COMPANY) or state.fault != fault]
        if kept:
            yield role, kept


def _improper_red(state: StateAssessment, fault: str) -> str | None:
    """Return a sentence for a diff that does not apply or a red that is no assertion's; None for other faults."""
    if not state.runs:
        return f"{state.name} cannot be used: {fault}; make it again with git diff from head"
    cut = next((run for run in state.runs if run.ending is not Ending.COMPLETED), None)
    if cut is not None and state.role.red:
        return (
            f"the oracle does not come to an end on {state.name} ({fault}), which is no proper red: let a test fail "
            "by an assertion, with a time limit of its own where code may hang"
        )
    if state.role.red and not _all_pass(state.runs):
        return (
            f"the oracle is not properly red on {state.name} ({fault}): an error while loading or in a fixture says "
            "nothing about the concern; import and call what may be missing inside the test"
        )
    return None


def _runs_nowhere(states: Sequence[StateAssessment]) -> str | None:
    """Return a sentence if no test of the oracle runs on the reference, or on any state; else None."""
    ran = [state for state in states if state.runs]
    reference = next((state for state in ran if state.role is Role.REFERENCE), ran[0] if ran else None)
    if reference is None or reference.ran:
        return None
    if any(state.ran for state in ran):
        if reference.role is not Role.REFERENCE:
            return None
        return (
            f"no test of the oracle runs on the reference ({reference.fault}), as some do elsewhere: what the merged "
            "commit asks for is not in the environment, or the oracle uses what it has not"
        )
    if {test.exception for run in reference.runs for test in run.tests} & UNBUILT:
        return (
            f"the oracle does not build, not even with the reference ({reference.fault}): see what its compiler says, "
            "and that what it uses is there, in the tree or in the environment"
        )
    return (
        f"no test of the oracle runs, not even on the reference ({reference.fault}): see that it collects a test, "
        "and that what it imports is there, in the tree or in the environment"
    )


def _all_pass(runs: Sequence[Run]) -> bool:
    return all(test.outcome == "passed" for run in runs for test in run.tests) and any(run.tests for run in runs)
