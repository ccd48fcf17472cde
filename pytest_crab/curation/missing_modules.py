"""Find the modules that an oracle misses in an environment, by running it once outside the harness."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pytest_crab.harness import encode_changes
from pytest_crab.protocols import Command
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Comment

_SCRIPT = (resources.files("pytest_crab.curation.inside") / "diagnosis.py").read_text("utf-8")
_TREE = (resources.files("pytest_crab.harness.inside") / "tree.py").read_text("utf-8")
_MODULE = re.compile(r"[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){0,6}", re.ASCII)

#: What comes up when code reaches for the network.
NETWORK = frozenset({
    "gaierror", "ConnectionError", "ConnectTimeout", "URLError", "NewConnectionError", "MaxRetryError",
    "NameResolutionError", "EndpointConnectionError", "ProxyError", "ConnectError", "ConnectionRefusedError",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Missing modules that failures name, modules that the tree looked for in vain, and names of exceptions."""

    missing: tuple[str, ...] = ()
    vain: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()


def diagnose(context: TrialContext, comment: Comment) -> Diagnosis:
    """Run one oracle on the reference, outside the harness; the result counts for no proof.

    A run without a readable report gives an empty diagnosis. Raises ImageError, EngineError, Cancelled.
    """
    image, environment = context.image, context.instance.required_environment
    job = {
        "parts": {"tree": _TREE},
        "tree": image.tree,
        "workdir": image.workdir,
        "changes": encode_changes(context.snapshot.changes(context.snapshot.reference_tree)),
        "scratch": image.scratch,
        "roots": list(environment.paths),
        "site": list(image.site),
        "env": dict(environment.env),
        "name": Path(comment.required_oracle.file).name,
        "source": Path(context.instance.folder, comment.required_oracle.file).read_text("utf-8"),
    }
    command = Command(argv=(image.python, "-I", "-S", "-c", _SCRIPT), stdin=json.dumps(job).encode())
    run_context = context.run_context
    done = run_context.runtime.execute(image, [command], limits=run_context.limits, seconds=environment.timeout + 30)[0]
    try:
        said = json.loads(done.stdout)
        return Diagnosis(
            missing=_modules(said["missing"]), vain=_modules(said["vain"]), kinds=frozenset(map(str, said["kinds"]))
        )
    except (ValueError, KeyError, TypeError):
        return Diagnosis()


def _modules(names: list[object]) -> tuple[str, ...]:
    """Return the entries that can be names of modules; foreign code may have written anything."""
    return tuple(name for name in names[:200] if isinstance(name, str) and _MODULE.fullmatch(name))
