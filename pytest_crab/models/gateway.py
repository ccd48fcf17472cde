"""The gateway of a run: a process that starts with the first access and ends with the run."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.errors import BudgetSpent, Cancelled, CrabError, GatewayError, StatusError
from pytest_crab.locks import locked_file
from pytest_crab.model_access import ModelAccess, Models
from pytest_crab.models.client import STEP_SOCKETS, GatewayClient, join, last_words, readable
from pytest_crab.settings import ModelSettings, Settings
from pytest_crab.types import Usage

#: Seconds: how long a gateway that has not ended may take to start, on a busy machine too, and how often one that is
#: asked is looked at.
_START, _PULSE = 300.0, 5.0

#: Starts per process: a gateway that died is started once more, and what ran through it is broken.
_MOST_STARTS = 2

#: What the process is given of the environment variables, beside the keys: how to start, and how to reach the network.
_ENVIRONMENT = (
    *("PATH", "PYTHONPATH", "LANG", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *(spelled for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for spelled in (name, name.lower())),
)

#: The longest path of a Unix socket that every system takes.
_LONGEST = 100


class Gateway(Models):
    """A model_access.Models; processes of one run that name the same ``folder`` share one gateway.

    ``folder`` gives a private folder of the run, and is called when the first access is opened; ``cassettes`` is where
    recordings lie, ``ledgers`` the folder that gets one file of bookings per run. ``budget`` is US dollars for the run,
    and ``replay`` answers from recordings alone. ``short`` names the trials of which a request was refused since it
    might have cost more than their allowance.
    """

    def __init__(
        self,
        folder: Callable[[], Path],
        settings: ModelSettings,
        *,
        cassettes: Path,
        ledgers: Path,
        budget: float | None = None,
        replay: bool = False,
    ) -> None:
        self._make_folder = folder
        self._settings = settings
        self._cassettes = cassettes
        self._ledgers = ledgers
        self._budget = budget
        self._replay = replay
        self.short: set[str] = set()
        self._allowances: dict[str, float | None] = {}
        self._guard = threading.Lock()
        self._starts = 0
        self._client: GatewayClient | None = None
        self._used: dict[str, Usage] = {}
        self._open: dict[str, GatewayClient] = {}
        self._stopped = threading.Event()
        self._over = threading.Event()
        self._watch: threading.Thread | None = None

    @classmethod
    def beside(
        cls,
        store: Path,
        settings: Settings,
        folder: Callable[[], Path],
        *,
        budget: float | None = None,
        replay: bool = False,
    ) -> Gateway:
        """The gateway of a run with this store, where its bookings lie, and its recordings unless crab.yaml differs."""
        return cls(
            folder,
            settings.models,
            cassettes=settings.cassettes(store),
            ledgers=store / "ledger",
            budget=budget,
            replay=replay,
        )

    def allow(self, trial: str, allowance: float | None) -> None:
        """Refuse a request of this trial that may bring what it pays above so many US dollars; None: refuse none."""
        self._allowances[trial] = allowance

    @contextlib.contextmanager
    @override
    def open(
        self, *, trial: str, step: str, attempt: int, providers: Sequence[str] | None = None, spent: float = 0.0
    ) -> Iterator[ModelAccess]:
        """A failure that kept a model from answering meanwhile is raised at the end, as a GatewayError.

        A fault that did not keep a model from answering before it does not spoil a step that ends well. Raises
        Cancelled once ``stop`` was called.
        """
        self._require_running(step)
        asked = {"trial": trial, "step": step, "attempt": attempt, "providers": providers, "spent": spent}
        client, answer = self._open_account({**asked, "allowance": self._allowances.get(trial)})
        access = ModelAccess(socket=client.folder / answer["socket"], token=answer["token"])
        self._open[access.token] = client
        try:
            self._require_running(step)  # a stop in between has not seen this access
            yield access
        except CrabError as error:
            if isinstance(error, Cancelled) or self._stopped.is_set():
                self._abandon(client, access)
                if not isinstance(error, Cancelled):
                    self._require_running(step, error)  # once stopped, it is the connection that broke
                raise
            answer = self._close_account(client, access)
            if answer["fault"] is not None:
                raise _fault(answer) from error
            if isinstance(error, StatusError):
                error.final = error.final or bool(answer["gave_up"])
            raise
        except BaseException as error:
            self._abandon(client, access)
            if isinstance(error, Exception):
                self._require_running(step, error)
            raise
        answer = self._close_account(client, access)
        if answer["fault"] is not None and (answer["lasting"] or answer["overspent"]):
            raise _fault(answer)

    @override
    def usage(self, access: ModelAccess) -> Usage:
        if access.token in self._used:
            return self._used[access.token]
        if self._client is None:
            raise GatewayError("the gateway is not running, so what was used is not known: open an access first")
        return _usage(self._client.ask("usage", {"token": access.token}))

    def stop(self) -> None:
        """Break off every access of this process, from any thread; its step, and any that asks later, is Cancelled."""
        self._stopped.set()
        for token, client in tuple(self._open.items()):
            with contextlib.suppress(GatewayError):  # then nothing is under way there
                client.ask("close", {"token": token})

    @property
    def process_id(self) -> int | None:
        """The gateway's process, where this one has started it."""
        process = self._client.process if self._client is not None else None
        return None if process is None else process.pid

    def close(self) -> None:
        """End the gateway, unless other processes of the run still use it."""
        with self._guard:
            self._over.set()
            if self._client is not None:
                self._client.close()
                self._client = None

    def _open_account(self, asked: dict[str, Any]) -> tuple[GatewayClient, Mapping[str, Any]]:
        """Open an account; a gateway that is found dead on the way is started anew."""
        client = self._running_client()
        try:
            return client, client.ask("open", asked)
        except GatewayError:
            if client.alive(wait=1.0):
                raise
        client = self._running_client()
        return client, client.ask("open", asked)

    def _require_running(self, step: str, error: Exception | None = None) -> None:
        if self._stopped.is_set():
            raise Cancelled(f"the run was stopped while {step} asked a model") from error

    def _close_account(self, client: GatewayClient, access: ModelAccess) -> Mapping[str, Any]:
        """Close an access; return what the gateway says of it."""
        self._open.pop(access.token, None)
        answer = client.ask("close", {"token": access.token})
        self._used[access.token] = _usage(answer)
        self.short |= {answer["trial"]} if answer["short"] else set()
        return answer

    def _abandon(self, client: GatewayClient, access: ModelAccess) -> None:
        """Close an access where something else is raised already, which matters more."""
        with contextlib.suppress(GatewayError):
            self._close_account(client, access)

    def _running_client(self) -> GatewayClient:
        """Return the client of the running gateway, which is started if there is none."""
        with self._guard:
            if self._over.is_set():
                raise GatewayError("the run is over, and its gateway with it: nothing can be asked any more")
            if self._client is not None and self._client.alive():
                return self._client
            if self._client is not None:
                self._client.close()
                self._client = None
            self._client = self._connect()
            if self._watch is None:
                self._watch = threading.Thread(target=self._look, name="gateway-watch", daemon=True)
                self._watch.start()
            return self._client

    def _look(self) -> None:
        """Kill an unresponsive gateway so that waiting steps fail fast."""
        while not self._over.wait(_PULSE):
            for client in set(self._open.copy().values()):
                client.check()

    def _connect(self) -> GatewayClient:
        """Join the gateway of the run, or start it, one process at a time."""
        for name in ("aiohttp", "httptools"):
            if importlib.util.find_spec(name) is None:
                raise GatewayError(f"the gateway needs {name}: install pytest-crab with its extra [models]")
        folder = self._make_folder()
        (folder / STEP_SOCKETS).mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        if len(str(folder / STEP_SOCKETS / "12345678.sock")) > _LONGEST:
            raise GatewayError(f"{folder} is too long a path for a socket: set TMPDIR to a shorter one")
        with locked_file(folder / "lock"):
            lease, _ = join(folder)
            if lease is not None:
                return GatewayClient(folder, lease, None)
            if self._starts == _MOST_STARTS:
                words = last_words(folder) or "without a word"
                raise GatewayError(f"the gateway died again ({words}): see {folder / 'log'}, run again")
            self._starts += 1
            return self._start(folder)

    def _start(self, folder: Path) -> GatewayClient:
        self._ledgers.mkdir(parents=True, exist_ok=True)
        if not self._replay:
            self._cassettes.mkdir(parents=True, exist_ok=True)
        with (folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest_crab.models.server"],
                cwd=folder,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        try:
            self._configure(process, folder)
            lease, _ = join(folder)
        except BaseException:
            process.kill()
            process.communicate()  # closes its pipes too
            raise
        assert lease is not None
        return GatewayClient(folder, lease, process)

    def _configure(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        """Send the process its configuration, and wait until it listens."""
        assert process.stdin is not None
        assert process.stdout is not None
        configuration = {
            "models": serialization.dump(self._settings),
            "cassettes": str(self._cassettes.absolute()),
            "ledger": str(self._ledgers.absolute() / f"{folder.parent.name}.jsonl"),
            "budget": self._budget,
            "replay": self._replay,
        }
        with contextlib.suppress(BrokenPipeError):  # it ended already, and its last words say why
            process.stdin.write(json.dumps(configuration).encode() + b"\n")
            process.stdin.flush()
        if not readable(process.stdout.fileno(), _START):
            raise GatewayError(f"the gateway did not start within {_START:g} s: run again while the machine does less")
        if process.stdout.readline() != b"ready\n":
            raise GatewayError(
                f"the gateway did not start ({last_words(folder) or 'without a word'}): see {folder / 'log'}"
            )

    def _environment(self) -> dict[str, str]:
        keys = [provider.key_env for provider in self._settings.providers.values() if provider.key_env]
        given = {name: os.environ[name] for name in (*_ENVIRONMENT, *keys) if name in os.environ}
        return {**given, "PYTHONUTF8": "1"}


def _fault(answer: Mapping[str, Any]) -> GatewayError | BudgetSpent:
    sentence = str(answer["fault"])
    return BudgetSpent(sentence) if answer["overspent"] else GatewayError(sentence)


def _usage(answer: Mapping[str, Any]) -> Usage:
    usage = {name: value for name, value in answer["usage"].items() if name not in ("seconds", "models", "asked")}
    try:
        return Usage(**usage, models=tuple(answer["usage"]["models"]), asked=tuple(answer["usage"]["asked"]))
    except ValueError as error:
        message = f"the gateway counted what no step can use ({error}): models.prices of crab.yaml should be looked at"
        raise GatewayError(message) from None
