"""Write proofs.json, the readable report of a set's proofs beside crab.lock."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.curation.certify import Certificate
from pytest_crab.errors import BadInput
from pytest_crab.instances.files import replace_text
from pytest_crab.locks import locked_folder

#: The file's name.
FILE = "proofs.json"

_SCHEMA = 1


def write_proofs(folder: Path, certificates: Iterable[Certificate], runtime: str) -> None:
    """Write the certificates into the report of the set in ``folder``, which keeps its other instances.

    The same certificates give the same bytes. Raises BadInput for a file that is something else.
    """
    path = folder / FILE
    with locked_folder(folder):  # other instances of the set may be certified at the same time
        instances = dict(_read_instances(path))
        instances.update((each.instance.id, _entry(each, runtime)) for each in certificates)
        content = {"schema": _SCHEMA, "instances": instances}
        text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
        replace_text(path, f"{text}\n")


def _read_instances(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        content = serialization.load(path)
    except (OSError, ValueError):
        content = None
    kept = content.get("instances") if isinstance(content, dict) and content.get("schema") == _SCHEMA else None
    if not isinstance(kept, dict):
        raise BadInput(str(path), ["the file does not hold proofs of this version; move it away and certify again"])
    return kept


def _entry(certificate: Certificate, runtime: str) -> dict[str, Any]:
    environment = certificate.instance.required_environment
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
        "rung": certificate.instance.tags.get("rung", certificate.rung),
        "python": environment.python,
        "packages": len(environment.packages),
        "runtime": runtime,
        "oracles": oracles,
        **({"notes": list(certificate.notes)} if certificate.notes else {}),
    }
