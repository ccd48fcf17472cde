from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import suppress

import pytest

from pytest_crab.garbage import freeze_once, no_collection


@pytest.fixture(autouse=True)
def nothing_is_frozen() -> Iterator[None]:
    gc.unfreeze()  # what this run of the tests has frozen
    freeze_once.cache_clear()
    yield
    gc.freeze()


def test_what_is_made_after_the_first_time_may_be_garbage() -> None:
    freeze_once()
    first = gc.get_freeze_count()
    made = [[] for _ in range(1000)]  # type: ignore[var-annotated]
    freeze_once()
    assert len(made) > 0
    assert 0 < gc.get_freeze_count() <= first


@pytest.mark.parametrize("works", [True, False])
def test_the_collector_works_again_only_where_it_did(works: bool) -> None:  # noqa: FBT001
    (gc.enable if works else gc.disable)()
    try:
        with suppress(ValueError), no_collection():
            assert not gc.isenabled()
            raise ValueError
        assert gc.isenabled() == works
    finally:
        gc.enable()
