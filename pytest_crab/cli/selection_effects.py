"""Lines of ``curate --what-if``: what each rule of selection would keep, before anything costs money."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_crab.curation.listing import Listing
from pytest_crab.curation.permission import Permission
from pytest_crab.curation.pipeline import Fate, walk
from pytest_crab.curation.select import Selection
from pytest_crab.curation.stages import PERMIT, Stage, make_stage
from pytest_crab.curation.what_if import find_effects
from pytest_crab.formats import format_count
from pytest_crab.settings import Settings
from pytest_crab.store import FileStore


def effects_lines(listing: Listing, collect: Sequence[Stage], store: FileStore, settings: Settings) -> Iterator[str]:
    """Yield the table for what is collected, with a sentence on what is not. Raises BadInput, StoreError."""
    ends = [passage.decision for one in listing.candidates for passage in walk(one, collect, store)]
    decided = [decision for decision in ends if decision is not None]
    candidates = [decision.candidate for decision in decided if decision.candidate is not None]
    permission, selection = make_stage(PERMIT, settings).stage, make_stage("select", settings).stage
    assert isinstance(permission, Permission)
    assert isinstance(selection, Selection)
    yield from find_effects(permission, selection, candidates).lines()
    for fate in (Fate.REJECTED, Fate.FAILED):
        number = sum(decision.fate is fate for decision in decided)
        if number:
            yield f"{format_count(number, 'pull request')} {fate} by collect: --status says why"
