"""What reaches for the channel between a harness and its host: as texts of Python, and as revisions of the project."""

from __future__ import annotations

#: Writes a line that says whatever is wanted and an open one, which swallows what comes behind it, into every door.
DOORS = """
import glob, json, os
test = {"id": "test_c0.py::test_it", "outcome": "passed"}
run = {"id": "a", "ending": "completed", "exit_code": 1, "tripwire": True, "tests": [test], "seconds": 1}
for door in glob.glob("/proc/*/fd/[0-9]*"):
    if door.split("/")[2] in ("self", "thread-self", str(os.getpid())):
        continue
    try:
        end = os.open(door, os.O_WRONLY | os.O_NONBLOCK)
        os.write(end, json.dumps({"run": run}).encode() + b'\\n{"x": ')
        os.close(end)
    except OSError:
        pass
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
