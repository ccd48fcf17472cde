"""The second list: each attack is taken for right in the oracle's own process, and missed where that is another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hostile.catalogue import RESIDUAL
from hostile.plain import Plain, image_in
from hostile.residual import FILES, INSIDE, OUTSIDE, RIGHT

from pytest_crab import harness
from pytest_crab.ecosystems.node.tools import NodeTools
from pytest_crab.protocols import ORACLE_LIMITS, FileChange, Image
from pytest_crab.types import Environment, Isolation, Oracle, Reason, Run
from pytest_crab.verdict import ProofEvidence, judge, prove

if TYPE_CHECKING:
    from hostile.shape import Residual

    from conftest import Place

PYTHON = [residual for residual in RESIDUAL if residual.runner == "pytest"]
NODE = [residual for residual in RESIDUAL if residual.runner == "node"]


def states_of(runner: str) -> dict[str, Mapping[str, str]]:
    """Head, the reference, and every attack of a runner."""
    wrong = {FILES[runner]: RIGHT[runner].replace("+", "-")}
    attacks = {residual.name: residual.files for residual in RESIDUAL if residual.runner == runner}
    return {"head": wrong, "reference": {FILES[runner]: RIGHT[runner]}, **attacks}


def judged(runs: Mapping[str, Run]) -> dict[str, Reason]:
    """The reason of each attack's verdict, by a proof on head and reference."""
    proof = prove(ProofEvidence(instance="attacks", comment="c0", head=[runs["head"]], reference=[runs["reference"]]))
    assert not isinstance(proof, tuple), proof
    return {name: judge(proof, run).reason for name, run in runs.items()}


def job_of(image: Image, runner: str, oracle: Oracle, source: str) -> harness.Job:
    states = {
        name: [FileChange(path=path, mode="100644", content=text.encode()) for path, text in files.items()]
        for name, files in states_of(runner).items()
    }
    runs = [harness.OracleRun(id=name, state=name, seconds=20, oracle=oracle, source=source) for name in states]
    return harness.Job(image=image, environment=Environment(dockerfile="python"), states=states, runs=runs)


def said(reason: Reason) -> str:
    return f"{reason.verdict} ({reason})"


@pytest.fixture(scope="session")
def python_reasons(place: Place) -> dict[Isolation, dict[str, Reason]]:
    found = {}
    for isolation, source in ((Isolation.NONE, INSIDE["pytest"]), (Isolation.PROCESS, OUTSIDE["pytest"])):
        job = job_of(place.image, "pytest", Oracle(file="oracles/test_c0.py", isolation=isolation), source)
        done = place.runtime.execute(place.image, harness.commands(job), limits=ORACLE_LIMITS, seconds=job.seconds)
        found[isolation] = judged({run.id: run for run in harness.parse(job, done).runs})
    return found


@pytest.mark.parametrize(
    "place",
    [pytest.param("local", marks=pytest.mark.bubblewrap), pytest.param("docker", marks=pytest.mark.docker)],
    indirect=True,
    scope="session",
)
@pytest.mark.parametrize("residual", PYTHON, ids=lambda residual: residual.name)
def test_it_succeeds_in_the_same_process_and_fails_in_another(
    python_reasons: dict[Isolation, dict[str, Reason]], measured: Callable[..., None], residual: Residual
) -> None:
    inside, outside = (python_reasons[isolation][residual.name] for isolation in (Isolation.NONE, Isolation.PROCESS))
    measured(residual.name, inside=said(inside), outside=said(outside))
    assert inside is Reason.GREEN
    assert outside is Reason.FAILED


@pytest.fixture(scope="session")
def node_reasons(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Reason]]:
    """By what the oracle does: asks inside, asks a process of its own."""
    node = NodeTools().here()
    assert node is not None
    found = []
    for source in (INSIDE["node"], OUTSIDE["node"]):
        folder: Path = tmp_path_factory.mktemp("node")
        image = image_in(folder, tools={"node": dataclasses.asdict(NodeTools().placed(node, ""))})
        job = job_of(image, "node", Oracle(file="oracles/test_c0.test.mjs", runner="node"), source)
        done = Plain().execute(image, harness.commands(job), limits=ORACLE_LIMITS, seconds=job.seconds)
        found.append(judged({run.id: run for run in harness.parse(job, done).runs}))
    return found


@pytest.mark.node
@pytest.mark.parametrize("residual", NODE, ids=lambda residual: residual.name)
def test_it_succeeds_under_node_and_fails_where_the_oracle_starts_the_project(
    node_reasons: list[dict[str, Reason]], measured: Callable[..., None], residual: Residual
) -> None:
    inside, outside = (reasons[residual.name] for reasons in node_reasons)
    measured(residual.name, inside=said(inside), outside=said(outside))
    assert inside is Reason.GREEN
    assert outside is Reason.FAILED
