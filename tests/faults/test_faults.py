"""Every fault on one shape: how it is made, what may be repeated, which verdicts come out while it lasts and after.

The ledger has a line for each step of the crew that began. After the fault the same run is made again, undisturbed:
its verdicts are those of a run that nothing disturbed, what was finished is not done again, and nothing is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any
from typing import NoReturn

import pytest

from pytest_crab.testing.provider import garbage
from pytest_crab.testing.provider import say

pytestmark = pytest.mark.bubblewrap

ONE = ("--crab-jobs=1",)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One disturbance of a run.

    ``make`` runs pytest with it. ``during`` is what the verdicts of that run are where they are not those of an
    undisturbed one; None: the run left no whole record. ``repeated`` are the steps that begin once more than in an
    undisturbed run, all runs together; ``words`` stand in what the disturbed run printed.
    """

    name: str
    make: Callable[[Any], str]
    during: Mapping[str, str] | None = field(default_factory=dict)
    repeated: tuple[str, ...] = ()
    words: str = ""
    root: bool = False
    reviewer: str = "sharp"


# --- what is killed --------------------------------------------------------------------------------------------------


def killed_harness(place: Any) -> str:
    """The process of pytest, in the agent's step of the first trial, the next one's review being done."""
    place.hold("revision caught-1")
    process = place.start("--crab-jobs=2")
    place.wait_for("revision caught-1 start", "revision missed-2 done")
    place.until(lambda: len(list(place.store.glob("steps/revision/*/*.json"))) == 1, "no revision was kept")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    place.let_go()
    return ""


