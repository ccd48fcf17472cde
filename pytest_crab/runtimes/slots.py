"""Slots for sandboxes and builds, and one builder per environment, shared by all processes of a user."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_crab.errors import Cancelled
from pytest_crab.formats import format_count
from pytest_crab.locks import locked_file, try_lock_file
from pytest_crab.scratch import machine_folder
from pytest_crab.waiting import waiting

_POLL = 0.02


class Slots:
    """``count`` lock files (the cores by default); whoever holds one may run something."""

    def __init__(self, count: int | None = None, folder: Path | None = None) -> None:
        self.count = count or os.cpu_count() or 1
        self._folder = folder

    @contextmanager
    def take(self, stopped: threading.Event, asking: Path | None = None) -> Iterator[None]:
        """Hold a slot; wait for one until ``stopped``. Raises Cancelled.

        While the file ``asking`` is there, what runs waits for a model: its slot is free for others, and it takes the
        next one that is free afterwards.
        """
        descriptor = self._try()
        if descriptor is None:
            with waiting():
                descriptor = self._wait(stopped)
        held, over = [descriptor], threading.Event()
        lender = None if asking is None else threading.Thread(target=self._lend, args=(held, asking, over))
        try:
            if lender is not None:
                lender.start()
            yield
        finally:
            over.set()
            if lender is not None:
                lender.join()
            for each in held:
                os.close(each)

    def __str__(self) -> str:
        words = format_count(self.count, "slot")
        return f"the {words} of this machine, which all runs of this user with this TMPDIR share ({self._place()})"

    def count_held(self) -> int:
        """Return the number of slots that are held now."""
        free: list[int] = []
        while (descriptor := self._try()) is not None:
            free.append(descriptor)
        for descriptor in free:
            os.close(descriptor)
        return self.count - len(free)

    def _place(self) -> Path:
        return self._folder or machine_folder() / "slots"

    def _wait(self, stopped: threading.Event) -> int:
        while not stopped.wait(_POLL):
            descriptor = self._try()
            if descriptor is not None:
                return descriptor
        raise Cancelled("the run was interrupted while it waited for a slot")

    def _lend(self, held: list[int], asking: Path, over: threading.Event) -> None:
        """Keep ``held`` empty while the file is there, and else with a slot in it as soon as one is free."""
        while not over.wait(_POLL):
            if asking.exists():
                while held:
                    os.close(held.pop())
            elif not held and (descriptor := self._try()) is not None:
                held.append(descriptor)

    def _try(self) -> int | None:
        folder = self._place()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in range(self.count):
            descriptor = try_lock_file(folder / f"{number}.lock")
            if descriptor is not None:
                return descriptor
        return None


@contextmanager
def one_builder(key: str, check: Callable[[], None], cache: Path | None = None) -> Iterator[None]:
    """Hold the right to build what ``key`` names, across processes; ``check`` raises when waiting is over.

    What is built into ``cache`` is built once by all who share that folder, also from other machines.
    """
    folder = machine_folder() / "builds" if cache is None else cache / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    check()
    with locked_file(folder / f"{key[:32]}.lock", check=check):
        yield
