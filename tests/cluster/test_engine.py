"""A worker that runs its trials in containers of an engine of its own."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from typing import Any

import pytest

from pytest_crab.runtimes.run_lock import machine_id

pytestmark = [
    pytest.mark.docker,
    pytest.mark.bubblewrap,
    pytest.mark.slow(reason="an engine that a worker sees is asked for images and containers of its own"),
]


def docker(*arguments: str) -> list[str]:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=True).stdout.split()


def test_a_worker_has_an_engine(room: Any, make_cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    own = ("CRAB_", "PYTEST_", "TMPDIR")
    way = {name: text for name, text in os.environ.items() if not name.startswith(own)}  # to the packages of an image
    cluster = make_cluster("w1", given={"w1": {**way, "CRAB_RUNTIME": "docker"}})
    monkeypatch.setattr(tempfile, "tempdir", str(cluster.folder))
    of_this = f"label=pytest-crab.machine={machine_id()}"
    room.write_settings()
    cluster.until(there=1)
    listen = (
        "docker",
        "events",
        "--since",
        f"{time.time() - 1:.0f}",
        "--filter",
        "event=create",
        "--filter",
        of_this,
        "--format",
        "{{.ID}}",
    )
    with subprocess.Popen(listen, stdout=subprocess.PIPE) as listening:  # of all that use an engine it keeps few events
        try:
            output = room.run(
                *("--reviewer=human", "-k", "pots-1 or pans-3", "--crab-runtime=auto"),
                f"--crab-cluster={cluster.address}",
                status=pytest.ExitCode.TESTS_FAILED,
            )
        finally:
            listening.terminate()
            created = listening.communicate()[0].split()
    found = {trial["instance"]: trial["scores"][0].get("label") for trial in room.trials(".crab/report")}
    assert found == {"pans-3": "missed", "pots-1": "caught"}, output
    assert created
    assert not docker("ps", "--all", "--quiet", "--filter", of_this)
