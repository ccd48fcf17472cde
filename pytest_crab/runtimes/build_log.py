"""The output of an engine's build: the step that it is at, and the line that explains a failure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_crab.errors import CrabError, EngineError, ImageError
from pytest_crab.runtimes.build_failures import ADVICE_FOR_IMAGES, by_signal, is_outage, why
from pytest_crab.text import output_lines

_STEP = re.compile(r"Step \d+/\d+ : (?:RUN : ([^;]+);)?(.*)", re.DOTALL)
_STDERR = "\x1b[91m"  # what the engine puts before a line of standard error; the two streams come in no fixed order
_NO_REASON = ("WARNING", "[notice]", "+ ")
_ENGINES_OWN = (" --->", "Removing intermediate")
_STATUS = re.compile(r"returned a non-zero code: (\d+)")
_KEPT = 60


class BuildLog:
    """Takes a build's events; ``built`` is the image's id once there is one."""

    def __init__(self) -> None:
        self.built: str | None = None
        self._step = "start"
        self._lines: list[str] = []
        self._errors: list[str] = []

    def take(self, event: Mapping[str, Any]) -> str | None:
        """Take in one event; the engine's own error if that is what it is."""
        raw = str(event.get("stream", ""))
        match = _STEP.match(raw)
        if match:
            self._step = (match.group(1) or match.group(2)).strip()[:80]
            self._errors.clear()
        else:
            lines = [line.strip() for line in output_lines(raw) if line.strip() and not line.startswith(_ENGINES_OWN)]
            self._lines.extend(lines)
            if raw.startswith(_STDERR):
                self._errors.extend(line for line in lines if not line.startswith(_NO_REASON))
        self.built = event.get("aux", {}).get("ID", self.built)
        return str(event["error"]) if "error" in event else None

    def failure(self, instance: str, error: str) -> CrabError:
        """The error to raise for a build that failed: instance, step and the lines that tell most."""
        status = _STATUS.search(error)
        # The engine's own error ends with the system's words; before them, and in what a command prints, are names.
        if status is None and error.rstrip().lower().endswith(": no space left on device"):
            return EngineError(f"{instance}: there is no space left to build an image, the engine said: {error[-300:]}")
        if status is not None:
            cause = by_signal(int(status.group(1)))
            told = why("\n".join(self._errors or self._lines), ADVICE_FOR_IMAGES)
            error = told if cause is None else f"{cause}: {told}"
        log = "\n".join(self._lines[-_KEPT:])
        sentence = f"{instance}: the image could not be built, it failed to {self._step}: {error[:700]}"
        return ImageError(sentence, log, of_machine=is_outage(log))
