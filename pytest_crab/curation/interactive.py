"""Interactive workspaces for ``pytest-crab set shell``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol, cast

from pytest_crab.ecosystems import ecosystem_of
from pytest_crab.errors import EngineError
from pytest_crab.harness import encode_changes, project_program
from pytest_crab.program_texts import program_text
from pytest_crab.protocols import Completed, Snapshot
from pytest_crab.text import last_line
from pytest_crab.trial.context import TrialContext

_TREE = program_text("pytest_crab.harness.inside", "tree")
_APPLY = f"{_TREE}\n\nimport json, sys\napply(sys.argv[1], json.load(sys.stdin))\n"

#: Gives the shell a terminal of its own, so that it can manage jobs inside a sandbox that has none.
_TERMINAL = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
_SHELL = ("/bin/sh", "-c", "if command -v bash > /dev/null; then exec bash --norc; else exec sh; fi")


class InteractiveWorkspace(Protocol):
    """A workspace with an interactive shell."""

    @property
    def root(self) -> str:
        """The tree's path as commands see it."""

    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float
    ) -> Completed:
        """Run a command in the tree."""

    def attach(self, argv: Sequence[str], env: Mapping[str, str]) -> int:
        """Run a command on this process's terminal; return its exit code."""

    def diff(self) -> str:
        """Return all changes since head as a git diff."""


@contextmanager
def open_workspace(context: TrialContext, state: Callable[[Snapshot], str]) -> Iterator[InteractiveWorkspace]:
    """Yield the instance's workspace at the tree that ``state`` returns; it is removed when the context ends.

    Raises SourceError, ImageError, EngineError, Cancelled, and what ``state`` raises.
    """
    run_context = context.run_context
    if run_context.unconfined:
        context.require_sandbox()
    tree = state(context.snapshot)
    limits = run_context.settings.client_limits
    with run_context.runtime.workspace(context.image, context.snapshot, limits=limits) as workspace:
        entered = cast("InteractiveWorkspace", workspace)
        if tree != context.snapshot.head_tree:
            changes = json.dumps(encode_changes(context.snapshot.changes(tree))).encode()
            argv = (context.image.interpreter, "-I", "-S", "-c", _APPLY, entered.root)
            done = entered.run(argv, stdin=changes, seconds=300)
            if done.exit_code != 0:
                words = last_line(done.stderr) or f"it ended with {done.exit_code}"
                raise EngineError(f"the changed tree could not be put into a workspace: {words}")
        yield entered


def variables(context: TrialContext) -> dict[str, str]:
    """Return the environment variables of commands there: the import roots, and what isolated oracles start."""
    root = context.image.workdir
    places = [root if path == "." else f"{root}/{path}" for path in context.instance.required_environment.paths]
    program = project_program(context.image, ecosystem_of(context.instance.required_environment))
    started = {"CRAB_PROGRAM": program, "CRAB_PYTHON": context.image.interpreter}
    return {"PYTHONPATH": ":".join([*places, *context.image.site]), **started}


def enter(context: TrialContext, entered: InteractiveWorkspace, env: Mapping[str, str]) -> int:
    """Run a shell on this process's terminal; return its exit code."""
    prompt = {"PS1": f"{context.instance.id}$ ", "TERM": "xterm"}
    argv = [context.image.interpreter, "-I", "-S", "-c", _TERMINAL, *_SHELL]
    return entered.attach(argv, {**prompt, **env})
