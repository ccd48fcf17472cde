"""Find why something fails in an environment, by running it once outside the harness: nothing of it is a proof."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_crab.harness import encode_changes
from pytest_crab.instances.files import oracle_source
from pytest_crab.program_texts import program_text
from pytest_crab.protocols import Command
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Comment, Oracle

_DIAGNOSIS = program_text("pytest_crab.curation.inside", "diagnosis")
_TREE = program_text("pytest_crab.harness.inside", "tree")
_MODULE = re.compile(r"[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){0,6}", re.ASCII)

#: So much is kept of the message of an exception, and of so many tests: foreign code may have written anything.
LONGEST, _MOST = 200, 20

#: What comes up when code reaches for the network.
NETWORK = frozenset({
    "gaierror", "ConnectionError", "ConnectTimeout", "URLError", "NewConnectionError", "MaxRetryError",
    "NameResolutionError", "EndpointConnectionError", "ProxyError", "ConnectError", "ConnectionRefusedError",
    "no network",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The causes of failures, as far as these name them."""

    #: Missing modules that failures name.
    missing: tuple[str, ...] = ()
    #: Modules that the tree looked for in vain.
    vain: tuple[str, ...] = ()
    #: Names of exceptions.
    kinds: frozenset[str] = frozenset()
    #: The exception of each test that fails, by the test's id: its name, and its message on one line, which the code
    #: under test chooses.
    said: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def diagnose(context: TrialContext, comment: Comment, tree: str | None = None) -> Diagnosis:
    """Run one oracle on a tree, the reference if none is named, outside the harness; the result counts for no proof.

    A run without a readable report gives an empty diagnosis. Raises SourceError, ImageError, EngineError, Cancelled.
    """
    oracle = comment.required_oracle
    try:
        found = json.loads(_run(context, oracle, tree or context.snapshot.reference_tree))
        return Diagnosis(
            missing=_modules(found["missing"]),
            vain=_modules(found["vain"]),
            kinds=frozenset(map(str, found["kinds"])),
            said={str(test): (str(kind), str(line)[:LONGEST]) for test, kind, line in found["said"][:_MOST]},
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return Diagnosis()


def _run(context: TrialContext, oracle: Oracle, tree: str) -> bytes:
    """Return what the diagnosis of an oracle on a tree prints. Raises what ``diagnose`` raises."""
    image, environment = context.image, context.instance.required_environment
    tools = image.facts.get("tools", {}).values()
    job = {
        "parts": {"tree": _TREE},
        "tree": image.tree,
        "workdir": image.workdir,
        "changes": encode_changes(context.snapshot.changes(tree)),
        "scratch": image.scratch,
        "roots": list(environment.paths),
        "site": list(image.site),
        "env": {**{name: value for tool in tools for name, value in tool["env"].items()}, **environment.env},
        "name": Path(oracle.file).name,
        "source": oracle_source(context.instance, oracle),
    }
    command = Command(argv=(image.interpreter, "-I", "-S", "-c", _DIAGNOSIS), stdin=json.dumps(job).encode())
    run_context = context.run_context
    done = run_context.runtime.execute(
        image, [command], limits=run_context.settings.oracle_limits, seconds=environment.timeout + 30
    )
    return done[0].stdout


def _modules(names: list[object]) -> tuple[str, ...]:
    """Return the entries that can be names of modules; foreign code may have written anything."""
    return tuple(name for name in names[:200] if isinstance(name, str) and _MODULE.fullmatch(name))
