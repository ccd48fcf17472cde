"""An engine that is restarted in mid-run: what it ran is run again once it answers, and nobody is blamed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import NoReturn

import pytest

from pytest_crab.runtimes.base import LOCAL_BASE
from pytest_crab.runtimes.interpreters import running_version

pytestmark = [pytest.mark.docker, pytest.mark.bubblewrap]

BASE = LOCAL_BASE.format(python=running_version())
SLEEPY = "import time\nimport value\n\n\ndef test_value():\n    time.sleep(0.7)\n    assert value.value() == 3\n"


class OwnEngine:
    """A Docker engine of the test's own: its data, its processes and its socket lie in ``folder``."""

    def __init__(self, folder: Path, without: Callable[[str, str], NoReturn]) -> None:
        self.folder = folder
        self.without = without
        self.host = f"unix://{folder}/engine.sock"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        # In a network namespace of its own: an engine without a bridge removes docker0, which may be another engine's.
        argv = [
            "unshare",
            "--net",
            "dockerd",
            "-H",
            self.host,
            "--bridge=none",
            "--iptables=false",
            "--ip-forward=false",
        ]
        argv += [f"--data-root={self.folder}/data", f"--exec-root={self.folder}/exec", f"--pidfile={self.folder}/pid"]
        argv += ["--containerd-namespace=crab-faults", "--containerd-plugins-namespace=crab-faults-plugins"]
        argv += ["--shutdown-timeout=1"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 60
        while self.tell("version") is None:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.process.kill()
                self.without("dockerd", f"no second engine runs here: {(self.folder / 'log').read_text()[-500:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it as a service manager does, with all that runs in it."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def tell(self, *arguments: str) -> str | None:
        """What the engine's client prints; None if it failed."""
        done = subprocess.run(["docker", "-H", self.host, *arguments], capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else None

    def restart_in_mid_run(self, place: Any) -> None:
        """Restart it while a container runs."""
        place.until(lambda: self.tell("ps", "-q"), "no container was seen")
        self.stop()
        self.start()

    def load(self, *images: str) -> None:
        """Take images from the machine's own engine."""
        with subprocess.Popen(["docker", "save", *images], stdout=subprocess.PIPE) as saved:
            subprocess.run(
                ["docker", "-H", self.host, "load"], stdin=saved.stdout, stdout=subprocess.DEVNULL, check=True
            )


@pytest.fixture
def engine(tmp_path_factory: pytest.TempPathFactory, without: Callable[[str, str], NoReturn]) -> Iterator[OwnEngine]:
    if os.getuid() != 0:
        without("dockerd", "only root may start an engine")
    if shutil.which("dockerd") is None:
        without("dockerd", "no dockerd here, only a client")
    folder = tmp_path_factory.mktemp("engine")
    engine = OwnEngine(folder, without)
    try:
        yield engine
    finally:
        engine.stop()
        shutil.rmtree(folder, ignore_errors=True)


def test_an_engine_that_restarts_is_waited_for(engine: OwnEngine, place: Any) -> None:
    for other in ("missed-2", "silent-3"):
        shutil.rmtree(place.folder / "set" / other)
    place.runtime = "docker"
    output = place.run()  # the image is built where a network is
    assert place.reasons() == {"caught-1": "green"}, output
    image = place.trial("caught-1")["versions"]["image"]
    engine.load(BASE, f"pytest-crab/caught-1:{image[:32]}")
    shutil.rmtree(place.store / "steps")
    place.ledger.write_text("")
    (place.folder / "set" / "caught-1" / "oracles" / "test_c0.py").write_text(SLEEPY)

    place.env |= {"DOCKER_HOST": engine.host}
    process = place.start()
    engine.restart_in_mid_run(place)
    place.wait_for("revision caught-1 done")
    engine.restart_in_mid_run(place)
    output = place.end(process)
    assert place.reasons() == {"caught-1": "green"}, output
    again = {step["step"]: set(step.get("retried", ())) for step in place.trial("caught-1")["steps"]}
    assert again["proof"] == again["verdict"] == {"engine"}, output
    assert place.began() == Counter(["review caught-1", "revision caught-1"])
    assert engine.tell("ps", "-aq") == ""
    assert place.left() == []
