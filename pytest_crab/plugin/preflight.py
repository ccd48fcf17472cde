"""Before the first trial: two lines on what the run will need, or one sentence on why it cannot work."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_crab.campaign import preflight
from pytest_crab.campaign.access import missing_keys
from pytest_crab.campaign.sizes import in_words
from pytest_crab.errors import CrabError
from pytest_crab.protocols import ORACLE_LIMITS
from pytest_crab.report.text import counted
from pytest_crab.runtimes.hiding import hide_set
from pytest_crab.runtimes.stock import Stock
from pytest_crab.runtimes.stock import engine_stock
from pytest_crab.runtimes.stock import folder_stock
from pytest_crab.runtimes.stock import free_at
from pytest_crab.store import FileStore
from pytest_crab.types import Instance

if TYPE_CHECKING:
    from pytest_crab.plugin.session import CrabSession

#: With less than this left on the store's disk nothing can be kept.
LITTLE = 16 * 1024**2


def lines(session: CrabSession, trials: Sequence[tuple[Instance, str, int]]) -> list[str]:
    """What these trials (instance, reviewer, repeat) will need. Raises pytest.UsageError where they cannot work."""
    options, work = session.options, session.work
    _refuse_store(session)
    _refuse_keys(session, trials)
    name = work.choice.name
    instances = {instance.id: instance for instance, _, _ in trials}
    for instance in instances.values():  # each trial's sandboxes hide the answers of all others too
        hide_set(instance)
    crews = [(instance, session.crews.by_reviewer[reviewer], repeat) for instance, reviewer, repeat in trials]
    asked = preflight.asks(work.world, crews) if _has_reviews(session) else preflight.Asks.all_of(len(trials))
    to_build, said = 0, None
    built = {name: instance for name, instance in instances.items() if instance.environment is not None}
    stock = _stock(session, name, built)
    if stock is not None:
        room = preflight.room(built, stock, name, asked.share)
        lack = preflight.lack_of_disk(stock, room, options.disk_budget)
        if lack is not None:
            raise pytest.UsageError(lack)
        to_build, said = room.to_build, _room_in_words(session, stock, room, asked)
    known = preflight.measured(options.report / "trials.jsonl", name)
    seconds = preflight.duration(known, crews, asked, to_build, options.jobs)
    text = f"crab: {counted(len(trials), 'trial')} of {counted(len(instances), 'instance')}: "
    text += f"{'' if asked.exact else 'about '}{counted(asked.reviews, 'review')} and at most "
    text += f"{counted(asked.revisions, 'revision')} to be made, {asked.stored:,} stored"
    text += "" if seconds is None else f"; about {_time(seconds)} by what earlier ones took"
    return [text, *([f"crab: {said}"] if said else [])]


def _has_reviews(session: CrabSession) -> bool:
    """Whether the store holds any review at all; where it holds none there is nothing to look up."""
    return (session.options.store / "steps" / "review").is_dir()


def _refuse_keys(session: CrabSession, trials: Sequence[tuple[Instance, str, int]]) -> None:
    """Raise pytest.UsageError if a key is missing that some trial will need: what the store has is not asked for."""
    options, crews = session.options, session.crews
    if options.plan or options.replay:
        return
    lacks = {name: missing_keys(crew, crews.settings.models, os.environ) for name, crew in crews.by_reviewer.items()}
    stored = _has_reviews(session)
    needed: dict[str, None] = {}
    until = time.monotonic() + preflight.SECONDS
    for instance, name, repeat in trials if any(map(any, lacks.values())) else ():
        of_reviewer, of_agent = lacks[name]
        if set(of_reviewer + of_agent) <= needed.keys() or time.monotonic() > until:
            continue
        review = revision = False
        if stored:
            review, revision = preflight.is_stored(session.work.world, instance, crews.by_reviewer[name], repeat)
        needed.update(dict.fromkeys([*([] if review else of_reviewer), *([] if revision else of_agent)]))
    if needed:
        raise pytest.UsageError("\n".join(needed))


def _refuse_store(session: CrabSession) -> None:
    if session.options.plan:
        return
    session.work.resume  # noqa: B018 - writes to the store, or raises the sentence
    free = free_at(session.options.store)
    if free is not None and free < LITTLE:
        raise pytest.UsageError(
            f"only {in_words(free)} are free where the store {session.options.store} lies, so no step could be kept: "
            "free some space, or name another place with --crab-store"
        )


def _stock(session: CrabSession, name: str, instances: dict[str, Instance]) -> Stock | None:
    """What is there; None for a runtime of somebody else. Raises pytest.UsageError if the engine does not answer."""
    if name == "local":
        return folder_stock(FileStore(session.options.store).cache)
    if name != "docker":
        return None
    try:
        return engine_stock(instances.values(), session.options.base_image)
    except CrabError as error:
        raise pytest.UsageError(f"{error}; start the engine, or use --crab-runtime=local") from error


def _room_in_words(session: CrabSession, stock: Stock, room: preflight.Room, asked: preflight.Asks) -> str:
    noun = "images" if session.work.choice.name == "docker" else "environments"
    at_most = "at most " if asked.share < 1 and room.to_build else ""
    words = [f"{noun}: {room.there:,} there, {at_most}{room.to_build:,} to build", *_pulls(stock)]
    text = ", ".join(words)
    if room.bytes:
        free = "" if stock.free is None else f" of {in_words(stock.free)} free"
        text += f", about {in_words(room.bytes)}{free}"
    budget = session.options.disk_budget
    text += "" if budget is None else f"; kept within {in_words(budget)}"
    slots = preflight.memory_for(ORACLE_LIMITS.memory, session.options.jobs)
    if slots is not None:
        text += f"; memory for {slots} full sandboxes, and {session.options.jobs} trials at a time"
    return text


def _pulls(stock: Stock) -> Iterator[str]:
    if stock.pulled:
        more = f" and {len(stock.pulled) - 1} more" if len(stock.pulled) > 1 else ""
        yield f"{stock.pulled[0]}{more} to pull"


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
