"""What each stored step is called: the digest of its exact inputs (design: store keys)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from pytest_crab import plain
from pytest_crab.types import Comment
from pytest_crab.types import Finding
from pytest_crab.types import Instance
from pytest_crab.types import PullRequest

if TYPE_CHECKING:
    from pytest_crab.trial.stage import Stage


def proofs(stage: Stage, harness: str) -> dict[str, str]:
    """The key of each oracle's proof: environment, trees, oracle, references, checks, harness, limits, runs."""
    instance, world, snapshot = stage.instance, stage.world, stage.snapshot
    shared = {
        "environment": stage.environment,
        "trees": [snapshot.head_tree, snapshot.reference_tree],
        "paths": instance.environment.paths,
        "timeout": instance.environment.timeout,
        "pass_to_pass": instance.pass_to_pass,
        "limits": world.limits,
        "harness": harness,
        "runs": world.proof_runs,
    }
    return {comment.id: plain.digest({**shared, **_oracle(instance, comment)}) for comment in instance.measured}


def _oracle(instance: Instance, comment: Comment) -> dict[str, Any]:
    folder = Path(instance.folder)

    def digests(files: Iterable[str]) -> list[str]:
        return [hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in files]

    return {
        "oracle": plain.dump(comment.oracle) | {"file": Path(comment.examined.file).name},
        "source": digests([comment.examined.file]),
        "reference": digests([comment.reference] if comment.reference else []),
        "accepts": digests(comment.accepts),
        "rejects": digests(comment.rejects),
    }


def review(pull_request: PullRequest, adapter: str, identity: Mapping[str, Any], repeat: int) -> str:
    """The key of a review: pull request, reviewer with its settings and version, repeat."""
    return plain.digest({"pull_request": pull_request, "reviewer": adapter, "identity": identity, "repeat": repeat})


def revision(
    pull_request: PullRequest, findings: Sequence[Finding], adapter: str, identity: Mapping[str, Any], repeat: int
) -> str:
    """The key of a revision: pull request, findings, agent with its settings and version, repeat."""
    return plain.digest(
        {"pull_request": pull_request, "findings": findings, "agent": adapter, "identity": identity, "repeat": repeat}
    )


def verdict(tree: str, proof_key: str) -> str:
    """The key of one oracle's verdict: the revised tree and the proof, which names all the rest."""
    return plain.digest({"tree": tree, "proof": proof_key})


def damage(tree: str, proof_keys: Sequence[str]) -> str:
    """The key of a pass_to_pass run: the revised tree and the instance's proofs, which name the command."""
    return plain.digest({"tree": tree, "pass_to_pass": sorted(proof_keys)})
