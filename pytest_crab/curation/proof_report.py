"""Write proofs.json, the readable report of a set's proofs beside crab.lock."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_crab import ecosystems
from pytest_crab.curation.certify import SOURCE, Certificate
from pytest_crab.instances.set_files import read_set_table, write_set_file
from pytest_crab.locks import locked_folder

#: The file's name.
FILE = "proofs.json"


def write_proofs(folder: Path, certificates: Iterable[Certificate], runtime: str) -> None:
    """Write the certificates into the report of the set in ``folder``, which keeps its other instances.

    The same certificates give the same bytes. Raises BadInput for a file that is something else.
    """
    path = folder / FILE
    with locked_folder(folder):  # other instances of the set may be certified at the same time
        problem = "the file does not hold proofs of this version; move it away and certify again"
        instances = read_set_table(path, "instances", problem)
        instances.update((each.instance.id, _entry(each, runtime)) for each in certificates)
        write_set_file(path, {"instances": instances})


def _entry(certificate: Certificate, runtime: str) -> dict[str, Any]:
    environment, tags = certificate.instance.required_environment, certificate.instance.tags
    owner = ecosystems.ecosystem_of(environment)
    oracles: dict[str, Any] = {name: {"proved": False, "why": why} for name, why in certificate.problems.items()}
    for one in certificate.proven:
        if one.proof is not None:
            oracles[one.comment.id] = {
                "proved": True,
                "tests": list(one.proof.expected),
                "runs": one.proof.runs,
                "flake_bound": round(one.proof.flake_bound, 4),
                "key": one.key,
            }
    return {
        SOURCE: tags.get(SOURCE, certificate.environment_source),
        owner.name: owner.version(environment),
        "packages": len(environment.packages),
        "runtime": runtime,
        "oracles": oracles,
        **({"notes": list(certificate.notes)} if certificate.notes else {}),
    }
