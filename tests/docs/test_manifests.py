"""The manifests for Kubernetes in docs/examples: what a run needs of them, whatever a user changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

EXAMPLES = Path(__file__).resolve().parents[2] / "docs/examples"
MANIFESTS = ("daskcluster.yaml", "unprivileged.yaml")


def containers(told: Any) -> Iterator[dict[str, Any]]:
    """Every container of a document, wherever its pod stands in it."""
    if isinstance(told, dict):
        yield from told.get("containers", ())
        for each in told.values():
            yield from containers(each)


@pytest.fixture(params=MANIFESTS)
def by_name(request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    documents = yaml.safe_load_all((EXAMPLES / request.param).read_text())
    return {each["name"]: each for document in documents for each in containers(document)}


def test_each_container_asks_for_processor_and_memory(by_name: dict[str, dict[str, Any]]) -> None:
    assert {"scheduler", "worker"} <= set(by_name)
    assert {name: sorted(each["resources"]["requests"]) for name, each in by_name.items()} == {
        name: ["cpu", "memory"] for name in by_name
    }


def test_only_the_worker_has_a_key(by_name: dict[str, dict[str, Any]]) -> None:
    secret = [name for name, each in by_name.items() if "secretKeyRef" in str(each)]
    assert secret == ["worker"]


def test_a_worker_takes_as_many_trials_as_it_has_threads(by_name: dict[str, dict[str, Any]]) -> None:
    words = " ".join(by_name["worker"]["args"]).split()
    assert words[words.index("--resources") + 1] == f"crab={words[words.index('--nthreads') + 1]}"
