"""A worker keeps the environments on its machine within its disk budget."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from pytest_crab.campaign.cluster import disk
from pytest_crab.campaign.disk import DiskOfTrials
from pytest_crab.errors import BadInput
from pytest_crab.runtimes import run_lock
from pytest_crab.runtimes.environment_use import EnvironmentsInUse
from pytest_crab.runtimes.run_lock import RunFolder

MB = 1024**2
A, B = "a" * 32, "b" * 32


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of the test's own, where nobody else runs anything."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def built(cache: Path, key: str) -> None:
    """An environment of a megabyte as the local runtime leaves it."""
    (cache / "built" / key).mkdir(parents=True)
    (cache / "built" / key / "layout.json").write_bytes(os.urandom(MB))


def there(cache: Path) -> list[str]:
    return sorted(folder.name for folder in (cache / "built").iterdir())


def test_after_each_trial_environments_are_within_the_budget(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAB_DISK_BUDGET", "1.5M")
    cache, run, told = machine / "cache", RunFolder(), []
    holds = EnvironmentsInUse(run)
    kept = DiskOfTrials(disk.disk_budget(), "local", cache, holds, told.append)
    with kept.trial("shop-1"):
        holds.take("shop-1", A)
        built(cache, A)
    assert there(cache) == [A]
    os.utime(run_lock.machine_folder() / "environments" / A, (1e9, 1e9))
    with kept.trial("shop-2"), kept.trial("shop-2"):
        holds.take("shop-2", B)
        built(cache, B)
    assert there(cache) == [B]
    with kept.trial("shop-2"):
        holds.take("shop-2", B)
        with kept.trial("shop-1"), kept.trial("shop-2"):
            holds.take("shop-1", A)
            built(cache, A)
        assert there(cache) == [B]  # the other trial uses it
    kept.close()
    run.close()
    assert not told


def test_without_a_budget_nothing_goes(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRAB_DISK_BUDGET", raising=False)
    kept = DiskOfTrials(disk.disk_budget(), "local", machine / "cache", None, print)
    with kept.trial("shop-1"):
        built(machine / "cache", A)
    assert there(machine / "cache") == [A]


def test_a_budget_that_is_no_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAB_DISK_BUDGET", "lots")
    with pytest.raises(BadInput, match="CRAB_DISK_BUDGET: it is 'lots'; it should be a size such as 20G"):
        disk.disk_budget()
