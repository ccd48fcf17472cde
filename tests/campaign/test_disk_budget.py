"""Environments that go first and which never, on folders of the local runtime and with runs that live."""

from __future__ import annotations

import itertools
import os
import shutil
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import pytest_crab.runtimes.run_lock
from pytest_crab.campaign.disk import DiskBudget, PendingTrials, by_repository, removal_order, total
from pytest_crab.formats import format_size, parse_size
from pytest_crab.runtimes import environment_use, inventory
from pytest_crab.runtimes.environment_use import EnvironmentsInUse
from pytest_crab.runtimes.inventory import LocalFolders, StoredEnvironment, layers
from pytest_crab.runtimes.run_lock import RunFolder

KEYS = [digit * 32 for digit in "abcd"]
MB = 1024**2


@given(st.lists(st.tuples(st.integers(), st.one_of(st.none(), st.sampled_from("abc")))))
def test_items_of_a_repository_come_behind_each_other_in_their_own_order(items: list[tuple[int, str | None]]) -> None:
    ordered = by_repository(items, lambda item: item[1])
    for name in "abc":
        assert [item for item in ordered if item[1] == name] == [item for item in items if item[1] == name]
    names = [name for _, name in ordered if name is not None]
    assert sum(a != b for a, b in itertools.pairwise(names)) == max(len(set(names)) - 1, 0)
    first = list(dict.fromkeys(name for _, name in items if name is not None))
    assert list(dict.fromkeys(names)) == first
    assert [at for at, item in enumerate(ordered) if item[1] is None] == [
        at for at, item in enumerate(items) if item[1] is None
    ]


def kept(name: str, used: float, *instances: str, **shared: int) -> StoredEnvironment:
    return StoredEnvironment(
        name=name, key=name * 32, layers={name: 10, **shared}, used=used, instances=frozenset(instances)
    )


def test_the_least_recently_used_go_first_and_what_the_run_needs_soonest_last() -> None:
    trials = {1: ("shop-1", "shop"), 2: ("till-2", "till"), 3: ("till-3", "till"), 4: ("bank-4", "bank")}
    waiting = PendingTrials({**trials, 5: ("bank-5", "bank")})
    assert waiting.done(1) == (True, True)
    assert waiting.done(1) == (False, False)
    assert waiting.done(2) == (True, False)
    every = [
        kept("a", 1, "bank-4"),
        kept("b", 1, "bank-5"),
        kept("c", 3, "till-2"),
        kept("d", 4),
        kept("e", 9, "shop-1"),
        kept("f", 2, "shop-1", "elsewhere"),
        kept("g", 1, "shop-1", "till-3"),
    ]
    assert "".join(each.name for each in removal_order(every, waiting.rank)) == "fcdebag"


def test_what_is_shared_counts_once() -> None:
    assert total([kept("a", 1, packages=5), kept("b", 1, packages=5)]) == 25


def test_layers_are_told_apart_by_all_that_lies_below_and_the_bases_are_left_out() -> None:
    base, packages = {"Created": 1, "CreatedBy": "", "Size": 100}, {"Created": 2, "CreatedBy": "pip", "Size": 7}
    other = {**packages, "Created": 3}
    tree = {"Created": 4, "CreatedBy": "copy", "Size": 1}
    empty = {"Created": 4, "CreatedBy": "label", "Size": 0}
    every = ([tree, packages, base], [packages, base], [tree, other, base])
    first, second, third = (layers(rows, 1, sum(row["Size"] for row in rows)) for rows in every)
    assert sorted(first.values()) == [1, 7]
    assert set(second) < set(first)
    assert not set(first) & set(third)
    assert layers([empty, tree, packages, base], 1, 108) == first


def test_layers_that_an_engine_keeps_packed_as_well_take_their_share_of_the_whole() -> None:
    rows = [{"Created": 2, "CreatedBy": "pip", "Size": 10}, {"Created": 1, "CreatedBy": "", "Size": 90}]
    (plainly,) = layers(rows, 1, 100).items()
    (both,) = layers(rows, 1, 150).items()
    assert (plainly[1], both[1]) == (10, 15)
    assert plainly[0] == both[0]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "machine"
    folder.mkdir()
    for module in (pytest_crab.runtimes.run_lock, pytest_crab.runtimes.environment_use):
        monkeypatch.setattr(module, "machine_folder", lambda: folder)
    return folder


def built(cache: Path, key: str, age: float = 0) -> None:
    """An environment of a megabyte as the local runtime leaves it."""
    folder = cache / "built" / key
    folder.mkdir(parents=True)
    (folder / "layout.json").write_bytes(os.urandom(MB))
    record = pytest_crab.runtimes.run_lock.machine_folder() / "environments" / key
    if record.exists():
        os.utime(record, (1e9 - age, 1e9 - age))


def there(cache: Path) -> str:
    return "".join(sorted(folder.name[0] for folder in (cache / "built").iterdir()))


