"""What a benchmark leaves in a Docker engine, and that it goes again."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from pytest_crab.runtimes.images import repository_of
from pytest_crab.runtimes.inventory import EngineImages


@contextmanager
def no_images_left(instances: Collection[str]) -> Iterator[EngineImages]:
    """Remove the images of these instances that were made meanwhile; gives what lists them."""
    repositories = {repository_of(instance) for instance in instances}
    inventory = EngineImages()
    try:
        before = {kept.name for kept in inventory.environments()}
        try:
            yield inventory
        finally:
            for kept in inventory.environments():
                if kept.name not in before and kept.name.rpartition(":")[0] in repositories:
                    inventory.remove(kept)
    finally:
        inventory.close()
