"""The channel between harness and host: what code of a revision writes, reads or ends there makes nothing green."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hostile.channel import DOORS, WRITE
from hostile.children import REWRITING

from pytest_crab import harness
from pytest_crab.ecosystems.node.tools import NodeTools
from pytest_crab.protocols import ORACLE_LIMITS, FileChange
from pytest_crab.types import Ending, Environment, Isolation, Oracle, Run

if TYPE_CHECKING:
    from conftest import Place

everywhere = pytest.mark.parametrize(
    "place",
    [pytest.param("local", marks=pytest.mark.bubblewrap), pytest.param("docker", marks=pytest.mark.docker)],
    indirect=True,
    scope="session",
)

CHILD = """\
import subprocess, sys
def test_it():
    subprocess.call([sys.executable, "-c", "import forge"])
    assert False
"""
CALLED = """\
import os, subprocess
def test_it():
    subprocess.call([os.environ["CRAB_PYTHON"], "-c", "import forge"])
    assert False
"""
#: By how the project is run: the oracle's source, which is red, and whether it is isolated.
ORACLES: Mapping[str, tuple[str, Isolation]] = {
    "in the oracle's process": ("def test_it():\n    import forge\n    assert False\n", Isolation.NONE),
    "in a process of the oracle's": (CHILD, Isolation.NONE),
    "as another user": (CALLED, Isolation.PROCESS),
}


def play(
    place: Place,
    source: str,
    isolation: Isolation,
    files: Mapping[str, str],
    key: bytes = bytes(32),
    seconds: float = 30,
) -> Run:
    """Run one oracle on the small project with some files added."""
    changes = [FileChange(path=path, mode="100644", content=text.encode()) for path, text in files.items()]
    oracle = Oracle(file="oracles/test_c0.py", isolation=isolation)
    job = harness.Job(
        key=key, image=place.image, environment=Environment(dockerfile="python"), states={"revision": changes},
        runs=[harness.OracleRun(id="a", state="revision", seconds=seconds, oracle=oracle, source=source)],
    )  # fmt: skip
    done = place.runtime.execute(place.image, harness.commands(job), limits=ORACLE_LIMITS, seconds=job.seconds)
    (run,) = harness.parse(job, done).runs
    return run


@everywhere
@pytest.mark.parametrize(("source", "isolation"), ORACLES.values(), ids=ORACLES)
def test_a_run_that_is_forged_is_red(confined: Place, source: str, isolation: Isolation) -> None:
    run = play(confined, source, isolation, {"forge.py": DOORS})
    assert (run.ending, [test.outcome for test in run.tests]) == (Ending.COMPLETED, ["failed"]), run.detail


@everywhere
def test_a_child_of_the_oracle_rewrites_nothing_of_it(confined: Place) -> None:
    run = play(confined, CHILD, Isolation.NONE, {"forge.py": REWRITING})
    assert (run.ending, [test.outcome for test in run.tests]) == (Ending.COMPLETED, ["failed"]), run.detail


#: What a project does with its own process and with processes that it starts, which no measure may stand in the way of.
WORKERS = """\
import faulthandler, multiprocessing, os, subprocess, sys, tempfile
def double(queue, number):
    queue.put(number * 2)
def doubled(method):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    worker = context.Process(target=double, args=(queue, 4))
    worker.start()
    found = queue.get()
    worker.join()
    return found, worker.exitcode
def itself():
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file)
        file.seek(0)
        assert b"itself" in file.read()
    assert os.listdir("/proc/self/fd") and os.readlink("/proc/self/exe")
    with open("/proc/self/maps") as maps, open("/proc/self/smaps") as more, open("/proc/self/status") as status:
        assert maps.read() and more.read() and status.read()
    told = subprocess.run(["cat", "/dev/stdin"], input=b"x", stdout=subprocess.PIPE)
    return told.stdout
"""
WORKING = """\
import pytest
import workers
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers(method):
    assert workers.doubled(method) == (8, 0)
def test_itself():
    assert workers.itself() == b"x"
