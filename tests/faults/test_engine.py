"""An engine that is restarted or killed in mid-run: what it ran is run again once it answers; no review is blamed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pytest_crab.ecosystems.interpreters import LOCAL_BASE, running_version

pytestmark = [
    pytest.mark.docker,
    pytest.mark.bubblewrap,
    pytest.mark.slow(reason="an engine of its own is started again and again"),
]

BASE = LOCAL_BASE.format(python=running_version())
SLEEPY = "import time\nimport value\n\n\ndef test_value():\n    time.sleep(0.7)\n    assert value.value() == 3\n"
#: An engine that is away is waited for, but not for long.
SHORT = 'retries.RETRIES["engine"] = dataclasses.replace(retries.RETRIES["engine"], most=1, wait=0.05)\n'


class OwnEngine:
    """A Docker engine of the test's own: its data, its processes and its socket lie in ``folder``."""

    def __init__(self, folder: Path, without: Callable[[str, str], NoReturn]) -> None:
        self.folder = folder
        self.without = without
        self.host = f"unix://{folder}/engine.sock"
        self.process: subprocess.Popen[bytes] | None = None
        self.groups = f"crab-faults-{os.getpid()}"
        self.starts = 0
        self.start()

    def start(self) -> None:
        # In a network namespace of its own: an engine without a bridge removes docker0, which may be another engine's.
        # As process 1 of its own: when it is killed, its containerd, its shims, its containers and its mounts go too,
        # which otherwise keep the next one from starting. That has a new exec root, where no stale socket lies.
        self.starts += 1
        argv = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
        argv += ["dockerd", "-H", self.host, "--bridge=none", "--iptables=false", "--ip-forward=false"]
        argv += [f"--data-root={self.folder}/data", f"--exec-root={self.folder}/exec-{self.starts}"]
        argv += [f"--pidfile={self.folder}/pid-{self.starts}"]
        argv += ["--containerd-namespace=crab-faults", "--containerd-plugins-namespace=crab-faults-plugins"]
        argv += ["--shutdown-timeout=1", f"--cgroup-parent=/{self.groups}"]
        with (self.folder / "log").open("ab") as log:
            env = {**os.environ, "TMPDIR": str(self.folder)}
            self.process = subprocess.Popen(argv, env=env, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 60
        while self.tell("version") is None:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                self.without("dockerd", f"no second engine runs here: {(self.folder / 'log').read_text()[-500:]}")
            time.sleep(0.05)

    def runs(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        """End it as a service manager does, with all that runs in it."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it and all that runs in it at once, as a machine does that is short of memory or loses its power."""
        self._end(signal.SIGKILL)

    def remove(self) -> None:
        """Kill it, and remove what it leaves: its folder, and the control groups of its containers."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        for pattern in ("*/{}/*", "*/{}", "{}/*", "{}"):
            for group in Path("/sys/fs/cgroup").glob(pattern.format(self.groups)):
                with suppress(OSError):
                    group.rmdir()

    def _end(self, signum: signal.Signals) -> None:
        assert self.process is not None
        if not self.runs():
            return
        parent = self.process.pid
        for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            os.kill(int(child), signum)
        self.process.wait(60)
        (self.folder / "engine.sock").unlink(missing_ok=True)

    def tell(self, *arguments: str) -> str | None:
        """What the engine's client prints; None if it failed."""
        done = subprocess.run(["docker", "-H", self.host, *arguments], capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else None

    def restart_in_mid_run(self, place: Any, *, kill: bool) -> None:
        """Restart it while a container runs."""
        self.end_in_mid_run(place, kill=kill)
        self.start()

    def end_in_mid_run(self, place: Any, *, kill: bool) -> None:
        """End it while a container runs."""
        place.until(lambda: self.tell("ps", "-q"), "no container was seen")
        (self.kill if kill else self.stop)()

    def load(self, *images: str) -> None:
        """Take images from the machine's own engine."""
        with subprocess.Popen(["docker", "save", *images], stdout=subprocess.PIPE) as saved:
            subprocess.run(
                ["docker", "-H", self.host, "load"], stdin=saved.stdout, stdout=subprocess.DEVNULL, check=True
            )


@pytest.fixture(scope="module")
def loaded(
    tmp_path_factory: pytest.TempPathFactory, without: Callable[[str, str], NoReturn], proven: Callable[[str], Any]
) -> Iterator[OwnEngine]:
    """An engine that has the image of an instance."""
    if os.getuid() != 0:
        without("dockerd", "only root may start an engine")
    if shutil.which("dockerd") is None:
        without("dockerd", "no dockerd here, only a client")
    place = alone(proven("local").copy(tmp_path_factory.mktemp("builder") / "place"))
    output = place.run()  # the image is built where a network is
    assert place.reasons() == {"caught-1": "green"}, output
    engine = OwnEngine(tmp_path_factory.mktemp("engine"), without)
    try:
        engine.load(BASE, f"pytest-crab/caught-1:{place.trial('caught-1')['versions']['image'][:32]}")
        yield engine
    finally:
        place.close()
        engine.remove()


@pytest.fixture
def engine(loaded: OwnEngine) -> OwnEngine:
    """The same, running."""
    if not loaded.runs():
        loaded.start()
    return loaded


@pytest.fixture
def one(engine: OwnEngine, place: Any) -> Any:
    """A place with one instance and nothing in its store, whose oracle takes a while."""
    alone(place)
    shutil.rmtree(place.store / "steps")
    (place.folder / "set" / "caught-1" / "oracles" / "test_c0.py").write_text(SLEEPY)
    place.env |= {"DOCKER_HOST": engine.host, "CRAB_PROOF_RUNS": "1"}
    return place


def alone(place: Any) -> Any:
    """A place of which one instance is left, under Docker."""
    for other in ("missed-2", "silent-3"):
        shutil.rmtree(place.folder / "set" / other)
    place.runtime = "docker"
    return place


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_an_engine_that_comes_back_is_waited_for(engine: OwnEngine, one: Any, *, kill: bool) -> None:
    process = one.start()
    engine.restart_in_mid_run(one, kill=kill)
    one.wait_for("revision caught-1 done")
    engine.restart_in_mid_run(one, kill=kill)
    output = one.end(process)
    assert one.reasons() == {"caught-1": "green"}, output
    again = {step["step"]: set(step.get("retried", ())) for step in one.trial("caught-1")["steps"]}
    assert again["proof"] == again["verdict"] == {"engine"}, output
    assert one.began() == Counter(["review caught-1", "revision caught-1"])
    assert engine.tell("ps", "-aq") == ""
    assert one.left() == []


def test_an_engine_that_is_killed_and_stays_away_leaves_unknown_trials(engine: OwnEngine, one: Any) -> None:
    with (one.folder / "conftest.py").open("a") as conftest:
        conftest.write(
            'retries.RETRIES["engine"] = dataclasses.replace(retries.RETRIES["engine"], most=1, wait=0.05)\n'
        )
    process = one.start()
    one.wait_for("revision caught-1 done")
    engine.end_in_mid_run(one, kill=True)
    output = one.end(process)
    assert one.reasons() == {"caught-1": "broken"}, output
    assert "the Docker engine failed while" in output
    assert one.began() == Counter(["review caught-1", "revision caught-1"])

    engine.start()
    output = one.run()
    assert one.reasons() == {"caught-1": "green"}, output
    kept = one.steps()
    assert not kept.pop("verdict caught-1"), output
    assert set(kept.values()) == {True}, output
    assert one.began() == Counter(["review caught-1", "revision caught-1"])
    assert engine.tell("ps", "-aq") == ""
    assert one.left() == []
