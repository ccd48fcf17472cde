"""Refusals of a run on a cluster, each in one sentence before anything runs; interrupts and lost schedulers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.results.kept_runs import kept_runs

pytestmark = pytest.mark.bubblewrap

#: What the reviewer that sleeps is started with, and no other of this machine.
MARK = f"73{os.getpid()}.{time.monotonic_ns()}"

OURS = """\
from dataclasses import dataclass
from pytest_crab.types import Finding, Review

@dataclass(frozen=True, kw_only=True)
class Ours:
    def identity(self):
        return {"adapter": "ours"}

    def review(self, pull_request, checkout):
        return Review(findings=(Finding(body="3.", path="value.py", start=2),))
"""
CONFTEST = """\
from pytest_crab.adapters import AdapterSpec
HERE = __name__ + ":Ours"

def pytest_crab_make_reviewer(name):
    paths = {"ours": HERE, "installed": "crab_test_ours:Ours"}
    return AdapterSpec(path=paths[name], settings={}) if name in paths else None
"""

#: Give up soon: a scheduler that is not there, and one that was and is silent.
NOBODY = "from pytest_crab.campaign.cluster import connection\nconnection.THERE = 0.5\n"
SILENT = "from pytest_crab.campaign.cluster import workers\nworkers.SILENT = 2.0\n"


def errors(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("ERROR: ")]


def test_nobody_is_there(room: Any) -> None:
    room.write_settings()
    (room.folder / "conftest.py").write_text(NOBODY)
    (error,) = errors(room.run("--reviewer=human", "--crab-cluster=tls://127.0.0.1:9", status=4))
    assert "no Dask scheduler answers at tls://127.0.0.1:9" in error
    assert "dask scheduler" in error


@pytest.mark.parametrize("name", [None, "none.pem"])
def test_an_encrypted_address_without_certificates(room: Any, name: str | None) -> None:
    room.write_settings()
    given = {"CA_FILE": name or "", "CLIENT__CERT": name or ""}
    room.more = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": value for name, value in given.items()}
    said = room.run("--reviewer=human", "--crab-cluster=tls://127.0.0.1:9", status=4)
    (error,) = errors(said)
    assert "tls://127.0.0.1:9 needs certificates" in error
    assert "DASK_DISTRIBUTED__COMM__TLS__CA_FILE" in error
    assert "Traceback" not in said


@pytest.mark.slow(reason="a cluster of its own is started")
def test_a_cluster_without_tls_beside_code_of_others(room: Any) -> None:
    room.write_settings(asker={"use": "single-shot", "model": "scripted-model"})
    way = "--crab-cluster=tcp://127.0.0.1:9"
    (error,) = errors(room.run("--reviewer=asker", way, status=4))
    assert "tcp://127.0.0.1:9 has no TLS, and asker with mend runs code" in error
    assert "docs/how-to/cluster.md" in error
    simulated = [part.replace("mend", "simulated") for part in room.command("--reviewer=asker", way)]
    done = subprocess.run(simulated, cwd=room.folder, env=room.environment, capture_output=True, text=True)
    (error,) = errors(done.stdout + done.stderr)
    assert "no Dask scheduler answers" in error, "where nobody's code runs, none can reach it"


def test_options_that_make_no_sense_together(room: Any) -> None:
    room.write_settings()
    (room.folder / "conftest.py").write_text(CONFTEST + OURS)
    given = ("--crab-cluster=tcp://127.0.0.1:9", "-n2", "--crab-replay", "--crab-disk-budget=1G", "--crab-jobs=2")
    done = room.run("--reviewer=ours", *given, status=4)
    assert "--crab-cluster and -n both spread trials" in done
    assert "--crab-disk-budget looks after images of this machine" in done
    assert "--crab-replay needs the recordings on every worker" in done
    assert "--crab-jobs is for trials of this machine" in done
    assert "conftest (ours) is not on workers" in done
    planned = room.run("--reviewer=human", "--crab-cluster=tcp://127.0.0.1:9", "--crab-plan", status=0)
    assert "pans-2::human" in planned


@pytest.mark.slow(reason="a scheduler, a worker and runs are processes of their own")
def test_a_run_leaves_nothing_on_workers(room: Any, make_cluster: Any, waiting: Any) -> None:
    cluster = make_cluster("good")
    (room.folder / "conftest.py").write_text(SILENT + CONFTEST)
    (cluster.folder / "crab_test_ours.py").write_text(OURS)  # in the folder that workers are started in
    (room.folder / "crab_test_ours.py").write_text(OURS)
    room.write_settings(
        nap={"use": "command", "command": [sys.executable, "crew/nap.py", MARK], "files": ["crew/nap.py"]},
    )
    cluster.work("old", "--preload", str(cluster.folder / "other_harness.py"))
    cluster.until(there=2)
    output = room.run("--reviewer=installed", "-k", "pots", f"--crab-cluster={cluster.address}")
    assert "2 of 2 pull requests fully caught" in output
    (sentence,) = [line for line in output.splitlines() if line.startswith("crab: left out: ")]
    assert "worker old (tls://" in sentence
    assert "with harness f00df00df00d is installed, and this run has pytest-crab" in sentence
    assert {(trial["versions"]["worker"], trial.get("error")) for trial in room.trials(".crab/report")} == {
        ("good", None)
    }
    is_killed(room, cluster, waiting)
    is_interrupted(room, cluster, waiting)
    own = cluster.folder / f"pytest-crab-{os.getuid()}" / "scratch"
    assert not list(own.iterdir())  # what a run sent goes with it
    loses_its_scheduler(room, cluster, waiting)
    waiting(lambda: not list(own.iterdir()), "files of a run outlived the worker")


def newest(room: Any) -> list[dict[str, Any]]:
    """The records of the run that began last: one that was ended early is not shown in the place of a whole one."""
    trials: list[dict[str, Any]] = room.trials(str(kept_runs(room.folder / ".crab")[-1]))
    return trials


def nappers() -> list[int]:
    """The processes of the reviewer that sleeps."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if MARK.encode() in (place / "cmdline").read_bytes():
                found.append(int(place.name))
        except OSError:
            continue
    return found


