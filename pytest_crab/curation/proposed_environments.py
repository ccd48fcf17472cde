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
    owner: Ecosystem, instance: Instance, checkout: Path, files: Sequence[str], cache: Path
) -> Iterator[Environment]:
    """Return them for the tests of files of an instance's head, the likeliest first.

    What nothing pins is chosen as of head, and the time and the variables that the instance names stay.
    Raises SourceError; the iterator raises ImageError where this machine lacks something.
    """
    moment = GitFetcher().commit_times(instance, cache)[0] if owner.dated else None
    given = instance.environment or Environment(dockerfile=owner.name)

    def fitted(environment: Environment) -> Environment:
        when = environment.resolved if moment is None else f"{moment:%Y-%m-%dT%H:%M:%SZ}"
        env = {**environment.env, **given.env}
        return dataclasses.replace(environment, resolved=when, env=env, timeout=given.timeout)

    return map(fitted, owner.proposals(checkout, files))
