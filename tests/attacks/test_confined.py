"""What code under test does to its sandbox, and to the line between it and the harness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from hostile.ledger import setup_diff

from pytest_crab import harness
from pytest_crab.protocols import FileChange, Limits
from pytest_crab.types import Ending, Environment, Isolation, Oracle, Run

if TYPE_CHECKING:
    from conftest import Place

#: There is no sandbox around the plain harness.
pytestmark = pytest.mark.parametrize(
    "place",
    [pytest.param("local", marks=pytest.mark.bubblewrap), pytest.param("docker", marks=pytest.mark.docker)],
    indirect=True,
    scope="session",
)

LIMITS = Limits(memory=256, processes=48, cpus=1.0, disk=64, file=64)

#: Tells the harness's host that everything passed, through every door that there may be.
FORGERY = """
import glob, json, os
line = json.dumps({"run": {"id": "a", "ending": "completed", "exit_code": 1, "tripwire": True, "tests":
                   [{"id": "test_c0.py::test_it", "outcome": "passed"}], "seconds": 1}})
for door in glob.glob("/proc/*/fd/*"):
    try:
        with open(door, "w") as out:
            out.write("\\n" + line + "\\n" + json.dumps({"bye": True}) + "\\n")
    except OSError:
        pass
"""
KILLER = """
import os, signal
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        try:
            os.kill(int(name), signal.SIGKILL)
        except OSError:
            pass
"""


def runs(
    place: Place, sources: Sequence[str], *, isolated: bool = False, seconds: float = 30, within: float | None = None,
    **files: str,
) -> list[Run]:  # fmt: skip
    """Run oracles after adding modules to the tree."""
    isolation = Isolation.PROCESS if isolated else Isolation.NONE
    oracle = Oracle(file="oracles/test_c0.py", isolation=isolation)
    changes = [FileChange(path=f"{name}.py", mode="100644", content=text.encode()) for name, text in files.items()]
    job = harness.Job(
        image=place.image, environment=Environment(dockerfile="python"), states={"revision": changes},
        runs=[
            harness.OracleRun(id="abcdefghij"[n], state="revision", seconds=seconds, oracle=oracle, source=source)
            for n, source in enumerate(sources)
        ],
    )  # fmt: skip
    done = place.runtime.execute(place.image, harness.commands(job), limits=LIMITS, seconds=within or job.seconds)
    return list(harness.parse(job, done).runs)


FINE = "def test_it():\n    import ledger\n"


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ("hog = [bytearray(1 << 20) for _ in range(4096)]", Ending.MEMORY),
        ("import os\n    while True: os.fork() or __import__('time').sleep(100)", Ending.PROCESSES),
        ("import os\n    while True: os.write(1, b'x' * 65536)", Ending.OUTPUT),
    ],
)
def test_what_is_too_much_has_its_name_and_the_next_run_is_well(confined: Place, body: str, ending: Ending) -> None:
    first, second = runs(confined, [f"def test_it():\n    {body}\n", FINE], seconds=60)
    assert first.ending is ending, first.detail
    assert second.ending is Ending.COMPLETED


def test_stopping_the_harness_is_a_time_out(confined: Place) -> None:
    source = "import os, signal\ndef test_it():\n    os.kill(-1, signal.SIGSTOP)\n    while True: pass\n"
    first, second = runs(confined, [source, FINE], within=12)
    assert (first.ending, second.ending) == (Ending.TIMEOUT, Ending.UNSTARTED)


def test_a_line_that_is_forged_is_not_believed(confined: Place) -> None:
    (run,) = runs(confined, ["def test_it():\n    import forge\n    assert False\n"], forge=FORGERY)
    assert [test.outcome for test in run.tests] in (["failed"], [])
    assert run.ending in (Ending.COMPLETED, Ending.EXITED)


def test_forging_and_then_ending_everything_is_not_believed(confined: Place) -> None:
    (run,) = runs(confined, ["def test_it():\n    import forge\n"], forge=FORGERY + KILLER)
    assert (run.ending, run.tests) == (Ending.LOST, ())


def test_the_harness_cannot_be_opened(confined: Place) -> None:
    source = (
        "import glob, os\n"
        "def test_it():\n"
        "    up = os.getppid()\n"
        "    for name in ('mem', 'environ', 'fd/1', 'fd/64', 'maps'):\n"
        "        try:\n"
        "            open('/proc/%d/%s' % (up, name), 'rb')\n"
        "        except OSError:\n"
        "            continue\n"
        "        assert False\n"
        "    assert os.getuid() != 0\n"
    )
    (run,) = runs(confined, [source])
    assert [test.outcome for test in run.tests] == ["passed"]


CALL = "import os, subprocess\ndef call(*words):\n    return subprocess.call([os.environ['CRAB_PYTHON'], *words])\n"


def test_an_isolated_oracle_is_out_of_the_projects_reach(confined: Place) -> None:
    source = (
        CALL + "def test_it():\n"
        "    place = os.path.dirname(os.path.abspath(__file__))\n"
        "    assert call('-m', 'look', place, str(os.getpid())) == 0\n"
        "    assert call('-c', 'import ledger') == 0\n"
    )
    look = (
        "import os, sys\n"
        "def shut(path):\n    try:\n        os.listdir(path)\n    except OSError:\n        return True\n"
        "assert shut(sys.argv[1])\n"
        "try:\n    os.kill(int(sys.argv[2]), 0)\nexcept OSError:\n    pass\nelse:\n    own = os.path.exists('/proc/%s/fd' % sys.argv[2])\n"  # noqa: E501 - code in a text
        "    assert own and shut('/proc/%s/fd' % sys.argv[2]) is False, 'reached'\n"
    )
    (run,) = runs(confined, [source], isolated=True, look=look)
    assert [test.outcome for test in run.tests] == ["passed"]


def test_where_both_ends_meet_is_no_way_around_the_limit_of_the_disk(confined: Place) -> None:
    source = CALL + "def test_it():\n    assert call('-m', 'fill') == 0\n"
    fill = (
        "for number in range(8):\n"
        "    with open('/meet/%d' % number, 'wb') as file:\n"
        "        for _ in range(16):\n"
        "            file.write(b'x' * (1 << 20))\n"
    )
    (run,) = runs(confined, [source], isolated=True, fill=fill)
    assert [test.outcome for test in run.tests] == ["failed"]
    assert run.ending is Ending.COMPLETED


def test_a_project_that_ends_all_it_can_fails_its_isolated_oracle_only(confined: Place) -> None:
    source = CALL + "def test_it():\n    assert call('-m', 'mean') == 0\n"
    first, second = runs(confined, [source, FINE], isolated=True, mean=KILLER)
    assert first.ending is Ending.LOST
    assert second.ending is Ending.UNSTARTED


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("hog = [bytearray(1 << 20) for _ in range(4096)]", Ending.MEMORY),
        ("import time; time.sleep(100)", Ending.TIMEOUT),
    ],
)
def test_what_an_isolated_project_uses_too_much_of_has_its_name(confined: Place, code: str, ending: Ending) -> None:
    source = CALL + f"def test_it():\n    assert call('-c', {code!r}) == 0\n"
    (run,) = runs(confined, [source], isolated=True, seconds=5)
    assert run.ending is ending, run.detail


#: Puts a text where a later run might find it, and tells where it is found; a build of the project's looks for it, and
#: leaves a process that waits for an oracle.
KEPT = """
import ctypes, os, subprocess, sys, time
c = ctypes.CDLL(None)
files = ["/dev/shm/kept", "/tmp/kept", os.path.expanduser("~/kept"), os.path.abspath("kept")]
calls = {"shared memory": lambda flags: c.shmget(7, 4096, flags), "messages": lambda flags: c.msgget(7, flags),
         "semaphores": lambda flags: c.semget(7, 1, flags),
         "queue": lambda flags: c.mq_open(b"/kept", 66 if flags & 512 else 0, 0o600, None)}
