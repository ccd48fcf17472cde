"""Settings of this repository's own test runs."""

from __future__ import annotations

import compileall
import gc
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]

# Bytecode of the package and of the tests is kept, also where the environment says otherwise: many processes read it.
sys.dont_write_bytecode = False

# Compiled templates too: runs that tests start have a home of their own, and would compile each anew.
os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))


def pytest_configure(config: pytest.Config) -> None:
    """Compile the package and the templates of its pages once, before there are workers."""
    if not hasattr(config, "workerinput"):
        from pytest_crab.show.page.rendering import templates

        compileall.compile_dir(Path(__file__).parent / "pytest_crab", quiet=2, workers=0)
        for name in templates().list_templates(["html"]):
            templates().get_template(name)


#: For each pytest that tests start, what would be half of its start and end: plugins of the tests' own environment,
#: collecting garbage to the last, and rewriting the assertions of this package.
NOT_NEEDED = "-p no:hypothesispytest -p no:anyio -p no:unraisableexception --assert=plain"


def pytest_collection_finish() -> None:
    """Keep no bytecode from here on, and let the garbage collector look at nothing that was made until here."""
    os.environ["PYTEST_ADDOPTS"] = NOT_NEEDED  # this run has read its own
    # A test may write a module twice within a second, which is as fine as bytecode can tell.
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    # A run of pytest inside a test collects garbage twice: half a second each with thousands of tests in memory.
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Four more than there are processors for ``-n auto``: many tests wait for containers, clients and timers."""
    return len(os.sched_getaffinity(0)) + 4


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Deal tests out folder by folder, so that workers make few fixtures twice; idle workers take tests of others."""
    if config.option.dist != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)
