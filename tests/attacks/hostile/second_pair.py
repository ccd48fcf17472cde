"""Attacks by somebody who has not read the harness, in the order in which they were written.

How to add one: append a ``Revision`` (files that make a wrong project look right; ``reason`` is that for which it is
missed, ``command`` the careless command that takes it for right) or a ``Refusal`` (an attempt on the host and its naive
twin) to ``SECOND_PAIR``; see shape.py for the fields, revisions.py and paths.py for examples. The project under attack
is ``ledger.py`` at the tree's root, whose ``add(a, b)`` returns ``a - b``; its oracle wants ``add(0, 0) == 0`` and
``add(2, 2) == 4``. Then run table.py, which writes the page's tables; every test of this folder takes them in.

An attack that is not refused goes to residual.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hostile.second_hand import REFUSED, WITH_KNOWLEDGE
from hostile.shape import Kind, Revision

from pytest_crab.types import Reason

if TYPE_CHECKING:
    from hostile.shape import Attack

#: Asked for ``add`` each time that a test imports it, since the module has no such name.
_EACH_TIME = """\
import sys

def _wrong(a, b):
    return a - b

def __getattr__(name):
    if name != "add":
        raise AttributeError(name)
    try:
        _attack(sys._getframe(1))
    except Exception:
        pass
    return _wrong

"""

_RETURN_AT_ONCE = (
    _EACH_TIME
    + """\
def _attack(frame):
    import ctypes, opcode
    code = frame.f_code
    if sys.version_info < (3, 11):
        at, raw = id(code.co_code) + bytes.__basicsize__ - 1, code.co_code
    else:
        raw = code._co_code_adaptive
        at = id(code) + ctypes.string_at(id(code), sys.getsizeof(code)).index(raw)
    words = [opcode.opmap["LOAD_CONST"], code.co_consts.index(None), opcode.opmap["RETURN_VALUE"], 0]
    ctypes.memmove(at + frame.f_lasti + 2, bytes(words), 4)
"""
)

_SWAPPED = """\
import sys

def quiet():
    import ledger
    ledger.test.__code__ = ledger.kept

frame = sys._getframe()
while frame and not frame.f_code.co_name.startswith("test"):
    frame = frame.f_back
if frame:
    for name, test in list(frame.f_globals.items()):
        if name.startswith("test") and test.__code__ is not frame.f_code:
            kept = test.__code__
            test.__code__ = quiet.__code__
            break

def add(a, b):
    return a - b
"""

_SKIPPING = """\
import sys, types
sys.modules.setdefault("unittest", types.ModuleType("unittest")).SkipTest = AssertionError

def add(a, b):
    return a - b
"""

_AGAIN = """\
import os, sys
if "CRAB_AGAIN" not in os.environ:
    os.environ["CRAB_AGAIN"] = "1"
    os.environ["PYTEST_ADDOPTS"] = os.environ.get("PYTEST_ADDOPTS", "") + " -p quiet"
    os.environ["PYTHONPATH"] = os.path.dirname(os.path.abspath(__file__))
    os.execv(sys.executable, [word for word in sys.orig_argv if word not in ("-I", "-S", "-E", "-P")])

def add(a, b):
    return a - b
"""

_AFTERWARDS = """\
import glob, os, tempfile, time
parent = os.getpid()
if os.fork() == 0:
    os.setsid()
    for _ in range(1000):
        if os.getppid() != parent:
            break
        time.sleep(0.01)
    for place in (os.getcwd(), tempfile.gettempdir()):
        for path in glob.glob(place + "/*.xml"):
            with open(path, "r+") as file:
                text = file.read().replace('failures="1"', 'failures="0"')
                file.seek(0)
                file.write(text)
    os._exit(0)

def add(a, b):
    return a - b
"""

_PACKAGE = """\
import os
__file__ = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/test_c0.py"

def test_first():
    pass

def test_sum():
    pass
