"""The near misses by which an oracle is kept or left out, and those of them that become its checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pytest_crab.curation.certify import certify
from pytest_crab.curation.publish import to_instance
from pytest_crab.curation.stages import CurationContext, Rejection, Stage
from pytest_crab.injection.proposals import WITNESSES
from pytest_crab.injection.stages import ALONE, ORACLE, REFUSED, Proving, Sharpness, looseness
from pytest_crab.instances.files import write_files
from pytest_crab.types import ChangeKind, Environment, JudgedChange, Kind, Oracle, PullCandidate

HEAD = "def price(count):\n    return 100 if count < 11 else 90\n"
FIX = "def price(count):\n    return 100 if count < 10 else 90\n\n\nassert price(0) == 100\n"
EDGE = "from shop import price\n\n\ndef test_edge():\n    assert (price(9), price(10), price(11)) == (100, 90, 90)\n"


def judged(answers: Sequence[bool | None]) -> list[JudgedChange]:
    """Near misses, each with whether the oracle refused it; None: it is not known."""
    return [
        JudgedChange(kind=ChangeKind.MUTANT, name=f"m{at}", why=f"{at} of it", diff="", held=held, fresh=False)
        for at, held in enumerate(answers)
    ]


@pytest.mark.parametrize(
    ("answers", "least", "kept"),
    [
        ([True, True, True, False], 0.75, True),
        ([True, True, False], 0.75, False),
        ([True, None, None], 0.75, True),
        ([True, True, False, None], 0.75, False),
        ([None], 1, True),
        ([], 1, True),
        ([False], 0, True),
    ],
)
def test_an_oracle_is_kept_by_the_share_that_it_refuses(
    answers: Sequence[bool | None],
    least: float,
    kept: bool,  # noqa: FBT001
) -> None:
    assert (looseness(judged(answers), least) is None) is kept


def test_a_rejection_says_what_was_accepted() -> None:
    loose = looseness(judged([True, False]), 0.75)
    assert loose is not None
    assert "1 of 2" in loose.detail
    assert "1 of it" in loose.detail


@pytest.mark.slow(reason="an environment is built, and twenty near misses are run in it")
@pytest.mark.bubblewrap
def test_a_near_miss_with_which_no_test_runs_says_nothing_and_is_no_check(
    reviewed: Callable[..., PullCandidate], proving: Callable[[str], CurationContext], tmp_path: Path
) -> None:
    pytest.importorskip("tree_sitter", reason="near misses need the extra mutation")
    context = proving("http://127.0.0.1:9")  # no model is asked
    candidate = reviewed({"shop_py": ""}, {"shop_py": HEAD}, {"shop_py": FIX})
    (one,) = candidate.comments
    comment = dataclasses.replace(one.comment, oracle=Oracle(file="oracles/test_pull_7_c0.py"), kind=Kind.BEHAVIORAL)
    environment = Environment(dockerfile="python", packages=("pytest==8.3.4",), paths=(".",), timeout=60)
    candidate = dataclasses.replace(
        candidate,
        tags={**candidate.tags, ORACLE: ALONE},
        environment=environment,
        comments=(dataclasses.replace(one, comment=comment, audited=2),),
        files={"oracles/test_pull_7_c0.py": EDGE},
    )
    found = Sharpness(most=20, least=0.1).run(candidate, context)
    assert isinstance(found, PullCandidate)
    (after,) = found.comments
    refused = {change.name: change.why for change in after.changes if change.held}
    assert found.tags[REFUSED].split(" of ")[0] == str(len(refused))
    checks = {name.removeprefix("checks/c0-").removesuffix(".diff") for name in after.comment.rejects}
    assert "'<' becomes '<='" in {refused[name].partition(": ")[2] for name in checks}
    assert checks == set(refused)
    assert "'==' becomes '!='" in {change.why.partition(": ")[2] for change in after.changes if change.held is None}
    assert set(after.comment.rejects) < set(found.files)
    assert after.audited == 2
    write_files(tmp_path / "audited", found.files)
    assert certify(to_instance(found, tmp_path / "audited"), *context.proving(), context.notice).proved


@pytest.mark.parametrize("stage", [Sharpness(), Proving()], ids=lambda stage: stage.name)
def test_an_oracle_that_cannot_be_read_is_one_rejection_and_has_no_environment_built(
    stage: Stage, reviewed: Callable[..., PullCandidate], proving: Callable[[str], CurationContext]
) -> None:
    candidate = reviewed({"shop_py": ""}, {"shop_py": HEAD}, {"shop_py": FIX})
    (one,) = candidate.comments
    oracle = Oracle(file="oracles/c0.json", runner="go-tests")
    comment = dataclasses.replace(one.comment, oracle=oracle, kind=Kind.BEHAVIORAL)
    candidate = dataclasses.replace(
        candidate,
        environment=Environment(ecosystem="go", version="1.22.0"),
        comments=(dataclasses.replace(one, comment=comment),),
        files={oracle.file: "{}", f"{WITNESSES}shop_test.go": ""},
    )
    context = proving("http://127.0.0.1:9")
    found = stage.run(candidate, context)
    assert isinstance(found, Rejection)
    assert oracle.file in found.detail
    assert not (context.folder / "built").exists()
