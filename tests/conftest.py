"""What all tests share: which outside programs must be there, and the mark for those that need an engine."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.types import Category
from pytest_crab.types import Comment
from pytest_crab.types import Environment
from pytest_crab.types import Instance
from pytest_crab.types import Kind
from pytest_crab.types import Oracle
from pytest_crab.types import Provenance
from pytest_crab.types import PullRequestFacts
from pytest_crab.types import Source
from pytest_crab.types import TreeSource

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


@pytest.fixture(scope="session")
def tree_comment() -> Callable[..., Comment]:
    """``tree_comment(id, path, **fields)``: functional, behavioral and with an oracle, unless ``fields`` differ."""

    def make(name: str, path: str, **fields: Any) -> Comment:
        known = {"body": "Wrong.", "category": Category.FUNCTIONAL, "kind": Kind.BEHAVIORAL}
        return Comment(id=name, path=path, **{**known, "oracle": Oracle(file=f"oracles/test_{name}.py"), **fields})

    return make


@pytest.fixture(scope="session")
def tree_instance() -> Callable[..., Instance]:
    """``tree_instance(folder, id, *comments, **fields)``: authored and on a tree, unless ``fields`` differ."""

    def make(folder: Path, name: str, *comments: Comment, **fields: Any) -> Instance:
        tree = Source(tree=TreeSource(path="tree", head="head.diff", reference="reference.diff"))
        known = {
            "provenance": Provenance.AUTHORED,
            "repo": "example/project",
            "license": "MIT",
            "pull_request": PullRequestFacts(number=1, title="A change"),
            "source": tree,
            "environment": Environment(dockerfile="python"),
        }
        return Instance(id=name, folder=str(folder), comments=comments, **{**known, **fields})

    return make
