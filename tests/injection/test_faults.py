"""The order in which the faults of a repository are tried."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tree_sitter", reason="faults are seeded by the extra mutation")

from pytest_crab.injection.faults import FaultSource
from pytest_crab.injection.fixes import FixSource
from pytest_crab.injection.repository import open_repository
from pytest_crab.injection.seeded import MUTANT, SeededSource

URL = "https://git.example/owner/shop"


def test_a_seeded_fault_follows_every_two_fixes_and_none_is_lost(shop_history: Path, send_history: Path) -> None:
    with open_repository(shop_history) as shop, open_repository(send_history) as sent:
        fixes = FixSource(repository=shop, url=URL)
        seeded = SeededSource(repository=sent, url=URL)
        found = list(FaultSource(fixes=fixes, seeded=seeded).list_candidates())
        mutated = [one for one in found if MUTANT in one.tags]
        real = [one for one in found if MUTANT not in one.tags]
        assert [one in mutated for one in found[:4]] == [False, False, True, False]
        assert mutated == list(seeded.list_candidates())
        assert real == list(fixes.list_candidates()) == list(FaultSource(fixes=fixes, seeded=None).list_candidates())
