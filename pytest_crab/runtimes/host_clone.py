"""Throw-away clones of head on this machine, for contestants whose programs are the host's own."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from typing_extensions import override

from pytest_crab.lazy import lazy
from pytest_crab.protocols import Clone, CloneRequest, Command, Completed, Snapshot
from pytest_crab.runtimes import bubblewrap, gateway_relay
from pytest_crab.runtimes.bubblewrap import ClientMounts
from pytest_crab.runtimes.disk_quota import DiskQuota
from pytest_crab.runtimes.environments import WORKSPACE_ENV
from pytest_crab.runtimes.plain_processes import run_plain
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.runtimes.series import read_series
from pytest_crab.runtimes.tree_diff import put
from pytest_crab.runtimes.way_out import way_out
from pytest_crab.types import RevisionCommit


@contextmanager
def confined_clone(
    run: RunFolder, snapshot: Snapshot, request: CloneRequest, stopped: threading.Event
) -> Iterator[Clone]:
    """A clone whose commands run in sandboxes by bubblewrap; ``stopped`` ends them. Raises EngineError in ``run``."""
    with run.scratch() as scratch:
        workspace = ConfinedClone(run, snapshot, request, stopped, scratch)
        if workspace.client is not None:
            workspace.home, workspace.models_url = gateway_relay.HOME, gateway_relay.URL
        yield workspace


@contextmanager
def plain_clone(run: RunFolder, snapshot: Snapshot, request: CloneRequest, stopped: threading.Event) -> Iterator[Clone]:
    """A clone whose commands run without a sandbox, each once ``request.require_sandbox`` allows it.

    ``stopped`` ends them.
    """
    with run.scratch() as scratch:
        workspace = PlainClone(run, snapshot, request, stopped, scratch)
        if workspace.client is None:
            yield workspace
            return
        request.require_sandbox()
        with gateway_relay.relay_here(workspace.client.models) as url:
            workspace.home, workspace.models_url = str(workspace.client.home), url
            yield workspace


class HostClone(Clone, ABC):
    """A protocols.Workspace on the host, at the same path inside and outside; a subclass runs the commands."""

    def __init__(
        self, run: RunFolder, snapshot: Snapshot, request: CloneRequest, stopped: threading.Event, scratch: Path
    ) -> None:
        self.client: ClientMounts | None = None
        self.home: str | None = None
        self.models_url: str | None = None
        self._run = run
        self._snapshot = snapshot
        self._request = request
        self._stopped = stopped
        self._tree = scratch / "checkout"
        self.root = str(self._tree)
        self.folder: Path | None = self._tree
        snapshot.clone(self._tree)
        if request.models is not None:
            (scratch / "home").mkdir(mode=0o700)
            self.client = ClientMounts(models=request.models, home=scratch / "home")

    @abstractmethod
    @override
    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float
    ) -> Completed:
        pass

    @override
    def diff(self, since: str = "") -> str:
        return self._snapshot.diff(self._snapshot.record(self._tree), self._snapshot.apply(since))

    @override
    def series(self, diff: str) -> tuple[RevisionCommit, ...]:
        return read_series(self._snapshot, diff, gateway_relay.interpreter(), self.root, self._run_own)

    @abstractmethod
    def _run_own(self, argv: Sequence[str], *, stdin: bytes, seconds: float) -> Completed:
        """Run this process's own interpreter in the tree, with nothing that the contestant was given."""

    @override
    def apply(self, diff: str) -> None:
        before = self._snapshot.record(self._tree)
        put(self._tree, self._snapshot.changes(self._snapshot.apply(diff, onto=before)))


class ConfinedClone(HostClone):
    """A clone whose commands see it, the paths named, and the system's programs."""

    @override
    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float
    ) -> Completed:
        with ExitStack() as stack:
            internet = None
            if self._request.network:
                internet = stack.enter_context(way_out(stack.enter_context(self._run.scratch())))
            return bubblewrap.run_in_folder(
                argv,
                self._tree,
                readable=self._request.readable,
                writable=self._request.writable,
                masked=self._request.masked,
                way_out=internet,
                env={**WORKSPACE_ENV, **(env or {})},
                stdin=stdin,
                seconds=seconds,
                cancel=self._stopped,
                limits=self._request.limits,
                run=self._run,
                client=self.client,
                quota=self._quota,
            )

    def _run_own(self, argv: Sequence[str], *, stdin: bytes, seconds: float) -> Completed:
        return bubblewrap.run_in_folder(
            argv,
            self._tree,
            readable=tuple(gateway_relay.interpreter_binds().values()),
            stdin=stdin,
            seconds=seconds,
            cancel=self._stopped,
            run=self._run,
        )

    @lazy
    def _quota(self) -> DiskQuota:
        folders = [self._tree] if self.client is None else [self._tree, self.client.home]
        return DiskQuota(folders, self._request.limits.disk)


class PlainClone(HostClone):
    """A clone whose commands run as they are."""

    @override
    def run(
        self, argv: Sequence[str], *, stdin: bytes = b"", env: Mapping[str, str] | None = None, seconds: float
    ) -> Completed:
        """Raises EngineError where that is not permitted."""
        self._request.require_sandbox()
        with self._run.scratch() as home:
            here = os.environ.get("PATH", os.defpath)
            asked = dict(env or {})
            path = f"{asked['PATH']}:{here}" if "PATH" in asked else here
            return run_plain(
                [Command(argv=argv, stdin=stdin)],
                cwd=self._tree,
                env={"HOME": str(home), "LANG": "C.UTF-8", **WORKSPACE_ENV, **asked, "PATH": path},
                limits=self._request.limits,
                seconds=seconds,
                cancelled=self._stopped,
            )[0]

    def _run_own(self, argv: Sequence[str], *, stdin: bytes, seconds: float) -> Completed:
        return self.run(argv, stdin=stdin, seconds=seconds)
