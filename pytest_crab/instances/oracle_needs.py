"""The needs of an oracle outside its file, and whether it could be isolated, as its ecosystem reads its text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from pytest_crab.ecosystems import of_runner
from pytest_crab.instances.files import oracle_text
from pytest_crab.types import Comment, Instance, Isolation


def outside_needs(instance: Instance, comment: Comment) -> Iterator[str]:
    """Yield a sentence, with the remedy, for each thing that a comment's oracle takes from outside its file."""
    owner = of_runner(comment.required_oracle.runner)
    with suppress(OSError):
        yield from () if owner is None else owner.outside_needs(comment, oracle_text(instance, comment))


def isolatable(instance: Instance, comment: Comment) -> bool:
    """Return whether a comment's oracle shares its user with a project that it only starts."""
    oracle = comment.required_oracle
    owner = of_runner(oracle.runner)
    if owner is None or oracle.runner not in owner.isolated_runners or oracle.isolation is not Isolation.NONE:
        return False
    return owner.only_starts_project(oracle_text(instance, comment))