def test_no_environment_of_a_living_run_goes(machine: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    own, other, dead = RunFolder(), RunFolder(), RunFolder()
    for run, key in zip((own, other, dead), KEYS, strict=False):
        EnvironmentsInUse(run).take(f"shop-{key[0]}", key)
    mine = EnvironmentsInUse(own)
    mine.take("shop-d", KEYS[3])
    for key in KEYS:
        built(cache, key)
    dead.close()
    budget = DiskBudget(1, LocalFolders(cache), cache)
    everything = PendingTrials({})
    budget.hold(everything.rank)
    assert there(cache) == "abd"
    assert budget.removed == [f"built/{KEYS[2]}"]
    assert budget.taken >= 3 * MB

    mine.give_up(["shop-d", "never-heard-of"])
    budget.hold(everything.rank)
    assert there(cache) == "ab"
    own.close()
    other.close()
    budget.hold(everything.rank)
    assert there(cache) == ""
    assert environment_use.record_of(KEYS[0]) is None


def test_pruning_passes_over_what_a_run_has_taken_meanwhile(machine: Path, tmp_path: Path) -> None:
    cache, run = tmp_path / "cache", RunFolder()
    for key in KEYS[:2]:
        built(cache, key)
    EnvironmentsInUse(run).take("shop-1", KEYS[0])
    for dry in (True, False):
        told = list(inventory.prune(LocalFolders(cache), older_than_days=0, dry_run=dry))
        assert told == [f"environment built/{KEYS[1]}"]
    assert there(cache) == "a"
    run.close()
    assert list(inventory.prune(LocalFolders(cache), older_than_days=0, dry_run=False)) == [
        f"environment built/{KEYS[0]}"
    ]
    assert there(cache) == ""


def test_what_somebody_who_was_killed_left_half_removed_is_in_nobodys_way(machine: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for key in KEYS[:2]:
        built(cache, key)
        built(cache, f"{key}.gone")
    here = LocalFolders(cache)
    (first, _) = here.environments()
    assert here.remove(first)
    assert there(cache) == "bb"
    list(inventory.prune(LocalFolders(cache), older_than_days=0, dry_run=False))
    assert there(cache) == ""


def test_what_another_run_removes_meanwhile_is_not_there(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    for key in KEYS[:2]:
        built(cache, key)
    real = environment_use.record_of

    def record_of(key: str) -> environment_use.Record | None:
        if key == KEYS[0]:
            shutil.rmtree(cache / "built" / key)
        return real(key)

    monkeypatch.setattr(environment_use, "record_of", record_of)
    assert [each.key for each in LocalFolders(cache).environments()] == [KEYS[1]]


@pytest.mark.docker
def test_an_image_that_another_run_removes_meanwhile_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import docker

    monkeypatch.setattr(inventory, "builder", lambda: f"test-disk.{os.getpid()}")
    client = docker.from_env().api
    with tarfile.open(tmp_path / "image.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("nothing"))
    names = [f"pytest-crab/test-disk-{os.getpid()}:{key}" for key in KEYS[:2]]
    for name, key in zip(names, KEYS, strict=False):
        labels = {inventory.BUILDER_LABEL: inventory.builder(), inventory.KEY_LABEL: key, inventory.BELOW_LABEL: "0"}
        changes = [f"LABEL {label}={text}" for label, text in labels.items()]
        client.import_image_from_file(str(tmp_path / "image.tar"), *name.split(":"), changes=changes)
    real = environment_use.record_of

    def record_of(key: str) -> environment_use.Record | None:
        if key == KEYS[0]:
            client.remove_image(names[0])
        return real(key)

    monkeypatch.setattr(environment_use, "record_of", record_of)
    images = inventory.EngineImages()
    try:
        assert [each.name for each in images.environments()] == [names[1]]
    finally:
        images.close()
        client.remove_image(names[1])
        client.close()


def test_the_least_recently_used_goes_and_no_more_than_must(machine: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    run = RunFolder()
    for key in KEYS:
        EnvironmentsInUse(run).take("shop-1", key)
    run.close()
    for age, key in enumerate(KEYS):
        built(cache, key, age=10 * age)
    budget = DiskBudget(int(2.5 * MB), LocalFolders(cache), cache)
    budget.hold(PendingTrials({1: ("shop-1", "shop")}).rank)
    assert there(cache) == "ab"
    (cache / "sdists").mkdir()
    (cache / "sdists" / "big.tar.gz").write_bytes(os.urandom(MB))
    budget.hold(PendingTrials({}).rank)
    assert there(cache) == "a"
    assert budget.taken <= budget.size


def test_two_instances_of_one_environment_are_both_waited_for(machine: Path, tmp_path: Path) -> None:
    run = RunFolder()
    holds = EnvironmentsInUse(run)
    holds.take("shop-1", KEYS[0])
    holds.take("shop-2", KEYS[0])
    holds.give_up(["shop-1"])
    with environment_use.removing(KEYS[0]) as free:
        assert not free
    holds.give_up(["shop-2"])
    with environment_use.removing(KEYS[0]) as free:
        assert free
    record = environment_use.record_of(KEYS[0])
    assert record is not None
    assert record.instances == {"shop-1", "shop-2"}
    run.close()


@pytest.mark.parametrize(
    ("text", "size"), [("20G", 20 * 1024**3), ("1.5 tb", 1.5 * 1024**4), ("800MiB", 800 * MB), ("4k", 4096)]
)
def test_sizes_that_are_read(text: str, size: float) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["20", "G", "-1G", "0G", "1e3G", "20 GBB", "nan G"])
def test_sizes_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no size"):
        parse_size(text)


def test_sizes_in_words() -> None:
    assert [format_size(size) for size in (0, 1024, 1.4 * MB, 57 * 1024**3, 5000 * 1024**4)] == [
        "0.0 KB", "1.0 KB", "1.4 MB", "57 GB", "5000 TB",
    ]  # fmt: skip
