"""Tells whether a linter sees a fault: one that ruff finds says nothing of a reviewer."""

from __future__ import annotations

import functools
import json
import subprocess
from collections import Counter

from pytest_crab.errors import ReviewerError
from pytest_crab.reviewers.ruff import SELECT, ruff_program

_SECONDS = 60


def ruff_sees(path: str, faulty: str, mended: str) -> bool | None:
    """Return whether ruff, as a reviewer, finds more in a faulty file than in the mended one; None: it cannot run."""
    try:
        return bool(_findings(path, faulty) - _findings(path, mended))
    except (ReviewerError, OSError, subprocess.TimeoutExpired, ValueError, LookupError, TypeError):
        return None


@functools.lru_cache(maxsize=32)
def _findings(path: str, text: str) -> Counter[str]:
    """Return how often ruff finds each rule in a text; what it raises is not kept."""
    command = [str(ruff_program()), "check", "--isolated", "--no-cache", "--output-format", "json"]
    command += ["--select", ",".join(SELECT)]
    done = subprocess.run(
        [*command, "--stdin-filename", path, "-"],
        input=text.encode(),
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    return Counter(str(one["code"]) for one in json.loads(done.stdout))
