"""Forty attacks by somebody who had read all of the harness, listed with what was expected before any was played."""

from __future__ import annotations

_NAMESPACE = """\
import ctypes, os
c = ctypes.CDLL(None)
done = False
pid = os.fork()
if not pid:
    os._exit(0 if c.unshare(0x10000000) == 0 or os.geteuid() == 0 and c.unshare(0x20000) == 0 else 1)
done = os.waitpid(pid, 0)[1] == 0
"""
_CLONED = """\
import ctypes, errno, os, platform
call = ctypes.CDLL(None, use_errno=True).syscall
number = 56 if platform.machine() == "x86_64" else 220
pid = call(number, 0x10000000 | 17, 0, 0, 0, 0)
if not pid:
    os._exit(0)
done = pid > 0 and os.waitpid(pid, 0)[1] == 0
"""
_KEYS = """\
try:
    with open("/proc/keys") as file:
        done = "keyring" in file.read()
except OSError:
    done = False
"""

#: Each sets ``done`` to whether it has reached what it is after.
TEXTS = {
    "a user namespace by unshare": _NAMESPACE,
    "a user namespace by clone": _CLONED,
    "what the keys of the machine are called": _KEYS,
}

#: Sends every signal to the first process.
SIGNALS = """\
import os, time
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
time.sleep(0.5)
done = True
"""

#: Writes without end into the socket of the run's report, from more processes than are read from at once.
ENDLESS = """\
import os, stat, time
for number in range(3, 64):
    try:
        if not stat.S_ISSOCK(os.fstat(number).st_mode):
            continue
    except OSError:
        continue
    for _ in range(40):
        if not os.fork():
            while True:
                os.write(number, b"x" * 65536)
time.sleep(60)
done = True
"""

#: Takes over the place where an isolated oracle meets the project, and says of every command that it ended with 0.
TAKEN = """\
import os, socket, time
if os.fork() == 0:
    os.setsid()
    for place in ("/meet/crab.sock", "\\0crab"):
        listener = socket.socket(socket.AF_UNIX)
        try:
            if os.path.lexists(place):
                os.unlink(place)
            listener.bind(place)
            if place[0] == "/":
                os.chmod(place, 0o777)
        except (OSError, ValueError):
            continue
        listener.listen(16)
        while os.fork() == 0:
            while True:
                listener.accept()[0].sendall(b"0\\n")
    os._exit(0)
time.sleep(1)
"""

#: Meets the project's end of an isolated oracle as a guest, in either runtime.
MEET = """\
import array, os, socket, time
def meet():
    place = socket.socket(socket.AF_UNIX)
    try:
        place.connect("/meet/crab.sock")
    except OSError:
        place.connect("\\0crab")
    place.settimeout(20)
    return place
def say(line):
    with meet() as place:
        place.sendall(line)
        place.recv(100)
"""

#: What a guest does so that the project's end would go away; each ends by itself unless it is ended.
GUESTS = {
    "a line that no parser follows to its end": "say(b'[' * 100000 + b'\\n')\n",
    "a number that is no signal's": """\
for digits in (3, 10, 20, 300, 5000):
    with meet() as place:
        one = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
        place.sendmsg([b'{"argv": ["-c", "import time; time.sleep(9)"], "env": {}}\\n'], one)
        time.sleep(0.3)
        place.sendall(b"9" * digits + b"\\n")
        place.recv(100)
""",
    "a guest for every descriptor": """\
pids = []
for _ in range(8):
    pid = os.fork()
    if pid:
        pids.append(pid)
        continue
    try:
        guests = [meet() for _ in range(600)]
        time.sleep(4)
    finally:
        os._exit(0)
for pid in pids:
    os.waitpid(pid, 0)
""",
    "descriptors without end": """\
guests = [meet() for _ in range(60)]
handed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
for _ in range(100):
    for guest in guests:
        try:
            guest.sendmsg([b" "], handed)
        except OSError:
            continue
time.sleep(2)
""",
}

_APPROX = "import forge\nimport pytest\ndef test_it():\n    assert 1.0 == pytest.approx(5.0)\n"
_OTHER = """\
import pytest, sys, types
class Equal:
    def __eq__(self, other):
        return True
other = types.ModuleType("pytest")
vars(other).update(vars(pytest))
other.approx = lambda number: Equal()
sys.modules["pytest"] = other
"""
_CLASS = """\
import {module}
class Equal:
    def __eq__(self, other):
        return True
class Other(type({module})):
    def __getattribute__(self, name):
        return (lambda *_: Equal()) if name == "{name}" else super().__getattribute__(name)
{module}.__class__ = Other
"""

#: From a second list of forty: a red oracle, and the project that makes it green in its process.
REPLACING = {
    "the defaults of a function of pytest": (
        _APPROX, "import pytest\npytest.approx.__defaults__ = (1e9, 1e9, True)\n",
    ),
    "a built-in name put before Python's in pytest": (
        _APPROX, "import pytest, sys\nsys.modules[pytest.approx.__module__].abs = lambda number: 0\n",
    ),
    "another pytest for whoever imports it": (_APPROX, _OTHER),
    "a class of pytest's own module": (_APPROX, _CLASS.format(module="pytest", name="approx")),
    "a class of a module of Python's": (
        "import forge, math\ndef test_it():\n    assert math.isclose(1, 5)\n",
        _CLASS.format(module="math", name="isclose"),
    ),
    "the named defaults of a function of Python's": (
        "import forge, json\ndef test_it():\n    assert json.dumps(dict(b=1, a=2))[2] == 'a'\n",
        "import json\njson.dumps.__kwdefaults__['sort_keys'] = True\n",
    ),
    "a function that one of Python's closes over": (
        "import forge, fractions\ndef test_it():\n    assert fractions.Fraction(1) + fractions.Fraction(2) == 5\n",
        ("import fractions\nfor cell in fractions.Fraction.__add__.__closure__:\n"
        "    cell.cell_contents = lambda one, other: 5\n"),
    ),
    "the built-in names of the oracle's module": (
        "import forge\ndef test_it():\n    assert sorted([3, 1]) == [3, 1]\n",
        ("import builtins, sys\nframe = sys._getframe()\nwhile 'test_c0' not in frame.f_code.co_filename:\n"
        "    frame = frame.f_back\nframe.f_globals['__builtins__'] = {**vars(builtins), 'sorted': list}\n"),
    ),
}  # fmt: skip
