"""bench/rejudge.py: its set is as large as c-CRAB's, and the verdicts that it expects are those of the shipped sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.instances.loading import load_instance
from pytest_crab.types import Isolation


@pytest.fixture
def rejudge(benchmark_script: Callable[[str], Any]) -> Any:
    return benchmark_script("rejudge")


def test_each_recorded_revision_is_a_shipped_right_or_wrong_fix_of_one_plain_oracle(
    rejudge: Any, tmp_path: Path
) -> None:
    rejudge.write_set(tmp_path)
    instances = {own.id: own for own in map(load_instance, tmp_path.glob("*/instance.yaml"))}
    comments = [comment for own in instances.values() for comment in own.with_oracles]
    assert {comment.required_oracle.isolation for comment in comments} == {Isolation.NONE}
    expected = rejudge.recorded(tmp_path / "recorded")
    assert (len(expected), len(comments) * rejudge.REVIEWERS) == (184, 224)
    assert len({(name, reviewer) for name, reviewer, _ in expected}) == 184
    for (name, reviewer, comment), right in expected.items():
        own = next(one for one in instances[name].comments if one.id == comment)
        fixes = own.accepts if right else own.rejects
        diff = (tmp_path / "recorded" / reviewer / f"{name}.diff").read_bytes()
        assert diff in [(Path(instances[name].folder) / fix).read_bytes() for fix in fixes]
