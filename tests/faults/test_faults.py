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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pytest_crab.testing.provider import garbage, say

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "faults.md"
ONE = ("--crab-jobs=1",)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One disturbance of a run.

    ``make`` runs pytest with it. ``during`` is what the verdicts of that run are where they are not those of an
    undisturbed one; None: the run left no whole record. ``repeated`` are the steps that begin once more than in an
    undisturbed run, all runs together; ``unfinished`` is the first step of a trial that was not finished, so that the
    run after makes it and those behind it, and takes all others from the store. ``words`` stand in what the disturbed
    run printed. ``retried`` is what steps of that run were tried again for. ``runtimes`` are where it is played.
    ``does`` tells users what the run does; ``record`` what is on the record where ``during`` does not say it.
    """

    name: str
    does: str
    make: Callable[[Any], str]
    record: str = ""
    retried: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    during: Mapping[str, str] | None = field(default_factory=dict)
    repeated: tuple[str, ...] = ()
    unfinished: Mapping[str, str] = field(default_factory=dict)
    words: str = ""
    root: bool = False
    reviewer: str = "sharp"
    runtimes: tuple[str, ...] = ("local",)


# --- what is killed --------------------------------------------------------------------------------------------------


def killed_harness(place: Any) -> str:
    """The process of pytest, in a revision of the first trial and the review of the third, the second being over."""
    place.hold("revision caught-1", "review silent-3")
    process = place.start("--crab-jobs=2")
    place.wait_for("revision caught-1 start", "review silent-3 start")
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
    (worker,) = [pid for pid in children if "python" in _text(Path(f"/proc/{pid}/cmdline"))]
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


def in_an_oracle(place: Any, *signals: signal.Signals) -> str:
    """The process of pytest is sent signals while the container of the first trial's verdict runs."""
    script = place.folder / "crew" / "revision.sh"
    script.write_text(script.read_text().replace("return 3", "import time; time.sleep(2); return 3"))
    assert not place.containers()
    process = place.start(*ONE)
    place.until(place.containers, "no container was seen")
    for number in signals:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
    return str(place.end(process))


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
        output = str(place.run(*ONE, f"--crab-report={place.folder / 'elsewhere'}"))
    assert place.reasons(place.folder / "elsewhere") == {}, output  # a run that is refused leaves no record
    return output


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
    output = str(place.run(*ONE))
    made = {step for step, reused in place.steps().items() if not reused}
    assert made == {"review caught-1", "revision caught-1", "verdict caught-1", "verdict missed-2"}
    return output


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
    assert place.reasons(place.folder / "second") == place.REASONS, output
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
from pytest_crab.models import client, gateway
gateway._PULSE, client.ANSWER = 0.2, 5.0
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
    return str(output)


def slow_provider(place: Any) -> str:
    """An answer that does not come in the reviewer's time, once."""
    place.ask_models(timeout=5)
    place.replies["missed-2"] = [say("", delay=600)]
    output = place.run(*ONE, reviewer="asked")
    return str(output)


def lying_provider(place: Any) -> str:
    """Answers with status 200 that are no answers, also when they are asked for again: unheard is never missed."""
    place.ask_models()
    prose = "All is well, and I am done."
    place.replies |= {"caught-1": [garbage(), garbage()], "missed-2": [say(prose), say(prose)]}
    return str(place.run(*ONE, reviewer="asked"))


def retried(place: Any) -> dict[str, dict[str, list[str]]]:
    """What the steps of the last run were tried again for, by trial; trials in which none was are left out."""
    steps = {name: place.trial(name)["steps"] for name in place.REASONS}
    found = {name: {one["step"]: one["retried"] for one in own if one.get("retried")} for name, own in steps.items()}
    return {name: again for name, again in found.items() if again}


