"""Real clusters of processes, a made-up set of instances, and pytest runs on both."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import pytest
import yaml

from pytest_crab.campaign.cluster.plan import RunPlan
from pytest_crab.ecosystems.interpreters import running_version
from pytest_crab.lazy import lazy
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.settings import ModelSettings
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, structured

CLIENTS = os.environ.get("CRAB_TEST_CLIENTS", "")
#: At most; tests wait for conditions.
SECONDS = 120

#: Two repositories; of the third one the revision is wrong, and of one nothing is said.
INSTANCES = {name: f"example/{name[:4]}" for name in ("pans-2", "pans-3", "pots-1", "pots-2")}
SILENT = "pans-2"

#: What a worker needs of a run, whose runtime it has nothing to start for.
PLAN = RunPlan(
    run="r",
    resume="t",
    runtime=RuntimeSettings(runtime="local", base_image="b"),
    proof_runs=1,
    models=ModelSettings(),
)

HEAD = "def value():\n    return 1\n"
MEND = """\
import json, pathlib, sys
request = json.load(sys.stdin)
value = 4 if request["title"][-1] == "3" else 3
pathlib.Path("value.py").write_text(f"def value():\\n    return {value}\\n")
"""
NAP = "import pathlib, time\npathlib.Path('napped').touch()\ntime.sleep(986.5)\n"

#: Writes down every message that a scheduler receives.
TAP = """\
import os
from distributed.comm import tcp
whole = tcp.whole = getattr(tcp, "whole", tcp.from_frames)  # this may be loaded twice
async def tapped(frames, *args, **kwargs):
    with open(os.environ["CRAB_TAP"], "ab") as file:
        for frame in frames:
            file.write(bytes(frame))
    return await whole(frames, *args, **kwargs)