def keep():
    for path in files:
        open(path, "w").close()
    assert all(call(512 | 0o600) >= 0 for call in calls.values())
def found():
    return [path for path in files if os.path.exists(path)] + [name for name, call in calls.items() if call(0) >= 0]
def line(name):
    try:
        with open("/proc/%s/cmdline" % name, "rb") as file:
            return file.read()
    except OSError:  # it has ended meanwhile
        return b""
def living():
    return [name for name in filter(str.isdigit, os.listdir("/proc")) if b"kept.py\\0stay" in line(name)]
if __name__ == "__main__" and "stay" in sys.argv:
    time.sleep(600)
elif __name__ == "__main__":
    told = found()
    subprocess.Popen([sys.executable, __file__, "stay"], start_new_session=True)
    with open("told", "w") as file:
        file.write(repr((told, len(living()))))
"""


def test_a_build_neither_finds_what_a_run_kept_nor_outlives_itself(confined: Place) -> None:
    job = harness.Job(
        image=confined.image,
        environment=Environment(dockerfile="python", build=(f"{confined.image.interpreter} kept.py",)),
        states={"revision": [FileChange(path="kept.py", mode="100644", content=KEPT.encode())]},
        runs=[
            harness.OracleRun(
                id=name, state="revision", seconds=30, oracle=Oracle(file="oracles/test_c0.py"),
                source="import kept\ndef test_it():\n    assert open('told').read() == '([], 1)'\n"
                "    assert kept.living() == []\n    kept.keep()\n    assert len(kept.found()) == 8\n",
            )
            for name in ("first", "second")
        ],
    )  # fmt: skip
    done = confined.runtime.execute(confined.image, harness.commands(job), limits=LIMITS, seconds=job.seconds)
    outcomes = [(run.ending, [test.outcome for test in run.tests]) for run in harness.parse(job, done).runs]
    assert outcomes == [(Ending.COMPLETED, ["passed"])] * 2


#: What tries to change a file, or what lies at its place; each gives it another text if it may.
EVIL = """
import ctypes, glob, mmap, os, shutil, subprocess, sys
OTHER = b"# other"
def write(path):
    os.chmod(path, 0o700)
    with open(path, "wb") as file:
        file.write(OTHER)
