"""What a run is said to need, from what is there and what was measured, and when it is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_crab.campaign import preflight
from pytest_crab.campaign.preflight import Asks
from pytest_crab.campaign.preflight import duration
from pytest_crab.campaign.preflight import lack_of_disk
from pytest_crab.campaign.preflight import measured
from pytest_crab.campaign.preflight import memory_for
from pytest_crab.campaign.preflight import room
from pytest_crab.runtimes.stock import BARE
from pytest_crab.runtimes.stock import BASE
from pytest_crab.runtimes.stock import READY
from pytest_crab.runtimes.stock import Stock
from pytest_crab.types import Environment
from pytest_crab.types import Instance

GB = 1024**3


@pytest.fixture
def instances(tmp_path: Path, tree_instance: Callable[..., Instance], tree_comment: Callable[..., Any]) -> Any:
    """Four instances of two repositories; the last brings an image."""
    repos = {"a": "shop", "b": "shop", "c": "till", "d": "till"}
    made = {name: tree_instance(tmp_path, name, tree_comment("c0", "x.py"), repo=repo) for name, repo in repos.items()}
    made["d"] = replace(made["d"], environment=Environment(image="ready:1"))
    return made


def stock(free: int | None = GB, pulled: tuple[str, ...] = (), **there: int | None) -> Stock:
    return Stock(there=there, pulled=pulled, free=free, place="here")


def test_what_is_missing_is_like_its_repository_else_like_all_else_typical(instances: dict[str, Instance]) -> None:
    found = room(instances, stock(a=70), "docker", 1.0)
    assert (found.there, found.to_build, found.bytes) == (1, 3, 70 * 3)
    found = room(instances, stock(a=70, c=10), "docker", 1.0)
    assert found.bytes == 70 + 10
    found = room(instances, stock(a=None, b=None, pulled=("python:3.11-slim",)), "docker", 0.5)
    assert (found.there, found.to_pull, found.bytes) == (2, 1, BASE + BARE + READY)
    assert found.least == found.bytes * preflight.PLAIN / 2


def test_a_disk_that_is_plainly_too_small_is_refused_in_one_sentence(instances: dict[str, Instance]) -> None:
    def lack(free: int | None, budget: int | None = None, share: float = 1.0) -> str | None:
        given = stock(free)
        return lack_of_disk(given, room(instances, given, "docker", share), budget)

    assert lack(GB) is None
    assert lack(None) is None
    assert lack(1024**2) == (
        "the 4 environments that are not there will take 405 MB or more, and only 1.0 MB are free in here: "
        "free some space, or run a part with --crab-shard, or let --crab-disk-budget remove images as it goes"
    )
    assert lack(1024**2, budget=1024**2) is None
    assert lack(1024**2, share=0.0) is None
    assert "--crab-disk-budget" not in str(lack(1024**2, budget=GB))


def record(instance: str, reviewer: str, **seconds: float) -> str:
    steps = [{"step": step, "reused": False, "seconds": took, "retried": []} for step, took in seconds.items()]
    return json.dumps({"runtime": "docker", "instance": instance, "reviewer": reviewer, "agent": "x", "steps": steps})


def test_time_is_told_only_from_what_was_measured(instances: dict[str, Instance], tmp_path: Path) -> None:
    records = tmp_path / "trials.jsonl"
    lines = [record("a", "r", image=4, proof=10, review=20), record("b", "r", proof=30, review=40, revision=6)]
    odd = ['{"half": ', "[]", '{"runtime": "docker", "steps": [{}]}', '{"runtime": "docker", "steps": [1]}']
    records.write_text("\n".join([*lines, *odd]))
    known = measured(records, "docker")
    assert (known.mean("proof"), known.mean("review", "r"), known.mean("verdict")) == (20, 30, None)
    crew = SimpleNamespace(spec=SimpleNamespace(reviewer="r", agent="x"))
    trials: Any = [(instances[name], crew, 1) for name in "abc"]
    asked = Asks(reviews=2, revisions=0, stored=4, exact=True)
    assert duration(known, trials, asked, 1, jobs=2) == (1 * 4 + 1 * 20 + 2 * 30) / 2
    assert duration(known, trials, replace(asked, revisions=1), 1, jobs=2) is None
    assert duration(known, trials, Asks(reviews=0, revisions=0, stored=6, exact=True), 1, jobs=2) is None
    assert measured(records, "local").seconds == {}
    assert measured(tmp_path / "none.jsonl", "docker").seconds == {}


def test_memory_is_spoken_of_where_it_is_short() -> None:
    assert memory_for(1, 4) is None
    assert memory_for(2**40, 4) == 1
