"""What an environment of node has to say, and what its images can run."""

from __future__ import annotations

import pytest

from pytest_crab import ecosystems
from pytest_crab.ecosystems.node.tools import NodeTools
from pytest_crab.types import Oracle

SCRIPT = Oracle(file="test_c0.test.ts", runner="node")


def image(version: str) -> dict[str, str]:
    return {"tools": {"node": {"program": "/usr/bin/node", "version": version}}}


@pytest.mark.parametrize(
    ("facts", "oracle", "words"),
    [
        ({}, SCRIPT, "set environment.dockerfile to node"),
        ({}, Oracle(file="test_c0.test.js", runner="jest"), "pin jest"),
        (image("20.20.2"), SCRIPT, "22.6 or later"),
        (image("20.20.2"), Oracle(file="test_c0.test.mts", runner="node"), "22.6 or later"),
        (image("18.2.0"), SCRIPT, "20 or later"),
    ],
)
def test_what_an_image_cannot_run_is_said(facts: dict[str, str], oracle: Oracle, words: str) -> None:
    assert words in str(ecosystems.unsupported_reason(facts, oracle))


def test_an_image_runs_what_its_ecosystem_has() -> None:
    assert ecosystems.unsupported_reason(image("22.7.0"), SCRIPT) is None
    assert ecosystems.unsupported_reason({}, Oracle(file="test_c0.py")) is None


def test_typescript_is_asked_for_where_node_has_it_and_does_not_run_it_unasked() -> None:
    versions = ("20.1.0", "22.7.0", "22.18.0", "23.2.0", "24.0.0")
    asking = [version for version in versions if NodeTools().options(version) == ("--experimental-strip-types",)]
    assert asking == ["22.7.0", "23.2.0"]
    assert NodeTools().options("20.1.0") == ()