BROKEN = dict.fromkeys(["caught-1", "missed-2", "silent-3"], "broken")
UNASKED = dict.fromkeys(BROKEN, "review")
IN_VERDICT = {"caught-1": "verdict", "missed-2": "review", "silent-3": "review"}
UNREVISED = dict.fromkeys(["caught-1", "missed-2"], "revision")
FAULTS = [
    Fault(
        name="the harness is killed",
        does="The next run removes what it left, and goes on where it was",
        record="the trials that were reported before",
        make=killed_harness,
        during=None,
        repeated=("revision caught-1", "review silent-3"),
        unfinished={"caught-1": "revision", "silent-3": "review"},
    ),
    Fault(
        name="the harness is killed in an oracle",
        does="The next run removes its containers, and runs the oracle again",
        record="the trials that were reported before",
        make=lambda place: in_an_oracle(place, signal.SIGKILL),
        during=None,
        unfinished=IN_VERDICT,
        runtimes=("docker",),
    ),
    Fault(
        name="Ctrl-C twice in an oracle",
        does="It removes its containers and exits",
        record="the trials that were over; the others are not on it, or unknown (not run)",
        make=lambda place: in_an_oracle(place, signal.SIGINT, signal.SIGINT),
        during=None,
        unfinished=IN_VERDICT,
        runtimes=("docker",),
    ),
    Fault(
        name="a worker is killed",
        does="pytest-xdist starts another worker, which takes the trials that were not begun",
        make=killed_worker,
        during={"caught-1": "broken"},
        repeated=("review caught-1",),
        unfinished={"caught-1": "review"},
        words="crashed while running",
    ),
    Fault(
        name="a reviewer is killed",
        does="The trial ends, and the others go on",
        make=killed_client,
        during={"caught-1": "reviewer error"},
        repeated=("review caught-1",),
        unfinished={"caught-1": "review"},
    ),
    Fault(
        name="Ctrl-C twice",
        does="It ends its clients and exits",
        record="the trials that were over; the others are not on it, or unknown (not run)",
        make=interrupted_twice,
        during=None,
        repeated=("review missed-2",),
        unfinished={"missed-2": "review", "silent-3": "review"},
    ),
    Fault(
        name="the store is full",
        does="A trial whose step cannot be kept ends, with what to do",
        make=full_store,
        during={"caught-1": "broken", "missed-2": "broken"},
        repeated=("revision caught-1", "revision missed-2"),
        unfinished=UNREVISED,
        words="No space left on device",
        root=True,
    ),
    Fault(
        name="the scratch is full",
        does="No trial gets a checkout, and each says so",
        make=full_scratch,
        during=BROKEN,
        unfinished=UNASKED,
        words="No space left on device: ",
        root=True,
    ),
    Fault(
        name="the repositories are full",
        does="A revision that git cannot write down is not taken for one that does not apply",
        make=full_objects,
        during={"caught-1": "broken", "missed-2": "broken"},
        repeated=("revision caught-1", "revision missed-2"),
        unfinished=UNREVISED,
        words="No space left on device",
        root=True,
    ),
    Fault(
        name="the report is full",
        does="It says that the report cannot be written; the store keeps what was finished",
        record="as many whole lines as fit",
        make=full_report,
        during=None,
        words="cannot be written",
        root=True,
    ),
    Fault(
        name="the store is read-only",
        does="It says so, and to choose another folder; no step is made",
        record="unknown (not run), in a report elsewhere",
        make=read_only_store,
        during=None,
        unfinished=UNASKED,
        words="choose a folder on a writable disk with --crab-store",
        root=True,
    ),
    Fault(
        name="objects are corrupt",
        does="What is damaged counts as absent, and is made again",
        make=corrupt_objects,
        repeated=("review caught-1", "revision caught-1"),
    ),
    Fault(
        name="the clock jumps",
        does="Nothing: no time-out and no duration is taken from the wall clock",
        make=jumping_clock,
    ),
    Fault(
        name="two runs on one store",
        does="Each step is made by one of them, and the other takes it from the store",
        make=two_at_once,
    ),
    Fault(
        name="the gateway is killed",
        does="It is started anew, and the step is tried again",
        make=killed_gateway,
        retried={"caught-1": {"review": ["gateway"]}},
        repeated=("review caught-1",),
        reviewer="asked",
    ),
    Fault(
        name="the gateway hangs",
        does="It is ended and started anew, and the step is tried again",
        make=hung_gateway,
        retried={"caught-1": {"review": ["gateway"]}},
        repeated=("review caught-1",),
        reviewer="asked",
    ),
    Fault(
        name="the gateway dies again and again",
        does="It is not started a third time: no model can be asked",
        make=dead_gateway,
        during=BROKEN,
        repeated=("review caught-1", "review caught-1"),
        unfinished=UNASKED,
        words="the gateway died again",
        reviewer="asked",
    ),
    Fault(
        name="the provider is slow",
        does="The reviewer's deadline ends the step; nothing counts as missed",
        make=slow_provider,
        during={"missed-2": "reviewer error"},
        repeated=("review missed-2",),
        unfinished={"missed-2": "review"},
        reviewer="asked",
    ),
    Fault(
        name="the provider lies",
        does="The review has failed; nothing counts as missed",
        make=lying_provider,
        during={"caught-1": "reviewer error", "missed-2": "reviewer error"},
        repeated=("review caught-1", "review missed-2") * 2,
        unfinished={"caught-1": "review", "missed-2": "review"},
        reviewer="asked",
    ),
]


