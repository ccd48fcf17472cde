"""The environments that are tried where nothing is known: what the instance says of one stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crab import ecosystems
from pytest_crab.curation.proposed_environments import likely_first, proposed
from pytest_crab.types import Environment, Instance


@pytest.mark.cpp
def test_the_time_and_the_variables_of_the_instance_stay(
    tmp_path: Path, tree_instance: Callable[..., Instance]
) -> None:
    (tmp_path / "CMakeLists.txt").write_text("")
    given = Environment(dockerfile="python", timeout=700, env={"TZ": "Asia/Tokyo"})
    instance = tree_instance(tmp_path, "shop-1", clean=True, environment=given)
    (found,) = proposed(ecosystems.named("cpp"), instance, tmp_path, ["a.c"], tmp_path)
    assert (found.ecosystem, found.timeout, dict(found.env)) == ("cpp", 700, {"TZ": "Asia/Tokyo"})


def test_the_likely_version_is_tried_first() -> None:
    found = [Environment(ecosystem="go", version=version) for version in ("1.26", "1.18.10", "1.19.13")]
    tried = likely_first(ecosystems.of_language("go"), iter(found), "1.19.13")
    assert [each.version for each in tried] == ["1.19.13", "1.26", "1.18.10"]
