"""Sets ``isolation: process`` for oracles that only start the project, where they are proved so."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Sequence

from pytest_crab.instances.oracle_needs import isolatable
from pytest_crab.scoring.oracles.audit import audit
from pytest_crab.scoring.oracles.proof import ProvedComment, prove
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Instance, Isolation


def isolate(
    instance: Instance, proven: Sequence[ProvedComment], context_of: Callable[[Instance], TrialContext]
) -> tuple[Instance, tuple[ProvedComment, ...], list[str]]:
    """Prove anew, isolated, each proved oracle that only starts the project.

    Returns the instance in which those that hold are isolated, its proofs, and a sentence on each. Raises what proofs
    raise.
    """
    asked = {one.comment.id for one in proven if one.proof is not None and isolatable(instance, one.comment)}
    if not asked:
        return instance, tuple(proven), []
    context = context_of(_isolated(instance, asked))
    found = {one.comment.id: one for one in audit(context, prove(context)) if one.comment.id in asked}
    held = {name: one for name, one in found.items() if one.proof is not None}
    notes = [
        f"the oracle of {name} only starts the project, and is proved with isolation: process, so that is set"
        if one.proof is not None
        else f"the oracle of {name} only starts the project, and isolation: process is not set: {one.problem}"
        for name, one in found.items()
    ]
    return _isolated(instance, held), tuple(held.get(one.comment.id, one) for one in proven), notes


def _isolated(instance: Instance, names: Collection[str]) -> Instance:
    comments = [
        dataclasses.replace(comment, oracle=dataclasses.replace(comment.required_oracle, isolation=Isolation.PROCESS))
        if comment.id in names
        else comment
        for comment in instance.comments
    ]
    return dataclasses.replace(instance, comments=tuple(comments))
