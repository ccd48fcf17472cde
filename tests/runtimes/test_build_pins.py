"""What builds a tree is as old as its environment, and nothing of the tree runs to find out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_crab.runtimes.build_pins import build_constraints
from pytest_crab.types import Environment

MOMENT = "2023-01-01T00:00:00Z"


def constraints(manifest: str, **more: Any) -> str | None:
    environment = Environment(dockerfile="python", python="3.11", install=("pip install .",), **more)
    snapshot: Any = SimpleNamespace(head_tree="", read=lambda _tree, path: manifest.encode() if path else None)
    return build_constraints(environment, snapshot)


def test_without_a_moment_there_is_none() -> None:
    assert constraints("") is None


@pytest.mark.usefixtures("needs_an_index")
@pytest.mark.parametrize(
    "manifest",
    [
        "",
        "no = toml = here",
        '[build-system]\nrequires = ["hatchling", "-r /etc/passwd", "x @ https://example.invalid/x.whl"]\n',
        '[build-system]\nrequires = ["hatchling", "there-is-no-such-project-9"]\n',
    ],
)
def test_builders_are_of_the_moment(manifest: str) -> None:
    found = (constraints(manifest, resolved=MOMENT) or "").split()
    assert {"setuptools==65.6.3", "wheel==0.38.4"} <= set(found)
    assert ("hatchling==1.12.1" in found) is ("-r /etc" in manifest)