def killed_worker(place: Any) -> str:
    """A process of pytest-xdist, in a review; another takes its place."""
    place.hold("review caught-1")
    process = place.start("-n1", "--max-worker-restart=1")
    place.wait_for("review caught-1 start")
    children = [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/stat")
        if (text := _text(path)) and text.rsplit(")", 1)[1].split()[1] == str(process.pid)
    ]
    (worker,) = [pid for pid in children if b"python" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(int(worker), signal.SIGKILL)
    place.until(lambda: not place.processes("review.sh"), "a client outlived its worker")
    place.let_go()
    return str(place.end(process))


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text()
    return ""


def killed_client(place: Any) -> str:
    """The reviewer's own process."""
    place.hold("review caught-1")
    process = place.start(*ONE)
    place.wait_for("review caught-1 start")
    place.kill("crew/review.sh")
    place.let_go()
    return str(place.end(process))


def interrupted_twice(place: Any) -> str:
    """Ctrl-C, and again while the first is still heeded."""
    place.hold("review missed-2")
    process = place.start(*ONE)
    place.wait_for("review missed-2 start")
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    output = place.end(process)
    place.until(lambda: not place.processes("review.sh"), "a client outlived its run")
    place.let_go()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output
    return str(output)


# --- what is wrong with the disk -------------------------------------------------------------------------------------


@contextlib.contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", *options, str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> None:
    with contextlib.suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        while file.write(b"\0" * 4096):
            pass


def full_store(place: Any) -> str:
    """No room for one more step once the review of the first trial is kept."""
    with mounted(place.store / "steps" / "revision", "-t", "tmpfs", "-o", "size=16k,nr_inodes=2", "tmpfs"):
        return str(place.run(*ONE))


def full_scratch(place: Any) -> str:
    """No room for a checkout or a sandbox where TMPDIR is, but for one page: Python leaves a full one for another."""
    with mounted(place.folder / "tmp", "-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        fill(place.folder / "tmp")
        os.truncate(place.folder / "tmp" / "filler", (1 << 20) - 4096)
        return str(place.run(*ONE))


def full_objects(place: Any) -> str:
    """No room where revisions are applied: a diff that git cannot write is no diff that does not apply."""
    with contextlib.ExitStack() as stack:
        for folder in sorted(place.store.glob("cache/**/private.git/objects")):
            kept = place.folder / "kept"
            shutil.copytree(folder, kept)
            stack.enter_context(mounted(folder, "-t", "tmpfs", "-o", "size=1m", "tmpfs"))
            shutil.copytree(kept, folder, dirs_exist_ok=True)
            shutil.rmtree(kept)
            fill(folder)
        return str(place.run(*ONE))


def full_report(place: Any) -> str:
    """No room for more than some bytes of the record."""
    with mounted(place.folder / "small", "-t", "tmpfs", "-o", "size=4k", "tmpfs"):
        output = place.run(*ONE, f"--crab-report={place.folder / 'small'}")
        text = (place.folder / "small" / "trials.jsonl").read_text()
        assert all(json.loads(line) for line in text.splitlines())
        assert not text or text.endswith("\n")
    return str(output)


def read_only_store(place: Any) -> str:
    with mounted(place.store, "--bind", str(place.store)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(place.store)], check=True)
        return str(place.run(*ONE, f"--crab-report={place.folder / 'elsewhere'}"))


def corrupt_objects(place: Any) -> str:
    """After a whole run each stored step of one trial is cut, filled with noise or replaced by another's."""
    place.run(*ONE)
    objects = {step: sorted((place.store / "steps" / step).glob("*/*.json")) for step in ("review", "revision")}
    one = next(path for path in objects["review"] if "number, caught-1" in path.read_text())
    one.write_bytes(one.read_bytes()[:-20])
    first, second = sorted(objects["revision"], key=lambda path: "return 4" in path.read_text())
    first.write_bytes(second.read_bytes())
    for path in (place.store / "steps" / "verdict").glob("*/*.json"):
        path.write_bytes(path.read_bytes().replace(b'"green"', b'"failed"').replace(b"test failed", b"green"))
    return str(place.run(*ONE))


# --- time, and others ------------------------------------------------------------------------------------------------

JUMPS = """\
import os, time
os.makedirs("%s/" + str(os.getpid()), exist_ok=True)
_now, _count = time.time, [0]
def jumping():
    _count[0] += 1
    return _now() + (0, 86400.0 * 400, -86400.0 * 400)[_count[0] % 3]
time.time = jumping
time.time_ns = lambda: int(jumping() * 1e9)
"""


def jumping_clock(place: Any) -> str:
    """The wall clock of every process of the run leaps by a year and back, each time that it is asked."""
    folder = place.folder / "clock"
    folder.mkdir()
    (folder / "seen").mkdir()
    (folder / "sitecustomize.py").write_text(JUMPS.replace("%s", str(folder / "seen")))
    place.env["PYTHONPATH"] = str(folder)
    output = place.run("--crab-jobs=2")
    assert any((folder / "seen").iterdir()), "no clock leapt"
    assert all(0 <= place.trial(name)["seconds"] < 1000 for name in place.REASONS)
    return str(output)


def two_at_once(place: Any) -> str:
    """Two runs on one store, the second one begun while the first is in its first step."""
    place.hold("review caught-1")
    first = place.start("--crab-jobs=2")
    place.wait_for("review caught-1 start")
    second = place.start("--crab-jobs=2", f"--crab-report={place.folder / 'second'}")
    place.until(lambda: list(place.folder.glob("tmp/*/runs/*.lock"))[1:], "the second run did not begin")
    place.let_go()
    output = f"{place.end(first)}{place.end(second)}"
    records = (place.folder / "second" / "trials.jsonl").read_text().splitlines()
    found = {trial["instance"]: trial["results"][0]["reason"] for trial in map(json.loads, records)}
    assert found == place.REASONS, output
    return output


# --- the way to the models -------------------------------------------------------------------------------------------

GATEWAY = "pytest_crab.models.server"


def killed_gateway(place: Any) -> str:
    """The gateway, in the middle of a request: it is started anew, and the step is tried again."""
    place.ask_models()
    place.replies["caught-1"] = [say("", delay=600)]
    process = place.start(*ONE, reviewer="asked")
    place.wait_for("review caught-1 start")
    place.kill(GATEWAY)
    output = place.end(process)
    assert retried(place, "caught-1") == {"review": ["gateway"]}
    return str(output)


def dead_gateway(place: Any) -> str:
    """The gateway, whenever it is asked: no trial of the run can go on."""
    place.ask_models()
    place.replies["caught-1"] = [say("", delay=600), say("", delay=600)]
    process = place.start(*ONE, reviewer="asked")
    for number in (1, 2):
        place.until(lambda number=number: place.began()["review caught-1"] == number, "nobody asked again")
        place.kill(GATEWAY)
    return str(place.end(process))


#: Waits that nobody would wait for here.
WATCHFUL = """
from pytest_crab.models import gateway, line
gateway._PULSE, line.ANSWER = 0.2, 2.0
"""


def hung_gateway(place: Any) -> str:
    """The gateway stands still in the middle of a request: it is ended, started anew, and the step is tried again."""
    place.ask_models()
    place.replies["caught-1"] = [say("", delay=600)]
    settings = place.folder / "conftest.py"
    before = settings.read_text()
    settings.write_text(before + WATCHFUL)
    process = place.start(*ONE, reviewer="asked")
    place.wait_for("review caught-1 start")
    (stopped,) = place.processes(GATEWAY)
    os.kill(int(stopped.split()[0]), signal.SIGSTOP)
    output = place.end(process)
    settings.write_text(before)
    assert retried(place, "caught-1") == {"review": ["gateway"]}
    return str(output)


def slow_provider(place: Any) -> str:
    """An answer that does not come in the reviewer's time, once."""
    place.ask_models(timeout=1)
    place.replies["missed-2"] = [say("", delay=600)]
    output = place.run(*ONE, reviewer="asked")
    assert retried(place, "missed-2") == {"review": ["timeout"]}
    return str(output)


def lying_provider(place: Any) -> str:
    """Answers with status 200 that are no answers: a reviewer that was not heard has missed nothing."""
    place.ask_models()
    place.replies |= {"caught-1": [garbage()], "missed-2": [say("All is well, and I am done.")]}
    return str(place.run(*ONE, reviewer="asked"))


def retried(place: Any, name: str) -> dict[str, list[str]]:
    """What a trial's steps were tried again for."""
    return {step["step"]: step["retried"] for step in place.trial(name)["steps"] if step.get("retried")}


BROKEN = dict.fromkeys(["caught-1", "missed-2", "silent-3"], "broken")
FAULTS = [
    Fault(name="the harness is killed", make=killed_harness, during=None, repeated=("revision caught-1",)),
    Fault(
        name="a worker is killed",
        make=killed_worker,
        during={"caught-1": "broken"},
        repeated=("review caught-1",),
        words="crashed while running",
    ),
    Fault(
        name="a reviewer is killed",
        make=killed_client,
        during={"caught-1": "reviewer error"},
        repeated=("review caught-1",),
    ),
    Fault(
        name="Ctrl-C twice",
        make=interrupted_twice,
        during=None,
        repeated=("review missed-2",),
    ),
    Fault(
        name="the store is full",
        make=full_store,
        during={"caught-1": "broken", "missed-2": "broken"},
        repeated=("revision caught-1", "revision missed-2"),
        words="No space left on device",
        root=True,
    ),
    Fault(name="the scratch is full", make=full_scratch, during=BROKEN, words="git init failed", root=True),
    Fault(
        name="the repositories are full",
        make=full_objects,
        during={"caught-1": "broken", "missed-2": "broken"},
        repeated=("revision caught-1", "revision missed-2"),
        words="No space left on device",
        root=True,
    ),
    Fault(name="the report is full", make=full_report, during=None, words="cannot be written", root=True),
    Fault(
        name="the store is read-only",
        make=read_only_store,
        during=None,
        words="choose a folder on a writable disk with --crab-store",
        root=True,
    ),
    Fault(
        name="objects are corrupt",
        make=corrupt_objects,
        repeated=("review caught-1", "revision caught-1"),
    ),
    Fault(name="the clock jumps", make=jumping_clock),
    Fault(name="two runs on one store", make=two_at_once),
    Fault(name="the gateway is killed", make=killed_gateway, repeated=("review caught-1",), reviewer="asked"),
    Fault(name="the gateway hangs", make=hung_gateway, repeated=("review caught-1",), reviewer="asked"),
    Fault(
        name="the gateway dies again and again",
        make=dead_gateway,
        during=BROKEN,
        repeated=("review caught-1", "review caught-1"),
        words="the gateway died again",
        reviewer="asked",
    ),
    Fault(name="the provider is slow", make=slow_provider, repeated=("review missed-2",), reviewer="asked"),
    Fault(
        name="the provider lies",
        make=lying_provider,
        during={"caught-1": "reviewer error", "missed-2": "reviewer error"},
        repeated=("review caught-1", "review missed-2"),
        reviewer="asked",
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_nothing_is_lost_repeated_or_invented(
    fault: Fault, place: Any, without: Callable[[str, str], NoReturn]
) -> None:
    if fault.root and os.getuid() != 0:
        without("root", "only root may mount a file system")
    output = fault.make(place)
    assert fault.words in " ".join(output.split()), output
    assert "Traceback" not in output, output
    assert "INTERNALERROR" not in output, output
    if fault.during is not None:
        assert place.reasons() == {**place.REASONS, **fault.during}, output
    place.env.pop("PYTHONPATH", None)
    again = place.run(*ONE, reviewer=fault.reviewer)
    assert place.reasons() == place.REASONS, again
    assert place.began() == place.STEPS + Counter(fault.repeated)
    assert place.left() == []
