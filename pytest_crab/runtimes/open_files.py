"""The files that this process may hold open: sandboxes and connections need more than some machines allow."""

from __future__ import annotations

import resource

from pytest_crab.errors import EngineError

#: What a run can do with, and what it takes where it is allowed.
LEAST, WANTED = 256, 4096


def raise_limit() -> None:
    """Raise the soft limit as far as it is wanted and allowed. Raises EngineError where that is below the least."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < WANTED:
        soft = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if 0 <= soft < LEAST:
        raise EngineError(
            f"a process may open only {soft} files at a time here, and a run needs {LEAST}: raise the limit of "
            "open files (ulimit -n 4096)"
        )