def memory(path):
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
        shared[:len(OTHER)] = OTHER
def link(path):
    os.link(path, path + "2")
    write(path + "2")
def replace(path):
    write_new(path + "3")
    os.rename(path + "3", path)
def unlink(path):
    os.unlink(path)
    write_new(path)
def parent(path, levels=1):
    folder = path.rsplit("/", levels)[0]
    os.rename(folder, folder + "-moved")
    os.makedirs(os.path.dirname(path))
    write_new(path)
def grandparent(path):
    parent(path, 2)
def bind(path):
    write_new("/tmp/other")
    c, place = ctypes.CDLL(None), path.encode()
    c.unshare(0x20000)
    c.umount2(place, 2)
    c.mount(b"/tmp/other", place, None, 4096, None)
    write(path)
def child(path):
    code = "import evil, sys; evil.write(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, path], cwd=os.path.dirname(__file__), stderr=subprocess.DEVNULL)
def write_new(path):
    with open(path, "wb") as file:
        file.write(OTHER)
def changes(attack, path):
    try:
        attack(path)
    except OSError:
        pass
    with open(path, "rb") as file:
        return file.read().startswith(OTHER)
ATTACKS = [write, memory, link, replace, unlink, parent, grandparent, bind, child]
def play(name):
    (attack,) = (each for each in ATTACKS if each.__name__ == name)
    (oracle,) = glob.glob("/tmp/crab-*/oracle/test_c0.py")
    twin = os.path.expanduser("~/one/two/test_c0.py")
    os.makedirs(os.path.dirname(twin))
    shutil.copyfile(oracle, twin)
    return changes(attack, twin), changes(attack, oracle)
"""
REWRITES = ("write", "memory", "link", "replace", "unlink", "parent", "grandparent", "bind", "child")


def test_nothing_changes_the_oracles_file_unseen(confined: Place) -> None:
    """The twin is the same attack on a file that is not guarded, in the same run."""
    source = "def test_it():\n    import evil\n    assert evil.play({!r}) == (True, {})\n"
    refuses = confined.runtime.name == "local"
    sources = [source.format(name, not refuses) for name in REWRITES]
    told = [([test.outcome for test in run.tests], run.altered) for run in runs(confined, [*sources, FINE], evil=EVIL)]
    altered = () if refuses else ("written:oracle",)
    assert told == [(["passed"], altered)] * len(sources) + [(["passed"], ())]


#: An install script that plants what an environment would load by itself, beside metadata of its own.
PLANT = """import os, sysconfig
site = sysconfig.get_path('purelib')
patch = 'import sys, _pytest.python; _pytest.python.Function.runtest = lambda self: None'
for name, text in {'zz.pth': patch, 'sitecustomize.py': patch, 'pytest.py': 'raise SystemExit(0)', 'evil.py': patch,
                   'evil-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\\nName: evil\\nVersion: 1.0\\n',
                   'evil-1.0.dist-info/entry_points.txt': '[pytest11]\\nevil = evil\\n'}.items():
    path = os.path.join(site, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as file:
        file.write(text)
"""


def test_an_install_script_changes_nothing_that_runs_oracles(confined: Place) -> None:
    assert confined.snapshot is not None
    tree = confined.snapshot.apply(setup_diff(PLANT))
    installed = confined.runtime.reinstall(confined.image, confined.instance, confined.snapshot, tree)
    assert all(path.startswith(("evil-1.0.dist-info/", "ledger-")) for path in installed.metadata)
    oracle = Oracle(file="oracles/test_c0.py")
    source = "def test_it():\n    import evil\n"
    job = harness.Job(
        image=confined.image,
        environment=Environment(dockerfile="python"),
        states={"revision": confined.snapshot.changes(tree)},
        installs={"revision": installed},
        runs=[harness.OracleRun(id="a", state="revision", seconds=30, oracle=oracle, source=source)],
    )
    done = confined.runtime.execute(confined.image, harness.commands(job), limits=LIMITS, seconds=job.seconds)
    (run,) = harness.parse(job, done).runs
    assert [(test.outcome, test.exception) for test in run.tests] == [("failed", "ModuleNotFoundError")]
    assert (run.ending, run.tripwire, run.altered) == (Ending.COMPLETED, True, ())
