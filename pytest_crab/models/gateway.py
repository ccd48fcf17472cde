"""The gateway as a run sees it: a process that starts with the first access and ends with the run."""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_crab import plain
from pytest_crab.errors import Cancelled
from pytest_crab.errors import CrabError
from pytest_crab.errors import GatewayError
from pytest_crab.protocols import ModelAccess
from pytest_crab.settings import ModelSettings
from pytest_crab.settings import Settings
from pytest_crab.types import Usage

#: Seconds: how long a gateway may take to start, to answer its run, and to end.
_START, _ANSWER, _END = 30.0, 30.0, 5.0

#: Starts per process: a gateway that died is started once more, and what ran through it is broken.
_MOST_STARTS = 2

#: What the process is given of the environment, beside the keys: how to start, and how to reach the network.
_ENVIRONMENT = (
    *("PATH", "PYTHONPATH", "LANG", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *(spelled for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for spelled in (name, name.lower())),
)

#: The longest path of a Unix socket that every system takes.
_LONGEST = 100


class Gateway:
    """A protocols.Models; processes of one run that name the same ``folder`` share one gateway.

    ``folder`` gives a private folder of the run, and is called when the first access is opened; ``cassettes`` is where
    recordings lie, ``ledgers`` the folder that gets one file of bookings per run. ``budget`` is US dollars for the run,
    and ``replay`` answers from recordings alone.
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
        self._guard = threading.Lock()
        self._starts = 0
        self._door: _Line | None = None
        self._used: dict[str, Usage] = {}
        self._open: dict[str, _Line] = {}
        self._stopped = threading.Event()
        self._closed = False

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

    @contextlib.contextmanager
    def open(self, *, trial: str, step: str, attempt: int) -> Iterator[ModelAccess]:
        """See protocols.Models; what kept a model from answering meanwhile is raised at the end, as a GatewayError.

        A fault that did not keep a model from answering before it does not spoil a step that ends well. Raises
        Cancelled once ``stop`` was called.
        """
        self._go_on(step)
        line, told = self._admit({"trial": trial, "step": step, "attempt": attempt})
        access = ModelAccess(socket=line.folder / told["socket"], token=told["token"])
        self._open[access.token] = line
        try:
            self._go_on(step)  # a stop in between has not seen this access
            yield access
        except Exception as error:
            if isinstance(error, CrabError) and not isinstance(error, Cancelled) and not self._stopped.is_set():
                fault, _ = self._end(line, access)
                if fault is not None:
                    raise fault from error
                raise
            self._abandon(line, access)
            if not isinstance(error, Cancelled):
                self._go_on(step, error)  # once stopped, it is the connection that broke
            raise
        except BaseException:
            self._abandon(line, access)
            raise
        else:
            fault, lasting = self._end(line, access)
            if fault is not None and lasting:
                raise fault

    def usage(self, access: ModelAccess) -> Usage:
        """See protocols.Models."""
        if access.token in self._used:
            return self._used[access.token]
        if self._door is None:
            raise GatewayError("the gateway is not running, so nobody knows what was used: open an access first")
        return _usage(self._door.ask("usage", {"token": access.token}))

    def stop(self) -> None:
        """Break off every access of this process, from any thread; its step, and any that asks later, is Cancelled."""
        self._stopped.set()
        for token, line in tuple(self._open.items()):
            with contextlib.suppress(GatewayError):  # then nothing is under way there
                line.ask("close", {"token": token})

    @property
    def process_id(self) -> int | None:
        """The gateway's process, where this one has started it."""
        process = self._door.process if self._door is not None else None
        return None if process is None else process.pid

    def close(self) -> None:
        """End the gateway, unless other processes of the run still use it."""
        with self._guard:
            self._closed = True
            if self._door is not None:
                self._door.close()
                self._door = None

    def _admit(self, asked: dict[str, Any]) -> tuple[_Line, Mapping[str, Any]]:
        """A new token and its socket; a gateway that is found dead on the way is started anew."""
        line = self._line()
        try:
            return line, line.ask("open", asked)
        except GatewayError:
            if line.alive(wait=1.0):
                raise
        line = self._line()
        return line, line.ask("open", asked)

    def _go_on(self, step: str, error: Exception | None = None) -> None:
        if self._stopped.is_set():
            raise Cancelled(f"the run was stopped while {step} asked a model") from error

    def _end(self, line: _Line, access: ModelAccess) -> tuple[GatewayError | None, bool]:
        """Close an access: what went wrong, and whether that spoils a step that ended well."""
        self._open.pop(access.token, None)
        told = line.ask("close", {"token": access.token})
        self._used[access.token] = _usage(told)
        if told["fault"] is None:
            return None, False
        return GatewayError(str(told["fault"]), passing=bool(told["unreachable"])), bool(told["lasting"])

    def _abandon(self, line: _Line, access: ModelAccess) -> None:
        """Close an access where something else is raised already, which matters more."""
        with contextlib.suppress(GatewayError):
            self._end(line, access)

    def _line(self) -> _Line:
        """The way to the running gateway, which is started if there is none."""
        with self._guard:
            if self._closed:
                raise GatewayError("the run is over, and its gateway with it: nothing can be asked any more")
            if self._door is not None and self._door.alive():
                return self._door
            if self._door is not None:
                self._door.close()
                self._door = None
            self._door = self._connect()
            return self._door

    def _connect(self) -> _Line:
        """Join the gateway of the run, or start it, one process at a time."""
        folder = self._make_folder()
        (folder / "door").mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        if len(str(folder / "door" / "12345678.sock")) > _LONGEST:
            raise GatewayError(f"{folder} is too long a path for a socket: set TMPDIR to a shorter one")
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lease, _ = _join(folder)
            if lease is not None:
                return _Line(folder, lease, None)
            if self._starts == _MOST_STARTS:
                raise GatewayError(f"the gateway died again ({_last_words(folder)}): see {folder / 'log'}, run again")
            self._starts += 1
            return self._start(folder)
        finally:
            os.close(lock)

    def _start(self, folder: Path) -> _Line:
        try:
            import aiohttp  # noqa: F401 - the process needs it
        except ImportError:
            raise GatewayError("the gateway needs aiohttp: pip install 'pytest-crab[models]'") from None
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
            self._greet(process, folder)
            lease, _ = _join(folder)
        except BaseException:
            process.kill()
            process.communicate()  # closes its pipes too
            raise
        assert lease is not None
        return _Line(folder, lease, process)

    def _greet(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        """Tell the process what to do, and wait until it listens."""
        assert process.stdin is not None
        assert process.stdout is not None
        configuration = {
            "models": plain.dump(self._settings),
            "cassettes": str(self._cassettes.absolute()),
            "ledger": str(self._ledgers.absolute() / f"{folder.parent.name}.jsonl"),
            "budget": self._budget,
            "replay": self._replay,
        }
        with contextlib.suppress(BrokenPipeError):  # it ended already, and its last words say why
            process.stdin.write(json.dumps(configuration).encode() + b"\n")
            process.stdin.flush()
        if not _readable(process.stdout.fileno(), _START) or process.stdout.readline() != b"ready\n":
            raise GatewayError(f"the gateway did not start ({_last_words(folder)}): see {folder / 'log'}")

    def _environment(self) -> dict[str, str]:
        keys = [provider.key_env for provider in self._settings.providers.values() if provider.key_env]
        given = {name: os.environ[name] for name in (*_ENVIRONMENT, *keys) if name in os.environ}
        return {**given, "PYTHONUTF8": "1"}


class _Desk(http.client.HTTPConnection):
    """One connection to the desk of a gateway."""

    def __init__(self, folder: Path) -> None:
        super().__init__("desk", timeout=_ANSWER)
        self._path = str(folder / "desk.sock")

    def connect(self) -> None:
        """Connect to the Unix socket. Raises OSError."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except OSError:
            self.close()
            raise


class _Line:
    """The way to a running gateway: its desk, and a connection that says that this process uses it."""

    def __init__(self, folder: Path, lease: socket.socket, process: subprocess.Popen[bytes] | None) -> None:
        self.folder = folder
        self.process = process
        self._lease = lease

    def ask(self, what: str, told: dict[str, Any]) -> dict[str, Any]:
        """One question to the desk. Raises GatewayError."""
        try:
            with contextlib.closing(_Desk(self.folder)) as desk:
                desk.request("POST", f"/{what}", json.dumps(told), {"content-type": "application/json"})
                answer = desk.getresponse()
                found = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            words = _last_words(self.folder) or str(error) or type(error).__name__
            raise GatewayError(
                f"the gateway died or does not answer ({words}): run again, finished steps are kept", passing=True
            ) from error
        if found.get("unknown"):
            raise GatewayError("the gateway was started anew since this access was opened: run again", passing=True)
        assert isinstance(found, dict)
        return found

    def alive(self, wait: float = 0.0) -> bool:
        """Whether the gateway still holds its end of the connection after so many seconds."""
        return not _readable(self._lease.fileno(), wait)

    def close(self) -> None:
        """Leave the gateway; the last one to leave ends it, and the one that started it sees to that."""
        self._lease.close()
        process = self.process
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(_END)
        except subprocess.TimeoutExpired:
            lease, users = _join(self.folder)
            if lease is not None:
                lease.close()
            if users <= 1:  # only this look, so that it should have ended
                process.kill()
                process.wait()


def _join(folder: Path) -> tuple[socket.socket | None, int]:
    """A connection that lasts as long as this process uses the gateway (None: none is running), and who does so now."""
    lease = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    lease.settimeout(_ANSWER)
    try:
        lease.connect(str(folder / "lease.sock"))
        return lease, int(lease.recv(16))
    except (OSError, ValueError):  # nobody listens, or not for long
        lease.close()
        return None, 0


def _readable(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read, or the other end is gone, within so many seconds."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(1000 * seconds))


def _usage(told: dict[str, Any]) -> Usage:
    usage = {name: value for name, value in told["usage"].items() if name != "seconds"}
    return Usage(**usage)


def _last_words(folder: Path) -> str:
    """The last line of the gateway's log."""
    try:
        lines = (folder / "log").read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
