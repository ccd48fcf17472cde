from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from fake_checkout import FakeCheckout
from pytest_crab.agents.replay import ReplayAgent
from pytest_crab.agents.simulated import hits
from pytest_crab.errors import AgentError
from pytest_crab.types import Finding, Instance, Side


def test_a_name_stands_for_the_revisions_that_the_set_has_recorded(
    tmp_path: Path, instance: Instance, checkout: FakeCheckout
) -> None:
    inside = dataclasses.replace(instance, folder=str(tmp_path / "set" / instance.id))
    bound = ReplayAgent(reviewer="codex").bind(inside)
    with pytest.raises(AgentError, match=r"recorded/codex/numbers-1\.diff: no revision is recorded there"):
        bound.revise(checkout.pull_request(), [], checkout)
    bound.file.parent.mkdir(parents=True)
    bound.file.write_bytes(b"diff\xff\n")
    assert bound.revise(checkout.pull_request(), [], checkout).diff.encode(errors="surrogateescape") == b"diff\xff\n"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "either revisions, a folder, or reviewer"),
        ({"revisions": ".", "reviewer": "codex"}, "either revisions, a folder, or reviewer"),
        ({"reviewer": "a/b"}, "it should be a name in the set's recorded results"),
        ({"revisions": "nowhere"}, "revisions names nowhere, which is no folder"),
    ],
)
def test_settings_that_name_no_recording(settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ReplayAgent(**settings)


@pytest.mark.parametrize(
    ("finding", "hit"),
    [
        (Finding(body="b", path="numbers.txt"), True),
        (Finding(body="b", path="numbers.txt", start=50), True),
        (Finding(body="b", path="numbers.txt", start=1, end=20), True),
        (Finding(body="b", path="numbers.txt", start=1, end=21), False),
        (Finding(body="b", path="numbers.txt", side=Side.LEFT), False),
        (Finding(body="b", path="other.txt"), False),
        (Finding(body="b"), False),
    ],
)
def test_a_comment_on_the_whole_file_is_hit_anywhere_in_it(instance: Instance, finding: Finding, *, hit: bool) -> None:
    whole = dataclasses.replace(instance.comments[0], lines=None)
    assert hits(finding, whole) is hit
