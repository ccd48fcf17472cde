"""Files of instances on their way: each worker gets them once, and few of them are kept packed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.campaign.cluster.bundles import Bundle
from pytest_crab.campaign.cluster.parcels import Parcels
from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instance
from pytest_crab.types import Instance

QUICKSTART = Path(__file__).parents[2] / "instances" / "quickstart"


@dataclass
class Arriving:
    """What the scheduler gives for files on their way."""

    come: bool = False

    def done(self) -> bool:
        return self.come


@dataclass
class Line:
    """A way to workers that notes what is sent on it."""

    sent: list[tuple[str, str]] = field(default_factory=list)
    ways: list[Arriving] = field(default_factory=list)

    def send(self, bundle: Bundle, address: str) -> Any:
        self.sent.append((bundle.digest, address))
        self.ways.append(Arriving())
        return self.ways[-1]


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture
def packed() -> list[str]:
    """The instances that were packed, as often as they were."""
    return []


@pytest.fixture
def parcels(line: Line, packed: list[str]) -> Parcels:
    return Parcels(line, lambda name, content: packed.append(name))  # type: ignore[arg-type]


def instances() -> tuple[Instance, Instance]:
    first, second = sorted(QUICKSTART.glob("*/instance.yaml"))[:2]
    return load_instance(first), load_instance(second)


def test_each_worker_is_sent_an_instance_once(line: Line, parcels: Parcels) -> None:
    one, _ = instances()
    assert list(parcels.send(one, "a").arriving) == line.ways
    assert list(parcels.send(one, "a").arriving) == line.ways  # a second trial waits for the same files
    line.ways[0].come = True
    parcels.arrived("a")
    assert not parcels.send(one, "a").arriving
    digest = parcels.send(one, "b").bundle
    assert line.sent == [(digest, "a"), (digest, "b")]
    parcels.forget("a")
    parcels.send(one, "a")
    assert line.sent[2:] == [(digest, "a")]


def test_what_has_not_come_is_waited_for(line: Line, parcels: Parcels) -> None:
    one, _ = instances()
    parcels.send(one, "a")
    parcels.arrived("a")
    assert list(parcels.send(one, "a").arriving) == line.ways


def test_no_more_bytes_are_kept_than_there_is_room_for(line: Line, packed: list[str]) -> None:
    one, two = instances()
    parcels = Parcels(line, lambda name, content: packed.append(name), room=1)  # type: ignore[arg-type]
    for instance in (one, two, one):
        parcels.send(instance, "a")
    assert packed == [one.id, two.id]  # who has it needs no more than its digest
    parcels.send(two, "b")
    parcels.send(one, "b")
    assert packed == [one.id, two.id, one.id]


def test_files_that_cannot_be_packed_are_no_lost_scheduler(tmp_path: Path, parcels: Parcels) -> None:
    one, _ = instances()
    with pytest.raises(BadInput, match="cannot be read"):
        parcels.send(dataclasses.replace(one, folder=str(tmp_path / one.id)), "a")
