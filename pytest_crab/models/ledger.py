"""The accounts of those who ask models, one per trial, step and attempt, and the ledger of what they spend."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import math
import os
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab.formats import format_dollars
from pytest_crab.model_access import ModelAccess
from pytest_crab.models.usage import Tokens
from pytest_crab.text import split_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One request as the ledger has it."""

    time: str
    trial: str
    step: str
    attempt: int
    provider: str
    path: str
    model: str
    #: 0: its client left before there was an answer.
    status: int
    #: How often it went to the provider; a replayed one never did.
    tries: int
    seconds: float
    #: False: the answer was cut off.
    complete: bool
    tokens: Tokens | None
    #: None: unknown.
    cost: float | None
    #: What one without its end or without its usage may have cost at most, for the budgets alone.
    estimate: float | None = None
    replayed: bool = False
    #: Whether it was not the client that left before the end.
    cut: bool = False
    #: Who made the recording that answered, where that is not who asks.
    recorded_by: str | None = None

    @property
    def answered(self) -> bool:
        """True if the model began an answer."""
        return 0 < self.status < 400

    def plain(self) -> dict[str, Any]:
        """Return the line of the ledger; what is not known is left out."""
        known = ("time", "trial", "step", "attempt", "provider", "path", "model", "status", "tries")
        line: dict[str, Any] = {name: getattr(self, name) for name in known}
        line |= {"seconds": round(self.seconds, 4), "complete": self.complete}
        money = {"cost_usd": self.cost, "estimated_usd": self.estimate}
        line |= {name: round(amount, 9) for name, amount in money.items() if amount is not None}
        line |= {name: True for name in ("replayed", "cut") if getattr(self, name)}
        line |= {"recorded_by": self.recorded_by} if self.recorded_by is not None else {}
        parts = ("input", "output", "cached", "cache_write") if self.tokens is not None else ()
        return line | {f"{part}_tokens": getattr(self.tokens, part) for part in parts}


