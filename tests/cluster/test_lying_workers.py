"""Workers that answer with pickles that run: nothing of them runs where pytest does, and the trials are broken."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.bubblewrap

#: What a lying worker does in place of a trial or a handshake, as files ask for it; each pickle makes a file that names
#: who loads it.
LIAR = """\
import pathlib, os, pickle
from distributed import get_worker
from pytest_crab.campaign.cluster import worker

FOLDER = pathlib.Path(FOLDER)

class Runs:
    def __init__(self, how):
        self.how = how

    def __reduce__(self):
        return os.system, (f"touch {FOLDER}/ran-{self.how}-$PPID",)

def asked_for(how):
    return (FOLDER / how).exists()

def lie(*args, **more):
    if asked_for("error"):
        raise ValueError(Runs("error"))
    try:
        (FOLDER / "result").unlink()  # once, so that another trial is left
        return Runs("result")
    except FileNotFoundError:
        pass
    if asked_for("warning"):
        get_worker().log_event("warn", {"message": pickle.dumps(Runs("warning"))})
    return "[" * 100_000

honest = worker.honest = getattr(worker, "honest", worker.handshake)  # this may be loaded twice
async def handshake(wanted, pickled, dask_worker):
    return Runs("handshake") if asked_for("handshake") else await honest(wanted, pickled, dask_worker)

handshake.__module__ = lie.__module__ = worker.__name__
handshake.__qualname__, lie.__qualname__, lie.__name__ = "handshake", "run_trial", "run_trial"
worker.run_trial, worker.handshake = lie, handshake
"""
#: What is told in one run; the trials that are left are answered by JSON that nobody reads to its end.
LIES = (("result", "warning"), ("error",), ("handshake",))
CARELESS = "from pytest_crab.campaign.cluster import connection\nconnection._unpickle_nothing = lambda: None\n"


@pytest.fixture
def liar(make_cluster: Any) -> Any:
    """A cluster whose one worker lies."""
    cluster = make_cluster()
    text = LIAR.replace("Path(FOLDER)", f"Path({str(cluster.folder)!r})")
    (cluster.folder / "liar.py").write_text(text)
    cluster.work("liar", "--preload", str(cluster.folder / "liar.py"))
    cluster.until(there=1)
    return cluster


@pytest.mark.slow(reason="a scheduler, a lying worker and many runs are processes of their own")
def test_nothing_that_a_worker_sends_runs_here(room: Any, liar: Any) -> None:
    room.write_settings()

    def ran(*lies: str) -> tuple[set[str], str]:
        """Which of these lies ran in the process of pytest, and what that printed."""
        for how in lies:
            (liar.folder / how).touch()
        chosen = () if len(lies) > 1 else ("-k", "pots-1")
        process = room.start("--reviewer=human", *chosen, f"--crab-cluster={liar.address}")
        output, _ = process.communicate(timeout=240)
        for how in lies:
            (liar.folder / how).unlink(missing_ok=True)
        return {path.name.split("-")[1] for path in liar.folder.glob(f"ran-*-{process.pid}")}, output

    for lies in LIES:
        found, output = ran(*lies)
        assert found == set()
        assert "Traceback" not in output, output
        assert ("no answer that could be read" if lies == ("handshake",) else "broken") in output, output
    (room.folder / "conftest.py").write_text(CARELESS)
    for lies in LIES:
        assert ran(*lies)[0] == set(lies), "the attack does not work"
