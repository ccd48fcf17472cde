"""What all tests share: which outside programs must be there, and the mark for those that need an engine."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess

import pytest

#: In CI nothing that the machine can run may be skipped: a missing program named here is a failure, not a skip.
REQUIRED = frozenset(filter(None, os.environ.get("CRAB_TEST_REQUIRE", "").split(",")))


@functools.cache
def lack_of(program: str) -> str | None:
    """Why tests that need ``docker``, ``bubblewrap`` or ``node`` cannot run here; None if they can."""
    if program == "docker":
        if shutil.which("docker") is None:
            return "no docker client"
        done = subprocess.run(["docker", "version"], capture_output=True, check=False)
        return None if done.returncode == 0 else "no Docker engine answers"
    if program == "node":
        return None if shutil.which("node") else "no node on PATH"
    if program == "browser":
        missing = [name for name in ("playwright", "axe_playwright_python") if importlib.util.find_spec(name) is None]
        return f"no {missing[0]}" if missing else None if shutil.which("chromium") else "no chromium"
    from pytest_crab.runtimes import bubblewrap

    return bubblewrap.problem()


def pytest_runtest_setup(item: pytest.Item) -> None:
    for program in ("docker", "bubblewrap", "node"):
        if item.get_closest_marker(program) is None:
            continue
        lack = lack_of(program)
        if lack is not None and program in REQUIRED:
            pytest.fail(f"CRAB_TEST_REQUIRE names {program}, and {lack}")
        if lack is not None:
            pytest.skip(lack)