@dataclass(kw_only=True)
class Account:
    """One attempt at a step of a trial: its token, what it used, and the fault for which it cannot be trusted."""

    token: str
    trial: str
    step: str
    attempt: int
    #: Those that it may ask; None: all.
    providers: frozenset[str] | None = None
    #: What its trial's steps that come from the store have cost.
    before: float = 0.0
    #: What its trial may pay in this run; None: no end.
    allowance: float | None = None
    #: Whether a request was refused since it might have cost more than ``allowance``.
    short: bool = False
    #: Where its token is good.
    socket: str = ""
    entries: list[LedgerEntry] = field(default_factory=list)
    open: bool = True
    #: Its requests that are under way.
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    #: Those of ``tasks`` that are not booked yet.
    asking: set[asyncio.Task[Any]] = field(default_factory=set)
    transports: set[asyncio.Transport] = field(default_factory=set)
    #: Done once all its answers so far are recorded.
    recorded: asyncio.Future[None] | None = None
    _asked: defaultdict[str, itertools.count[int]] = field(default_factory=lambda: defaultdict(itertools.count))
    #: A fault that stays.
    lasting: str | None = None
    #: A fault that is forgotten once a later request succeeds, and counts for little where an earlier one did.
    passing: str | None = None
    #: Whether the fault is that its trial spent all that it may cost.
    overspent: bool = False
    #: The questions that were tried as often as may be, with the answers that they are given from then on.
    given_up: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The name of this account's recordings."""
        return f"{self.trial} {self.step}"

    @property
    def fault(self) -> str | None:
        """One sentence if the gateway, a cassette or the budget kept a model from answering."""
        return self.lasting or self.passing

    @property
    def has_answer(self) -> bool:
        """True if a model has answered anything."""
        return any(entry.answered for entry in self.entries)

    def note(self, why: str, *, lasting: bool = False, passing: bool = False, overspent: bool = False) -> None:
        """Note why a request was refused, as far as it counts for the step."""
        if lasting:
            self.overspent = self.overspent or (overspent and self.lasting is None)
            self.lasting = self.lasting or why
        if passing:
            self.passing = why

    @contextlib.contextmanager
    def busy(self, transport: asyncio.Transport | None) -> Iterator[None]:
        """Mark a request as under way, from its first line on: ``end`` breaks it off."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        self.asking.add(task)
        if len(self.tasks) == 1:
            self._mark()
        if transport is not None and transport not in self.transports:
            self.transports = {each for each in self.transports if not each.is_closing()} | {transport}
        try:
            yield
        finally:
            self.tasks.discard(task)
            self.asking.discard(task)
            if not self.tasks:
                self._mark()

    def _mark(self) -> None:
        """While a request is under way, have the file there that says so to the run."""
        if not self.socket:
            return
        mark = ModelAccess(socket=Path(self.socket), token=self.token).asking
        with contextlib.suppress(OSError):  # then the slot is not lent, and the request matters more
            if self.tasks:
                mark.touch()
            else:
                mark.unlink(missing_ok=True)

    async def rest(self, seconds: float) -> None:
        """Wait, at most so long, until all is booked: the end of a client is noticed a moment later."""
        if self.asking:
            await asyncio.wait(self.asking, timeout=seconds)

    async def end(self) -> None:
        """Void the token, break off what is under way, and wait until all is booked and recorded."""
        self.open = False
        for task in tuple(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        if self.recorded is not None:
            await asyncio.wait([self.recorded])  # which others wait for too, so that it is not cancelled with this
        for transport in self.transports:
            transport.abort()
        self.transports.clear()

    def number(self, key: str) -> int:
        """Return how often this account asked the same before, and count this time."""
        return next(self._asked[key])

    def usage(self) -> dict[str, Any]:
        """Return what the account used."""
        return {**usage_of(self.entries), "seconds": sum(entry.seconds for entry in self.entries)}


def usage_of(entries: Sequence[LedgerEntry]) -> dict[str, Any]:
    """Return what requests used, as the fields of a Usage: sums, in which one unknown makes the whole unknown."""
    billed = [entry for entry in entries if entry.status < 400]
    known = all(entry.tokens is not None and entry.complete for entry in billed)
    priced = all(entry.cost is not None and entry.complete for entry in billed)
    return {
        "input_tokens": sum(entry.tokens.input for entry in billed if entry.tokens) if known else None,
        "output_tokens": sum(entry.tokens.output for entry in billed if entry.tokens) if known else None,
        "cost_usd": round(sum(entry.cost for entry in billed if entry.cost), 9) if priced else None,
        "requests": len(entries),
        "failed_requests": sum(not entry.answered or entry.cut for entry in entries),
        "tries": sum(entry.tries for entry in entries),
        "models": sorted({entry.model for entry in entries if entry.answered}),
        "asked": sorted({entry.model for entry in entries}),
    }


class Ledger:
    """All accounts of a run; what was spent before a restart is read from the ledger.

    ``budget`` and ``trial_budget`` are US dollars, None: no end.
    """

    def __init__(self, ledger: Path, *, budget: float | None, trial_budget: float | None) -> None:
        self.budget = budget
        self.trial_budget = trial_budget
        self._by_token: dict[str, Account] = {}
        self._spent = 0.0
        self._unknown: str | None = None
        self._spent_by_trial: dict[str, float] = defaultdict(float)
        self._paid_by_trial: dict[str, float] = defaultdict(float)
        self._own: dict[str, dict[tuple[str, int], float]] = defaultdict(lambda: defaultdict(float))
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._under_way: dict[str, list[float]] = defaultdict(list)
        self._released = asyncio.Event()
        self._path = ledger
        self._read(ledger)
        self._ledger = os.open(ledger, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        size = os.fstat(self._ledger).st_size
        self._torn = size > 0 and os.pread(self._ledger, 1, size - 1) != b"\n"

    @property
    def has_budget(self) -> bool:
        """True if there is any budget to keep."""
        return self.budget is not None or self.trial_budget is not None

    def open(
        self,
        trial: str,
        step: str,
        attempt: int,
        providers: Iterable[str] | None = None,
        spent: float = 0.0,
        allowance: float | None = None,
    ) -> Account:
        """Open an account with a token that cannot be guessed."""
        token = f"crab-{secrets.token_urlsafe(32)}"
        named = None if providers is None else frozenset(providers)
        account = Account(token=token, trial=trial, step=step, attempt=attempt, providers=named, before=spent)
        account.allowance = allowance
        self._by_token[account.token] = account
        return account

    def find(self, token: str | None) -> Account | None:
        """Return the account of a token, open or not."""
        return None if token is None else self._by_token.get(token)

    @contextlib.asynccontextmanager
    async def turn(self, account: Account) -> AsyncIterator[None]:
        """Wait until a trial has no other request under way: then one at most exceeds its budget."""
        async with self._locks[account.trial]:
            while self._under_way.get(account.trial):
                await self._released.wait()
            yield

    def reserve(self, account: Account, most: float) -> bool:
        """Admit a request beside others of its trial, if no budget is exceeded even if all cost what they may at most.

        ``most`` is that in US dollars; the caller releases it. Where a trial has a budget of its own, requests come one
        by one, so that it ends at the same one however often it is run.
        """
        trial = account.trial
        if self.trial_budget is not None or self._locks[trial].locked() or self.refusal(account) is not None:
            return False
        own, every = math.fsum(self._under_way[trial]), math.fsum(itertools.chain(*self._under_way.values()))
        taken = ((self.budget, self._spent + every), (account.allowance, self._paid_by_trial[trial] + own))
        if any(limit is not None and spent + most > limit for limit, spent in taken):
            return False
        self._under_way[trial].append(most)
        return True

    def release(self, account: Account, most: float) -> None:
        """End what ``reserve`` began."""
        self._under_way[account.trial].remove(most)
        if not self._under_way[account.trial]:
            del self._under_way[account.trial]
        self._released.set()
        self._released = asyncio.Event()

    def refusal(self, account: Account) -> str | None:
        """Return why this account may not ask any more, as a sentence; None if it may."""
        if self._over:
            return (
                f"the budget of the run is spent ({format_dollars(self._spent, 4)} of {self.budget or 0:g} USD)"
                ": raise --crab-budget (of a pytest-crab command: --budget) and run again, finished steps are kept"
            )
        if self._unknown is not None:
            return self._unknown
        spent = self._spent_by_trial[account.trial] + account.before
        if self.trial_budget is not None and spent >= self.trial_budget:
            return (
                f"the budget of trial {account.trial} is spent ({format_dollars(spent, 4)} of "
                f"{self.trial_budget:g} USD): raise models.trial_budget in crab.yaml and run again"
            )
        return None

    def beyond_allowance(self, account: Account, most: float) -> str | None:
        """Return why a request that may cost so many US dollars is not made, as a sentence; None if it may be."""
        paid = self._paid_by_trial[account.trial]
        if account.allowance is None or paid + most <= account.allowance:
            return None
        account.short = True
        left = max(account.allowance - paid, 0)
        return (
            f"the budget of the run is spent: {format_dollars(left, 4)} USD are left for {account.trial}, "
            f"and this request may cost {format_dollars(most, 4)}; raise --crab-budget and run again, "
            "finished steps are kept"
        )

    def left(self, account: Account) -> float:
        """Return the US dollars that are left for this account's requests; infinite where there is no budget."""
        taken = [(self.budget, self._spent), (account.allowance, self._paid_by_trial[account.trial])]
        taken.append((self.trial_budget, self._spent_by_trial[account.trial] + account.before))
        return min((limit - spent for limit, spent in taken if limit is not None), default=math.inf)

    def overspent(self, account: Account) -> bool:
        """Return whether an account that may not ask any more has its own trial to blame, and no budget of the run.

        What earlier attempts at a step spent is not the trial's doing: they are made again since the world failed. Nor
        is the unknown cost of answers that the provider did not finish, or whose usage it did not tell.
        """
        if self.trial_budget is None or self._over or self._unknown is not None:
            return False
        spent = self._own[account.trial]
        last = {step: max(attempt for name, attempt in spent if name == step) for step, _ in spent}
        last[account.step] = account.attempt
        own = sum(cost for (step, attempt), cost in spent.items() if last[step] == attempt)
        return account.before + own >= self.trial_budget

    @property
    def _over(self) -> bool:
        """True if the run's budget is spent."""
        return self.budget is not None and self._spent >= self.budget

    def enter(self, account: Account, entry: LedgerEntry) -> None:
        """Book one request, in the ledger first; where that cannot be written, it is a lasting fault of the account."""
        line = entry.plain()
        why = self._write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        if why is not None:
            sentence = f"what a request cost could not be written to {self._path} ({why}): make room and run again"
            account.lasting = account.lasting or sentence
        account.entries.append(entry)
        if entry.answered:
            account.passing = None
        unknown = entry.cost is None and entry.estimate is None
        limited = self.has_budget or account.allowance is not None
        if limited and entry.complete and entry.status < 400 and unknown and not entry.replayed:
            self._unknown = (
                f"what {entry.model} used cannot be priced, so that no budget can be kept: "
                f"give input, output, cached and cache_write for it in models.prices of crab.yaml"
            )
        self._spend(line)

    def _write(self, line: bytes) -> str | None:
        """Add a line to the ledger, on a line of its own; return why it could not be written whole, if so."""
        line = b"\n" * self._torn + line
        try:
            written = os.write(self._ledger, line)
        except OSError as error:
            return error.strerror or str(error)
        self._torn = written < len(line)
        return "only a part of the line fits" if self._torn else None

    def _spend(self, line: Mapping[str, Any]) -> None:
        """Book what was spent; what is replayed costs the run nothing, and its trial what it cost when it was not."""
        known = line.get("cost_usd", 0.0)
        cost = max(known, line.get("estimated_usd", 0.0))
        if not line.get("replayed"):
            self._spent += cost
            self._paid_by_trial[line["trial"]] += cost
        self._spent_by_trial[line["trial"]] += cost
        unknown = line.get("cut") or line.get("complete")
        self._own[line["trial"]][line["step"], line["attempt"]] += known if unknown else cost

    def _read(self, ledger: Path) -> None:
        """Take over what a gateway of the same run spent before it died; a last line may be cut."""
        if not ledger.exists():
            return
        for line in split_lines(ledger.read_text(encoding="utf-8")):
            try:
                entry: Mapping[str, Any] = json.loads(line)
            except ValueError:
                continue
            self._spend(entry)
