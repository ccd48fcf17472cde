"""What reaches for the channel between a harness and its host: as texts of Python, and as revisions of the project."""

from __future__ import annotations

from hostile.shape import Kind, Revision

from pytest_crab.types import Reason

#: Writes that all passed, as a line, and an open line, which swallows what comes behind it.
WRITE = """
import glob, json, os
test = {"id": "test_c0.py::test_it", "outcome": "passed"}
run = {"id": "a", "ending": "completed", "exit_code": 1, "tripwire": True, "tests": [test], "seconds": 1}
def write(*doors):
    for door in doors:
        try:
            end = os.open(door, os.O_WRONLY | os.O_NONBLOCK)
            os.write(end, json.dumps({"run": run}).encode() + b'\\n{"run": {"passed": true}}\\n{"x": ')
            os.close(end)
        except OSError:
            pass
"""
#: Writes it into every door of every other process.
DOORS = f"""{WRITE}
own = (str(os.getpid()), "self", "thread-self")
write(*[door for door in glob.glob("/proc/*/fd/[0-9]*") if door.split("/")[2] not in own])
"""

#: Ends every process that it may.
KILLER = """
import os, signal
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        try:
            os.kill(int(name), signal.SIGKILL)
        except OSError:
            pass
"""


def reaching(name: str, text: str, reason: Reason = Reason.FAILED, *, alone: bool = False) -> Revision:
    """Runs ``text`` when the project, which stays wrong, is imported."""
    return Revision(
        kind=Kind.CHANNEL, name=name, files={"ledger.py": f"{text}\ndef add(a, b):\n    return a - b\n"},
        reason=reason, command="a supervisor in a sandbox", reads="line", confined=True, alone=alone,
    )  # fmt: skip


REVISIONS = [
    reaching("a report written into the first process's output", WRITE + "write('/proc/1/fd/1')"),
    reaching("a report written into the supervisor's output", WRITE + "write('/proc/%d/fd/1' % os.getppid())"),
    reaching("a report written into every door of every process", DOORS),
    reaching(
        "a report written by a child of the project",
        f"import subprocess, sys\ntext = {DOORS!r}\nsubprocess.call([sys.executable, '-c', text])",
    ),
    reaching(
        "a report written by a process that has left the run",
        f"import os, time\ntext = {DOORS!r}\nif not os.fork():\n    os.setsid()\n    os.fork() and os._exit(0)\n"
        "    exec(text)\n    os._exit(0)\ntime.sleep(0.5)",
    ),
    reaching("a report in the place of a supervisor that was ended", DOORS + KILLER, Reason.EXITED, alone=True),
]