def is_killed(room: Any, cluster: Any, waiting: Any) -> None:
    """Workers end the trials of a pytest that is killed, and stay."""
    process = room.start("--reviewer=nap", f"--crab-cluster={cluster.address}")
    waiting(nappers, "no trial began")
    process.kill()
    process.communicate()
    waiting(lambda: not nappers(), "a trial outlived its run")
    runs = cluster.folder / f"pytest-crab-{os.getuid()}" / "runs"
    waiting(lambda: not [path for path in runs.iterdir() if path.is_dir()], "a run outlived its controller")
    assert cluster.workers["good"].poll() is None


def is_interrupted(room: Any, cluster: Any, waiting: Any) -> None:
    """Ctrl-C ends what workers run, and the record says so."""
    process = room.start("--reviewer=nap", f"--crab-cluster={cluster.address}")
    waiting(nappers, "no trial began")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=240)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    assert not nappers()
    trials = newest(room)
    assert {result["reason"] for trial in trials for result in trial["scores"]} == {"not run"}
    assert cluster.workers["good"].poll() is None
    runs = cluster.folder / f"pytest-crab-{os.getuid()}" / "runs"
    assert not [path for path in runs.iterdir() if path.is_dir()]


def loses_its_scheduler(room: Any, cluster: Any, waiting: Any) -> None:
    """Unfinished trials are broken soon and say why; nothing is left running."""
    process = room.start("--reviewer=nap", f"--crab-cluster={cluster.address}")
    waiting(nappers, "no trial began")
    cluster.kill_scheduler()
    output, _ = process.communicate(timeout=240)
    assert process.returncode == pytest.ExitCode.TESTS_FAILED, output
    (error,) = {trial["error"] for trial in newest(room)}
    assert f"the Dask scheduler at {cluster.address} does not answer any more: see that it runs" in error
    waiting(lambda: not nappers(), "a trial outlived its scheduler")
