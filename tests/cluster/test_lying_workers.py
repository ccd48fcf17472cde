"""Workers that answer with pickles that run: nothing of them runs where pytest does, and the trials are broken."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.bubblewrap

#: What a lying worker does in place of a trial or a handshake; each pickle makes a file that names who loads it.
LIAR = """\
import pathlib, os, pickle
from distributed import get_worker
from pytest_crab.campaign.cluster import worker

FOLDER = pathlib.Path(FOLDER)

class Runs:
    def __reduce__(self):
        return os.system, (f"touch {FOLDER}/ran-$PPID",)

def lie(*args, **more):
    how = (FOLDER / "how").read_text()
    if how == "result":
        return Runs()
    if how == "error":
        raise ValueError(Runs())
    if how == "warning":
        get_worker().log_event("warn", {"message": pickle.dumps(Runs())})
    return how

honest = worker.honest = getattr(worker, "honest", worker.handshake)  # this may be loaded twice
async def handshake(wanted, pickled, dask_worker):
    return Runs() if (FOLDER / "how").read_text() == "handshake" else await honest(wanted, pickled, dask_worker)

handshake.__module__ = lie.__module__ = worker.__name__
handshake.__qualname__, lie.__qualname__, lie.__name__ = "handshake", "run_trial", "run_trial"
worker.run_trial, worker.handshake = lie, handshake
"""
CARELESS = "from pytest_crab.campaign.cluster import connection\nconnection._unpickle_nothing = lambda: None\n"


@pytest.fixture
def liar(make_cluster: Any) -> Any:
    """A cluster whose one worker lies."""
    cluster = make_cluster()
    text = LIAR.replace("Path(FOLDER)", f"Path({str(cluster.folder)!r})")
    (cluster.folder / "liar.py").write_text(text)
    (cluster.folder / "how").write_text("nothing")
    cluster.work("liar", "--preload", str(cluster.folder / "liar.py"))
    cluster.until(there=1)
    return cluster


@pytest.mark.slow(reason="a scheduler, a lying worker and many runs are processes of their own")
def test_nothing_that_a_worker_sends_runs_here(room: Any, liar: Any) -> None:
    room.write_settings()

    def ran(how: str) -> tuple[bool, str]:
        """Whether the worker's pickle ran in the process of pytest, and what that printed."""
        (liar.folder / "how").write_text(how)
        process = room.start("--reviewer=human", "-k", "pots-1", f"--crab-cluster={liar.address}")
        output, _ = process.communicate(timeout=240)
        return (liar.folder / f"ran-{process.pid}").exists(), output

    for how in ("result", "error", "warning", "handshake", "[" * 100_000):
        loaded, output = ran(how)
        assert not loaded, how
        assert "Traceback" not in output, output
        if how == "handshake":
            assert "no answer that could be read" in output
        else:
            assert "broken" in output, output
    (room.folder / "conftest.py").write_text(CARELESS)
    for how in ("result", "error", "warning", "handshake"):
        assert ran(how)[0], f"the attack by {how} does not work"
