"""What is written down for people."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.curation import proof_report
from pytest_crab.curation.certify import Certificate
from pytest_crab.errors import BadInput
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.types import (
    Category,
    Comment,
    Environment,
    Instance,
    Kind,
    Oracle,
    Proof,
    Provenance,
    PullRequestFacts,
    Source,
    TreeSource,
)


def certificate(folder: Path, name: str, problem: str | None = None) -> Certificate:
    comment = Comment(
        id="c0",
        path="x.py",
        body="x",
        category=Category.DESIGN,
        kind=Kind.STRUCTURAL,
        oracle=Oracle(file="test_x.py"),
    )
    instance = Instance(
        id=name,
        folder=str(folder / name),
        provenance=Provenance.AUTHORED,
        repo="owner/x",
        license="MIT",
        pull_request=PullRequestFacts(number=1, title="x"),
        source=Source(tree=TreeSource(path="tree", head="h", reference="r")),
        environment=Environment(dockerfile="python", python="3.8", packages=("pytest==1",)),
        comments=(comment,),
    )
    proof = None if problem else Proof(comment="c0", expected=("test_x.py::test",), runs=2, flake_bound=0.77639)
    proven = (ProvedComment(comment=comment, key="k", proof=proof, problem=problem),)
    problems = {"c0": problem} if problem else {}
    return Certificate(instance=instance, environment_source="bare", proven=proven, problems=problems)


def test_proofs_and_the_sentences_of_what_is_not_proved(tmp_path: Path) -> None:
    proof_report.write_proofs(
        tmp_path, [certificate(tmp_path, "a"), certificate(tmp_path, "b", "it is green")], "local"
    )
    content = json.loads((tmp_path / proof_report.FILE).read_text())
    assert content["instances"]["a"] == {
        "environment_source": "bare",
        "python": "3.8",
        "packages": 1,
        "runtime": "local",
        "oracles": {
            "c0": {"proved": True, "tests": ["test_x.py::test"], "runs": 2, "flake_bound": 0.7764, "key": "k"},
        },
    }
    assert content["instances"]["b"]["oracles"] == {"c0": {"proved": False, "why": "it is green"}}


def test_the_version_of_another_language_has_its_name(tmp_path: Path) -> None:
    python = certificate(tmp_path, "a")
    environment = Environment(ecosystem="go", version="1.26")
    proof_report.write_proofs(
        tmp_path, [replace(python, instance=replace(python.instance, environment=environment))], "local"
    )
    entry = json.loads((tmp_path / proof_report.FILE).read_text())["instances"]["a"]
    assert entry["go"] == "1.26"
    assert "python" not in entry


def test_instances_that_were_not_looked_at_stay_and_order_does_not_matter(tmp_path: Path) -> None:
    proof_report.write_proofs(tmp_path, [certificate(tmp_path, "b"), certificate(tmp_path, "a")], "local")
    once = (tmp_path / proof_report.FILE).read_bytes()
    proof_report.write_proofs(tmp_path, [certificate(tmp_path, "a")], "local")
    assert (tmp_path / proof_report.FILE).read_bytes() == once


def test_two_who_certify_instances_of_a_set_lose_nothing_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[threading.Thread] = []
    real = proof_report.read_set_table

    def kept(path: Path, *asked: str) -> dict[str, Any]:
        found = real(path, *asked)
        if not others:
            certified = (tmp_path, [certificate(tmp_path, "b")], "local")
            others.append(threading.Thread(target=proof_report.write_proofs, args=certified))
            others[0].start()
            others[0].join(0.5)
        return found

    monkeypatch.setattr(proof_report, "read_set_table", kept)
    proof_report.write_proofs(tmp_path, [certificate(tmp_path, "a")], "local")
    others[0].join()
    assert set(json.loads((tmp_path / proof_report.FILE).read_text())["instances"]) == {"a", "b"}


def test_writing_follows_no_link_that_came_with_the_set(tmp_path: Path) -> None:
    own, folder = tmp_path / "own", tmp_path / "set"
    own.write_text("precious")
    folder.mkdir()
    (folder / f".{proof_report.FILE}.aside").symlink_to(own)
    proof_report.write_proofs(folder, [certificate(folder, "a")], "local")
    assert own.read_text() == "precious"
    assert not (folder / proof_report.FILE).is_symlink()


@pytest.mark.parametrize(
    "text", ["[]", "[" * 100_000, "no json", '{"schema": 9, "instances": {}}', '{"schema": 1, "instances": []}']
)
def test_a_file_that_is_something_else_stays(tmp_path: Path, text: str) -> None:
    (tmp_path / proof_report.FILE).write_text(text)
    with pytest.raises(BadInput, match="does not hold proofs of this version"):
        proof_report.write_proofs(tmp_path, [certificate(tmp_path, "a")], "local")
    assert (tmp_path / proof_report.FILE).read_text() == text