tcp.from_frames = tapped
"""
OTHER_HARNESS = "from pytest_crab import harness\nharness.VERSION = 'f00d' * 16\n"


def diff(before: str, after: str) -> str:
    head = "diff --git a/value.py b/value.py\n--- a/value.py\n+++ b/value.py\n@@ -1,2 +1,2 @@\n"
    return f"{head} def value():\n-    return {before}\n+    return {after}\n"


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def instance_files(name: str, repo: str) -> dict[str, str]:
    """An instance whose one oracle is green where value() is 3."""
    document = {
        "schema": 1,
        "id": name,
        "provenance": "authored",
        "repo": repo,
        "license": "MIT",
        "pull_request": {"number": 1, "title": name},
        "source": {"tree": {"path": "tree", "head": "head.diff", "reference": "reference.diff"}},
        "environment": {"dockerfile": "python", "python": running_version(), "timeout": 20},
        "comments": [
            {
                "id": "c0",
                "path": "value.py",
                "lines": [2, 2],
                "body": "Not yet.",
                "category": "functional",
                "kind": "behavioral",
                "oracle": "oracles/test_c0.py",
            }
        ],
    }
    return {
        "instance.yaml": yaml.safe_dump(document, sort_keys=False),
        "tree/value.py": HEAD,
        "head.diff": diff("1", "2"),
        "reference.diff": diff("2", "3"),
        "oracles/test_c0.py": "import value\n\n\ndef test_value():\n    assert value.value() == 3\n",
    }


class Loopback:
    """A network whose hosts are all this machine."""

    lack: str | None = "every part of the cluster is at 127.0.0.1"

    def join(self, name: str) -> str:
        """The address of a host, which is there from now on."""
        return "127.0.0.1"

    def inside(self, name: str) -> list[str]:
        """Return the beginning of a command that is to run on a host."""
        return []

    def listener(self) -> socket.socket:
        """A bound socket that every host reaches."""
        return socket.create_server(("127.0.0.1", 0))


@dataclass
class Cluster:
    """A scheduler and workers, each in a process and with a store and a key of its own.

    With a ``certificate``, which is its own authority and has its key beside it, all that they say is encrypted.
    """

    folder: Path
    network: Loopback
    given: Mapping[str, Mapping[str, str]]
    certificate: Path | None = None
    workers: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _all: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def scheduler_file(self) -> Path:
        return self.folder / "scheduler.json"

    @lazy
    def address(self) -> str:
        return str(json.loads(self.scheduler_file.read_text())["address"])

    @property
    def tapped(self) -> bytes:
        """All that the scheduler was told, by anybody."""
        return (self.folder / "tap").read_bytes()

    def start(self, *workers: str, **more: Any) -> None:
        """Start the scheduler and workers of these names."""
        write(self.folder, {"tap.py": TAP, "other_harness.py": OTHER_HARNESS})
        self._start("scheduler", "scheduler", "--port", "0", "--preload", str(self.folder / "tap.py"))
        for name in workers:
            self.work(name, **more)

    def work(self, name: str, *arguments: str, slots: int = 2) -> None:
        """Start a worker; 0 slots: one without the resource."""
        resources = ("--resources", f"crab={slots}") if slots else ()
        place = ("--local-directory", str(self.folder / "scratch"))
        fixed = ("--no-nanny", "--nthreads", str(slots or 1), "--name", name, *place, *resources)
        self.workers[name] = self._start(name, "worker", *fixed, *arguments)

    def until(self, there: int) -> None:
        """Wait until so many workers are known to the scheduler."""
        wait_for(lambda: self._log("scheduler").count(b"Register worker") >= there, "no workers")

    def kill(self, name: str) -> None:
        os.killpg(self.workers[name].pid, signal.SIGKILL)
        self.workers[name].wait()

    def kill_scheduler(self) -> None:
        os.killpg(self._all[0].pid, signal.SIGKILL)
        self._all[0].wait()

    def end(self) -> None:
        for process in self._all:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def key(self, name: str) -> str:
        """The key that only this process holds."""
        return f"sk-planted-{name}-9f31c7d2-do-not-tell"

    def environment(self, name: str) -> dict[str, str]:
        kept = {each: os.environ[each] for each in ("PATH", "HOME", "LANG") if each in os.environ}
        own = {"CRAB_STORE": str(self.folder / f"store-{name}"), "TMPDIR": str(self.folder), "CRAB_CLIENTS": CLIENTS}
        keys = {"ANTHROPIC_API_KEY": self.key(name), "CRAB_TAP": str(self.folder / "tap")}
        return {**kept, **own, **keys, **self.given.get(name, {})}

    def log(self, name: str) -> str:
        return self._log(name).decode(errors="replace")

    def _log(self, name: str) -> bytes:
        return (self.folder / f"{name}.log").read_bytes()

    def _start(self, name: str, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        host, own = self.network.join(name), self.certificate
        tls = () if own is None else ("--tls-ca-file", own, "--tls-cert", own, "--tls-key", own.with_name("key.pem"))
        shared = (
            *map(str, tls),
            *(("--protocol", "tls") if own is not None and kind == "scheduler" else ()),
            "--host",
            host if own is None else f"tls://{host}",
            "--no-dashboard",
            "--dashboard-address",
            "127.0.0.1:0",
            "--scheduler-file",
            str(self.scheduler_file),
        )
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [*self.network.inside(name), sys.executable, "-m", "dask", kind, *shared, *arguments],
                cwd=self.folder,
                env=self.environment(name),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._all.append(process)
        return process


@dataclass
class Room:
    """A rootdir with instances and a crab.yaml, where a model is what ``provider`` says."""

    folder: Path
    provider: ScriptedProvider
    tmp: Path
    inside: Sequence[str]
    certificate: Path
    more: dict[str, str] = field(default_factory=dict)

    def command(self, *arguments: str) -> list[str]:
        fixed = ("-pno:cacheprovider", "-q", "--crab-runtime=local", "--agent=mend")
        return [*self.inside, sys.executable, "-m", "pytest", *fixed, *arguments, "instances"]

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "PYTEST_ADDOPTS") if name in os.environ}
        key = "sk-planted-controller-55aa-do-not-tell"
        own = self.certificate
        files = {"CA_FILE": own, "CLIENT__CERT": own, "CLIENT__KEY": own.with_name("key.pem")}
        tls = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(path) for name, path in files.items()}
        return {**kept, **tls, "TMPDIR": str(self.tmp), "CRAB_CLIENTS": CLIENTS, "ANTHROPIC_API_KEY": key, **self.more}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - only exec comes after
        )

    def run(self, *arguments: str, status: int | None = None) -> str:
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=2 * SECONDS)
        assert status is None or process.returncode == status, output
        return output

    def trials(self, report: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / report / "trials.jsonl").read_text().splitlines()]

    def summary(self, report: str) -> Any:
        """The summary without times."""
        return without_times(json.loads((self.folder / report / "summary.json").read_text()))

    def ledger(self, store: str) -> list[dict[str, Any]]:
        """The bookings of all runs with this store."""
        files = sorted((self.folder / store / "ledger").glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def write_settings(self, **reviewers: Any) -> None:
        mend = {"use": "command", "command": [sys.executable, "crew/mend.py"], "files": ["crew/mend.py"]}
        models = {
            "providers": {"anthropic": {"base_url": self.provider.anthropic_url}},
            "prices": {"scripted-model": {"input": 3, "output": 15}},
            "retries": 0,
        }
        settings = {"reviewers": reviewers, "agents": {"mend": mend}, "models": models}
        (self.folder / "crab.yaml").write_text(json.dumps(settings))


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_times(each) for name, each in value.items() if "seconds" not in name}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def wait_for(condition: Callable[[], Any], failure: str, seconds: float = SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, failure
        time.sleep(0.05)


def title_of(asked: Asked) -> str:
    """Return the pull request that a model was asked about."""
    text = json.dumps(asked.body)
    return next((name for name in INSTANCES if name in text), "")


def review(asked: Asked) -> Reply:
    """A finding for every pull request but one."""
    found = [] if title_of(asked) == SILENT else [{"path": "value.py", "start": 2, "title": "Wrong", "body": "3."}]
    return structured({"findings": found})(asked)


@pytest.fixture
def waiting() -> Callable[..., None]:
    return wait_for


@pytest.fixture
def about() -> Callable[[Asked], str]:
    return title_of


@pytest.fixture
def reviewing() -> Callable[[Asked], Reply]:
    return review


@pytest.fixture
def network() -> Loopback:
    """The network of a test's processes."""
    return Loopback()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory, without: Callable[[str, str], NoReturn]) -> Path:
    """A certificate that is its own authority, with its key beside it."""
    if shutil.which("openssl") is None:
        without("openssl", "openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    made = ("-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *made], check=True, capture_output=True)
    return folder / "cert.pem"