"""


@everywhere
def test_a_project_uses_processes_and_looks_at_its_own(confined: Place) -> None:
    run = play(confined, WORKING, Isolation.NONE, {"workers.py": WORKERS})
    assert (run.ending, [test.outcome for test in run.tests]) == (Ending.COMPLETED, ["passed"] * 4), run


#: Starts the project as a process of its own, which writes into the output of every other.
NODE = """
import test from 'node:test';
import assert from 'node:assert';
import {execFileSync} from 'node:child_process';
test('sum', () => {
  execFileSync(process.execPath, ['-e', "import('./forge.mjs')"]);
  assert.ok(false);
});
"""
FORGE = """
import {constants, closeSync, openSync, readdirSync, writeSync} from 'node:fs';
for (const pid of readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && name !== String(process.pid))) {
  try {
    const end = openSync(`/proc/${pid}/fd/1`, constants.O_WRONLY | constants.O_NONBLOCK);
    writeSync(end, '<testcase name="sum"/>\\n<');
    closeSync(end);
  } catch {}
}
"""


@pytest.mark.node
@pytest.mark.parametrize("place", [pytest.param("local", marks=pytest.mark.bubblewrap)], indirect=True, scope="session")
def test_a_project_that_an_oracle_of_node_starts_cannot_write_into_its_report(confined: Place) -> None:
    node = NodeTools().here()
    assert node is not None
    facts = {**confined.image.facts, "tools": {"node": dataclasses.asdict(NodeTools().placed(node, ""))}}
    oracle = Oracle(file="oracles/test_c0.test.mjs", runner="node")
    forge = FileChange(path="forge.mjs", mode="100644", content=FORGE.encode())
    job = harness.Job(
        image=replace(confined.image, facts=facts), environment=Environment(dockerfile="python"),
        states={"revision": [forge]},
        runs=[harness.OracleRun(id="a", state="revision", seconds=30, oracle=oracle, source=NODE)],
    )  # fmt: skip
    done = confined.runtime.execute(job.image, harness.commands(job), limits=ORACLE_LIMITS, seconds=job.seconds)
    (run,) = harness.parse(job, done).runs
    assert (run.ending, [test.outcome for test in run.tests]) == (Ending.COMPLETED, ["failed"]), run.detail


OWN = WRITE + "write('/proc/self/fd/1')\n"
#: The same words in the project's own output, from where the attacks of the list come from.
HARMLESS = {
    "the process itself": OWN,
    "a child": f"import subprocess, sys\nsubprocess.call([sys.executable, '-c', {OWN!r}])\n",
    "a process that leaves": f"import os\nif not os.fork():\n    os.setsid()\n    exec({OWN!r})\n    os._exit(0)\n",
}


@everywhere
@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_a_project_that_prints_the_same_words_is_green(confined: Place, text: str) -> None:
    run = play(confined, "def test_it():\n    import loud\n", Isolation.NONE, {"loud.py": text})
    assert (run.ending, run.tripwire, run.altered) == (Ending.COMPLETED, True, ()), run.detail
    assert [test.outcome for test in run.tests] == ["passed"]


#: Looks for what looks like the key in the memory of every process that can be read, and in what else tells of one.
SEARCH = """\
import ctypes, glob, re
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # code in a process may open that one
LOOKS = re.compile(rb"k[e]y-of-the-report-[0-9a-f]{14}")
def texts(folder):
    for name in ("cmdline", "environ"):
        with open(folder + "/" + name, "rb") as file:
            yield file.read()
    with open(folder + "/maps") as maps, open(folder + "/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            try:
                memory.seek(start)
                yield memory.read(end - start)
            except (OSError, OverflowError):
                continue
def found():
    seen = set()
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            for text in texts(folder):
                seen.update(LOOKS.findall(text))
        except OSError:
            continue
    return seen
"""
SEARCHING = """\
import search
def test_key():
    assert search.found() == set()
def test_search():
    kept = b"-".join([b"key", b"of", b"the", b"report", b"0" * 14])
    assert search.found() == {kept}
"""


@everywhere
@pytest.mark.parametrize("isolation", Isolation)
def test_the_key_is_in_no_process_that_runs_code_of_the_project(confined: Place, isolation: Isolation) -> None:
    source = SEARCHING
    if isolation is Isolation.PROCESS:
        words = f"os.environ['CRAB_PYTHON'], '-c', {SEARCHING + 'test_key(), test_search()'!r}"
        source = f"import os, subprocess\ndef test_key():\n    subprocess.check_call([{words}])\n"
    run = play(confined, source, isolation, {"search.py": SEARCH}, b"key-of-the-report-0123456789abcd")
    assert {test.outcome for test in run.tests} == {"passed"}, run