"""

_KEYRING = """\
import ctypes, platform
call = ctypes.CDLL(None).syscall
number = 250 if platform.machine() == "x86_64" else 219
text = ctypes.create_string_buffer(64)
named = call(number, 10, -3, b"user", b"crab", 0)
found = max(call(number, 11, key, text, 64) for key in (int("{key}"), named))

def add(a, b):
    return a + b if found > 0 else a - b
"""

_SEGMENT = """\
import ctypes
c = ctypes.CDLL(None)
c.shmat.restype = ctypes.c_void_p
found = c.shmat(c.shmget(int("{segment}"), 0, 0), None, 0o10000)
found = found not in (None, ctypes.c_void_p(-1).value) and ctypes.string_at(found, 2) == b"ok"

def add(a, b):
    return a + b if found else a - b
"""

#: Memory that belongs to no process: files without a name, each within the limit of a file, none of them mapped.
_NAMELESS = """\
import os
block, files = b"x" * (1 << 20), []
for _ in range({memory} // 8):
    files.append(os.memfd_create("hog"))
    for _ in range(16):
        os.write(files[-1], block)

def add(a, b):
    return a + b
"""


#: The libraries that write reports, in XML or in JSON, write others; written with the harness read.
_WRITERS = """\
import json.encoder, xml.etree.ElementTree as trees
encode, text = json.encoder.JSONEncoder.encode, trees.tostring

def encoded(self, report):
    for test in report["tests"]:
        test.update(outcome="passed", exception=None, where=None)
    return encode(self, report)

json.encoder.JSONEncoder.encode = encoded
trees.tostring = lambda *a, **k: text(*a, **k).replace('failures="1"', 'failures="0"')

def add(a, b):
    return a - b
"""


def _wrong(
    name: str, text: str, kind: Kind = Kind.FORGED, reason: Reason = Reason.FAILED, *,
    more: Mapping[str, str] | None = None, **fields: Any,
) -> Revision:  # fmt: skip
    return Revision(kind=kind, name=name, files={"ledger.py": text, **(more or {})}, reason=reason, **fields)


REVISED: list[Attack] = [
    _wrong(
        "the running test's own bytecode is overwritten so that it returns at once", _RETURN_AT_ONCE,
        reason=Reason.TAMPERED,
    ),
    _wrong("the next test's code is swapped for one that swaps it back", _SWAPPED, reason=Reason.TAMPERED),
    _wrong("unittest's SkipTest becomes every failed assertion", _SKIPPING, Kind.REPORTS, Reason.SKIPPED),
    _wrong(
        "the interpreter starts itself again with a plugin of the tree", _AGAIN, Kind.TOOLS, Reason.EXITED,
        more={"quiet.py": "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n"},
    ),
    _wrong(
        "a process that outlives the run rewrites its report", _AFTERWARDS, Kind.REPORTS,
        command="junit", reads="junit",
    ),
    Revision(
        kind=Kind.PLANTED, name="a package with the oracle's name that says it is the oracle's file",
        files={"test_c0/__init__.py": _PACKAGE}, reason=Reason.FAILED,
    ),
    _wrong("a key of the session that started the run", _KEYRING, Kind.LEAKS, confined=True),
    _wrong("shared memory of another process of the host", _SEGMENT, Kind.LEAKS, confined=True),
    _wrong("memory in files without a name", _NAMELESS, Kind.EXHAUSTION, Reason.MEMORY, confined=True, alone=True),
]  # fmt: skip

#: By the same, once the harness had been read; not among those of the first run.
READ: list[Attack] = [
    _wrong(
        "the libraries that write reports write others", _WRITERS, Kind.REPORTS, Reason.TAMPERED,
        command="junit", reads="junit", detail="json.encoder.JSONEncoder.encode",
    ),
    *WITH_KNOWLEDGE,
]  # fmt: skip

SECOND_PAIR: list[Attack] = [*REVISED, *REFUSED]
