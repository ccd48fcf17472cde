"""The environments that an ecosystem proposes for a project of which nothing is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_crab.ecosystems.contract import Ecosystem
from pytest_crab.sources.git import GitFetcher
from pytest_crab.types import Environment, Instance

#: The word for one of them, where an environment comes from.
PROPOSED = "proposed"


def proposed(
    owner: Ecosystem,
    instance: Instance,
    checkout: Path,
    files: Sequence[str],
    cache: Path,
    likely: str | None = None,
) -> Iterator[Environment]:
    """Return them for the tests of files of an instance's head, those of the likely version first.

    What nothing pins is chosen as of head, and the time and the variables that the instance names stay.
    Raises SourceError; the iterator raises ImageError where this machine lacks something.
    """
    moment = GitFetcher().commit_times(instance, cache)[0] if owner.dated else None
    given = instance.environment or Environment(dockerfile=owner.name)

    def fitted(environment: Environment) -> Environment:
        when = environment.resolved if moment is None else f"{moment:%Y-%m-%dT%H:%M:%SZ}"
        env = {**environment.env, **given.env}
        return dataclasses.replace(environment, resolved=when, env=env, timeout=given.timeout)

    found = map(fitted, owner.proposals(checkout, files))
    return found if likely is None else likely_first(owner, found, likely)


def likely_first(owner: Ecosystem, proposals: Iterator[Environment], likely: str) -> Iterator[Environment]:
    """Yield proposals, those of the likely version before the others."""
    yield from sorted(proposals, key=lambda each: owner.version(each) != likely)
