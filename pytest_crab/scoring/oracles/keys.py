"""Store keys of proofs, audits and verdicts: digests of their exact inputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.instances.files import file_digest
from pytest_crab.instances.lock import Contents, digests_of_files
from pytest_crab.scoring.oracles.states import checked_states
from pytest_crab.scoring.protocols import ScoringContext
from pytest_crab.types import Comment, Instance


def proofs(context: ScoringContext, harness: str) -> dict[str, str]:
    """Return the key of each oracle's proof: environment, trees, oracle, references, harness, limits, runs."""
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
        "certified": context.certified_runs,
    }
    return {
        comment.id: serialization.digest({**shared, **_oracle(context.contents, comment)})
        for comment in instance.with_oracles
    }


def audit(instance: Instance, comment: Comment, proof_key: str) -> str:
    """Return the key of one oracle's audit: the states that it is checked on, and the proof, which names the rest."""
    checks = [
        [state.role, [file_digest(Path(instance.folder, file)) for file in state.diffs]]
        for state in checked_states(instance, comment)
    ]
    return serialization.digest({"proof": proof_key, "checks": checks})


def _oracle(contents: Contents, comment: Comment) -> dict[str, Any]:
    return {
        "oracle": serialization.dump(comment.oracle) | {"file": Path(comment.required_oracle.file).name},
        "source": digests_of_files(contents, [comment.required_oracle.file]),
        "reference": digests_of_files(contents, filter(None, [comment.reference])),
    }


def verdict(tree: str, proof_key: str) -> str:
    """The key of one oracle's verdict: the revised tree and the proof, which names all the rest."""
    return serialization.digest({"tree": tree, "proof": proof_key})


def regressions(tree: str, proof_keys: Sequence[str]) -> str:
    """The key of a pass_to_pass run: the revised tree and the instance's proofs, which name the command."""
    return serialization.digest({"tree": tree, "pass_to_pass": sorted(proof_keys)})