@pytest.fixture
def make_cluster(network: Loopback, certificate: Path) -> Iterator[Callable[..., Cluster]]:
    """Makes clusters, which end with the test; ``given`` are variables for some of its processes, by their names."""
    made: list[Cluster] = []

    def make(*workers: str, given: Mapping[str, Mapping[str, str]] = MappingProxyType({}), **more: Any) -> Cluster:
        folder = Path(tempfile.mkdtemp(prefix="crab-"))  # short, for the sockets in it
        cluster = Cluster(folder, network, given, more.pop("certificate", certificate))
        made.append(cluster)
        cluster.start(*workers, **more)
        return cluster

    yield make
    for cluster in made:
        cluster.end()
        shutil.rmtree(cluster.folder, ignore_errors=True)


@pytest.fixture
def room(tmp_path: Path, network: Loopback, certificate: Path) -> Iterator[Room]:
    """A rootdir with the made-up set."""
    for name, repo in INSTANCES.items():
        write(tmp_path / "instances" / name, instance_files(name, repo))
    write(tmp_path, {"crew/mend.py": MEND, "crew/nap.py": NAP, "pytest.ini": "[pytest]\ncrab_proof_runs = 1\n"})
    network.join("pytest")
    listener = network.listener()
    with ScriptedProvider(listener=listener) as provider, tempfile.TemporaryDirectory(prefix="crab-") as tmp:
        provider.script = review
        yield Room(tmp_path, provider, Path(tmp), network.inside("pytest"), certificate)


@pytest.fixture(autouse=True)
def clients_are_here(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, without: Callable[[str, str], NoReturn]
) -> None:
    """Skip what needs a client that is not here, or fail where it has to be."""
    from pytest_crab.clients import installed

    for name in (name for mark in request.node.iter_markers("client") for name in mark.args):
        monkeypatch.setenv(installed.VARIABLE, CLIENTS)
        if not CLIENTS or not installed.is_there(name):
            without(name, f"CRAB_TEST_CLIENTS has no {name}")
