"""The progress of things that run at a time, and the line that shows it on a terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from pytest_crab.formats import format_dollars, format_duration
from pytest_crab.waiting import FOR_A_SLOT

#: Stands between the parts of the line, the most important part first.
_BAR = " | "

#: How many running things are named.
NAMED = 2

#: With fewer columns than this left on the line nothing is shown.
ROOM = 20

#: Seconds between two lines of progress where there is no terminal.
EVERY = 30.0

#: Seconds that all that runs waits for slots before that is said in a line of its own.
PATIENCE = 10.0


@dataclass(frozen=True, slots=True)
class RunningTrial:
    """One thing that runs."""

    #: Its name.
    trial: str
    step: str
    #: The seconds that it has been in its step.
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The state of a run."""

    #: Seconds since its start.
    elapsed: float = 0.0
    #: The count of things that have ended.
    done: int = 0
    #: Those that run.
    running: tuple[RunningTrial, ...] = ()
    cost_usd: float | None = None

    def times(self, total: int) -> Iterator[str]:
        """Yield the time so far, and an estimate of the time that is left once something of ``total`` is done."""
        yield format_duration(self.elapsed)
        if 0 < self.done < total:
            yield f"about {format_duration(self.elapsed / self.done * (total - self.done))} left"


class Watch:
    """Follows many things by key: threads tell it of their steps, and any thread may ask how far they are."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._steps: dict[Hashable, tuple[str, float]] = {}
        self._before: dict[Hashable, tuple[str, float]] = {}
        self._ended: set[Hashable] = set()
        self._done = 0
        self._cost: float | None = None
        self._guard = threading.Lock()

    def step(self, key: Hashable, step: str) -> None:
        """Note that a thing is in this step now; a step that has waited goes on with the seconds that it had."""
        now = time.monotonic()
        with self._guard:
            if key in self._ended:
                return
            last, since = self._steps.get(key, ("", now))
            if step == f"{last}{FOR_A_SLOT}":
                self._before[key] = (last, now - since)
            name, spent = self._before.pop(key, ("", 0.0)) if last.endswith(FOR_A_SLOT) else ("", 0.0)
            self._steps[key] = (step, now - spent if name == step else now)

    def end(self, key: Hashable, *, done: bool, costs: Sequence[float] = ()) -> bool:
        """Count a thing that has ended, ``done``: with a result; False if it was counted before."""
        with self._guard:
            if key in self._ended:
                return False
            self._ended.add(key)
            self._steps.pop(key, None)
            self._done += done
            self._cost = sum(costs, self._cost or 0.0) if costs else self._cost
            return True

    def progress(self) -> Progress:
        """Return the state of all of them now."""
        now = time.monotonic()
        with self._guard:
            running = tuple(RunningTrial(str(key), step, now - since) for key, (step, since) in self._steps.items())
            return Progress(elapsed=now - self._start, done=self._done, running=running, cost_usd=self._cost)


class RunClock:
    """Says when a line about a run is due where no terminal shows a live one."""

    def __init__(self, every: float = EVERY, clock: Callable[[], float] = time.monotonic) -> None:
        self._every = every
        self._clock = clock
        self._last = clock()

    def is_due(self) -> bool:
        """Return True once every so many seconds, and start to count again."""
        now = self._clock()
        if now - self._last < self._every:
            return False
        self._last = now
        return True


def progress_text(progress: Progress, total: int, noun: str = "trials", *, budget: float | None = None) -> str:
    """Return one line without control characters: counts, times, money, and the first of what runs."""
    count = len(progress.running)
    left = max(0, total - progress.done - count)
    parts = [f"{progress.done}/{total} {noun}", *progress.times(total), f"{count} running, {left} to come"]
    if progress.cost_usd is not None or budget is not None:
        spent = format_dollars(progress.cost_usd or 0.0)
        parts.append(f"{spent} USD" if budget is None else f"{spent} of {format_dollars(budget)} USD")
    running = [f"{one.trial} {one.step} {one.seconds:.0f}s" for one in progress.running[:NAMED]]
    if len(progress.running) > NAMED:
        running.append(f"{len(progress.running) - NAMED} more")
    if running:
        parts.append(", ".join(running))
    return _BAR.join(parts)


class SlotsWanted:
    """Says once that everything waits for slots, which other runs hold; ``slots`` says which."""

    def __init__(self, slots: object) -> None:
        self._slots = slots
        self._said = False

    def sentence(self, progress: Progress) -> str | None:
        """The sentence, when it is time; None otherwise."""
        waits = [one.seconds for one in progress.running if one.step.endswith(FOR_A_SLOT)]
        if self._said or not waits or len(waits) < len(progress.running) or min(waits) < PATIENCE:
            return None
        self._said = True
        return f"all that runs here waits for one of {self._slots}"


class TerminalLine:
    """A line that is written behind what is on a terminal, and wiped before anything else is printed."""

    def __init__(self, write: Callable[[str], None], room: Callable[[], int]) -> None:
        self._write = write
        self._room = room
        self._shown = ""

    def show(self, text: str) -> None:
        """Show ``text`` in what is left of the terminal's line: parts after a bar that do not fit are left out."""
        room = self._room() - 4
        while len(text) > room and _BAR in text:
            text = text.rpartition(_BAR)[0]
        text = f" [{text[: max(0, room)]}]" if room > ROOM else ""
        if text != self._shown:
            self._write(_erasure(self._shown) + text)
            self._shown = text

    def wipe(self) -> None:
        """Take the line away."""
        if self._shown:
            self._write(_erasure(self._shown))
            self._shown = ""


def _erasure(text: str) -> str:
    back = "\b" * len(text)
    return back + " " * len(text) + back
