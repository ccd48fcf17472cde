"""One piece of work, as a plain value."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any


class State(enum.Enum):
    """Where a job is in its life."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass
class Job:
    """A call of *task* with *arguments*; ``due`` is in seconds since the epoch."""

    id: int
    task: str
    arguments: dict[str, Any] = field(default_factory=dict)
    due: float = 0.0
    state: State = State.WAITING
    attempts: int = 0
    error: str = ""