def played() -> Iterator[Any]:
    for fault in FAULTS:
        for runtime in fault.runtimes:
            marks = [pytest.mark.docker] if runtime == "docker" else []
            yield pytest.param(fault, runtime, id=f"{fault.name}-{runtime}", marks=marks)


@pytest.mark.slow(reason="each fault is two runs of pytest, one of them disturbed")
@pytest.mark.bubblewrap
@pytest.mark.parametrize(("fault", "place"), list(played()), indirect=["place"])
def test_nothing_is_lost_repeated_or_invented(
    fault: Fault, place: Any, without: Callable[[str, str], NoReturn]
) -> None:
    if fault.root and os.getuid() != 0:
        without("root", "only root may mount a file system")
    output = fault.make(place)
    assert fault.words in " ".join(output.split()), output
    assert "Traceback" not in output, output
    assert "INTERNALERROR" not in output, output
    if fault.during is None:
        assert all(reason in (place.REASONS[name], "not run") for name, reason in place.reasons().items()), output
    else:
        assert place.reasons() == {**place.REASONS, **fault.during}, output
        assert retried(place) == fault.retried, output
    place.env.pop("PYTHONPATH", None)
    again = place.run(*ONE, reviewer=fault.reviewer)
    assert place.reasons() == place.REASONS, again
    assert place.began() == place.STEPS + Counter(fault.repeated)
    assert place.steps() == dict(kept_after(fault, place.COURSE)), again
    assert place.left() == []


def kept_after(fault: Fault, courses: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, bool]]:
    """Each step of all trials, and whether it was finished when the fault was over."""
    for title, course in courses.items():
        finished = course.index(fault.unfinished[title]) if title in fault.unfinished else len(course)
        yield from ((f"{step} {title}", at < finished) for at, step in enumerate(course))


def row(fault: Fault) -> str:
    """What users are told of a fault."""
    told = ", ".join(sorted({f"unknown ({reason})" for reason in (fault.during or {}).values()}))
    again = {kind for steps in fault.retried.values() for kinds in steps.values() for kind in kinds}
    told = "; ".join([told or fault.record or "as ever", *(f"`retried` of the step is `{kind}`" for kind in again)])
    return f"| {fault.name} | {fault.does} | {told} |"


def test_the_page_on_faults_lists_them() -> None:
    assert [fault.name for fault in FAULTS if bool(fault.record) is not (fault.during is None)] == []
    wanted = "\n".join(row(fault) for fault in FAULTS)
    table = PAGE.read_text("utf-8").split("<!-- as tests/faults play them -->\n\n")[1].split("\n\n")[0]
    assert table.split("\n", 2)[2] == wanted, f"the rows below the marks should be\n{wanted}"
