"""Store keys of proofs and verdicts: digests of their exact inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.scoring.protocols import TrialContext
from pytest_crab.types import Comment
from pytest_crab.types import Instance


def proofs(context: TrialContext, harness: str) -> dict[str, str]:
    """The key of each oracle's proof: environment, trees, oracle, references, checks, harness, limits, runs."""
    instance, snapshot = context.instance, context.snapshot
    shared = {
        "environment": context.environment,
        "trees": [snapshot.head_tree, snapshot.reference_tree],
        "paths": instance.required_environment.paths,
        "timeout": instance.required_environment.timeout,
        "pass_to_pass": instance.pass_to_pass,
        "limits": context.limits,
        "harness": harness,
        "runs": context.proof_runs,
    }
    return {
        comment.id: serialization.digest({**shared, **_oracle(instance, comment)}) for comment in instance.with_oracles
    }


def _oracle(instance: Instance, comment: Comment) -> dict[str, Any]:
    folder = Path(instance.folder)

    def digests(files: Iterable[str]) -> list[str]:
        return [hashlib.sha256((folder / file).read_bytes()).hexdigest() for file in files]

    return {
        "oracle": serialization.dump(comment.oracle) | {"file": Path(comment.required_oracle.file).name},
        "source": digests([comment.required_oracle.file]),
        "reference": digests([comment.reference] if comment.reference else []),
        "accepts": digests(comment.accepts),
        "rejects": digests(comment.rejects),
    }


def verdict(tree: str, proof_key: str) -> str:
    """The key of one oracle's verdict: the revised tree and the proof, which names all the rest."""
    return serialization.digest({"tree": tree, "proof": proof_key})


def damage(tree: str, proof_keys: Sequence[str]) -> str:
    """The key of a pass_to_pass run: the revised tree and the instance's proofs, which name the command."""
    return serialization.digest({"tree": tree, "pass_to_pass": sorted(proof_keys)})
