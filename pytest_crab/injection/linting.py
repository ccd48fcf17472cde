"""Tells whether a linter sees a fault: one that it finds says nothing of a reviewer."""

from __future__ import annotations

import functools
import os
import subprocess
from collections import Counter
from collections.abc import Iterable

from pytest_crab.ecosystems import linter_of
from pytest_crab.errors import ReviewerError
from pytest_crab.parsing.report_formats import ReportFormat
from pytest_crab.parsing.review_output import read_review
from pytest_crab.scratch import scratch

_SECONDS = 60


def linter_sees(path: str, faulty: str, mended: str) -> bool | None:
    """Return whether the linter of a file's language finds more in a faulty file than in the mended one.

    None: there is none here that can tell it of a file alone.
    """
    try:
        return bool(_findings(path, faulty) - _findings(path, mended))
    except (OSError, subprocess.TimeoutExpired, LookupError, ValueError, ReviewerError):
        return None


def absent_linters(paths: Iterable[str]) -> list[str]:
    """Return a sentence on each linter that could tell of one of these files alone, and is not on this machine."""
    known = {linter.program: linter for path in paths if (linter := linter_of(path)) is not None}
    return [
        f"{name} is not on this machine, so nobody was told which faults it finds: {one.source}"
        for name, one in sorted(known.items())
        if one.script is None and one.find() is None
    ]


@functools.lru_cache(maxsize=32)
def _findings(path: str, text: str) -> Counter[str]:
    """Return how often a linter finds each rule in a text. Raises OSError, TimeoutExpired, LookupError."""
    linter = linter_of(path)
    program = None if linter is None or linter.script is not None else linter.find()
    if linter is None or program is None:
        raise LookupError(path)
    with scratch("lint") as folder:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        argv = [str(program), *linter.arguments, f"./{path}"]
        env = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}  # and no key
        done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, timeout=_SECONDS, check=False)
        problems: list[str] = []
        report = linter.report(done.stdout.decode("utf-8", "replace"))
        review = read_review(report, problems, kind=ReportFormat(linter.format), root=str(folder), files=[path])
    if review is None or done.returncode not in linter.exit_codes:
        raise LookupError(path)
    return Counter(str(one.rule) for one in review.findings)
