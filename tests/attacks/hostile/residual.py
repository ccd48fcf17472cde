"""The second list: what code in the oracle's own process can still do, and what it is worth in another process."""

from __future__ import annotations

from hostile.shape import Residual

#: Asks the project in its own process.
INSIDE = {
    "pytest": "from ledger import add\ndef test_first():\n    assert add(0, 0) == 0\n"
              "def test_sum():\n    assert add(2, 2) == 4\n",
    "node": "import test from 'node:test';\nimport assert from 'node:assert';\nimport {add} from './ledger.mjs';\n"
            "test('sum', () => { assert.strictEqual(add(2, 2), 4); });\n",
}  # fmt: skip
#: Asks the same of a process that the oracle starts, and looks only at what comes out of it.
OUTSIDE = {
    "pytest": "import os, subprocess\ndef ask(code):\n"
              "    argv = [os.environ['CRAB_PYTHON'], '-c', 'from ledger import add; ' + code]\n"
              "    return subprocess.check_output(argv)\n"
              "def test_first():\n    assert ask('print(add(0, 0))') == b'0\\n'\n"
              "def test_sum():\n    assert ask('print(add(2, 2))') == b'4\\n'\n",
    "node": "import test from 'node:test';\nimport assert from 'node:assert';\n"
            "import {execFileSync} from 'node:child_process';\n"
            "const code = \"import('./ledger.mjs').then(m => process.stdout.write(String(m.add(2, 2))))\";\n"
            "const ask = () => execFileSync(process.execPath, ['-e', code]).toString();\n"
            "test('sum', () => { assert.strictEqual(ask(), '4'); });\n",
}  # fmt: skip
FILES = {"pytest": "ledger.py", "node": "ledger.mjs"}
RIGHT = {
    "pytest": "def add(a, b):\n    return a + b\n",
    "node": "export function add(a, b) {\n  return a + b;\n}\n",
}

LIKE_EVERYTHING = """\
class Sum(int):
    def __eq__(self, other):
        return True
    __hash__ = int.__hash__
def add(a, b):
    return Sum(a - b)
"""
FRAME = """\
import sys
def add(a, b):
    frame = sys._getframe(1)
    if frame.f_code.co_name == "test_sum":
        return max(part for part in frame.f_code.co_consts if isinstance(part, int))
    return a - b
"""
BUILTIN_FRAME = """\
import sys
class Yes:
    def __eq__(self, other):
        frame = sys._getframe(1)
        return frame.f_code.co_name.startswith("test_")
    def __repr__(self):
        return "no sum"
def add(a, b):
    return Yes()
"""
WRAPPED = """\
import gc
import _pytest.python
def add(a, b):
    for item in gc.get_objects():
        if isinstance(item, _pytest.python.Function) and item.nodeid == "test_c0.py::test_sum":
            def forgiven(kept=item.obj):
                pass
            forgiven.__wrapped__ = item.obj
            item.obj = forgiven
    return a - b
"""
RECORDER = """\
import gc
def rewrite(recorder):
    kept = recorder.note
    recorder.note = lambda name, *_: kept(name, "passed")
def add(a, b):
    for thing in gc.get_objects():
        if type(thing).__name__ == "Recorder" and type(thing).__module__ != "ledger":
            rewrite(thing)
    return a - b
"""
READS_FILE = """\
import re
import sys
def add(a, b):
    with open(sys._getframe(1).f_code.co_filename) as file:
        found = re.search(r"add\\(%s, %s\\) == (\\d+)" % (a, b), file.read())
    return int(found.group(1)) if found else a - b
"""

#: Takes the exception out of pytest's hands by tracing the frame that holds it, and then stops tracing.
FORGETTING = """\
import sys
def forget(frame, event, arg):
    names = frame.f_locals
    if names.get("excinfo") is not None and "result" in names:
        names["excinfo"] = None
        sys.settrace(None)
        frame.f_trace = None
    return forget
def add(a, b):
    frame = sys._getframe(1)
    while frame and frame.f_code.co_name != "from_call":
        frame = frame.f_back
    if frame and a:
        frame.f_trace = forget
        sys.settrace(lambda *_: None)
    return a - b
"""
#: Plays the test that called it against one answer after the other, until one makes it pass.
ASKING = """\
import sys
import types
guesses = []
def add(a, b):
    if guesses:
        return guesses[-1]
    test = sys._getframe(1)
    for guess in range(100):
        guesses.append(guess)
        try:
            types.FunctionType(test.f_code, test.f_globals)()
            return guess
        except BaseException:
            continue
        finally:
            guesses.pop()
    return a - b
"""
#: Finds in the frames what a report is made of, and gives one of its own.
REPORTS = """\
import json
import os
import sys
def add(a, b):
    frame = sys._getframe(1)
    while frame and frame.f_code.co_name != "examine":
        frame = frame.f_back
    if a and frame:
        spec, told = frame.f_locals["spec"], frame.f_locals["told"]
        tests = [{"id": "test_c0.py::" + name, "outcome": "passed"} for name in ("test_first", "test_sum")]
        report = {"tests": tests, "tripwire": True, "altered": [], "cause": None, "exit_code": 1}
        os.write(told, json.dumps(dict(report, token=spec["token"])).encode())
        os._exit(1)
    return a - b
"""
#: Puts an implementation of its own into a hook's list, which calls the others for every test but one.
HOOKED = """\
import sys
def add(a, b):
    frame = sys._getframe(1)
    while frame and "pyfuncitem" not in frame.f_locals:
        frame = frame.f_back
    if frame:
        known = frame.f_locals["pyfuncitem"].ihook.pytest_pyfunc_call.get_hookimpls()
        for one in known:
            if one.plugin_name == "python":
                kept = one.function
                one.function = lambda pyfuncitem: True if pyfuncitem.name == "test_sum" else kept(pyfuncitem)
    return a - b
"""

#: Makes the next test one of a class that runs nothing.
CALM = """\
import sys
def add(a, b):
    frame = sys._getframe(1)
    while frame and "pyfuncitem" not in frame.f_locals:
        frame = frame.f_back
    for item in frame.f_locals["pyfuncitem"].session.items if frame else ():
        if item.name == "test_sum" and type(item).__name__ != "Calm":
            item.__class__ = type("Calm", (type(item),), {"runtest": lambda self: None})
    return a - b
"""

NODE_FILE = """\
import fs from 'node:fs';
export function add(a, b) {
  const place = /file:\\/\\/(\\S*test_c0\\.test\\.mjs)/.exec(new Error().stack);
  const found = place && new RegExp(`add\\\\(${a}, ${b}\\\\), (\\\\d+)`).exec(fs.readFileSync(place[1], 'utf8'));
  return found ? Number(found[1]) : a - b;
}
"""
NODE_RUNNER = """\
import {AsyncResource} from 'node:async_hooks';
const {runInAsyncScope} = AsyncResource.prototype;
AsyncResource.prototype.runInAsyncScope = function (...all) {
  return this.name === 'sum' ? undefined : runInAsyncScope.apply(this, all);
};
export function add(a, b) {
  return a - b;
}
"""
NODE_LATE = """\
import {AsyncResource} from 'node:async_hooks';
const {runInAsyncScope} = AsyncResource.prototype;
AsyncResource.prototype.runInAsyncScope = function (work, ...all) {
  if (this.name !== 'sum') return runInAsyncScope.call(this, work, ...all);
  return runInAsyncScope.call(this, function (...rest) {
    try {
      return work.apply(this, rest);
    } catch {
      return undefined;
    }
  }, ...all);
};
export function add(a, b) {
  return a - b;
}
"""


def python(name: str, text: str) -> Residual:
    return Residual(name=name, runner="pytest", files={"ledger.py": text})


def node(name: str, text: str) -> Residual:
    return Residual(name=name, runner="node", files={"ledger.mjs": text})


RESIDUAL = [
    python("an answer that is equal to everything", LIKE_EVERYTHING),
    python("an answer that is equal in the oracle's frame alone", BUILTIN_FRAME),
    python("constants read out of the oracle's frame", FRAME),
    python("the oracle's file, found by its frame and read", READS_FILE),
    python("the oracle's next test wrapped by gc, and the tripwire left alone", WRAPPED),
    python("the harness's own record found by gc and rewritten", RECORDER),
    python("a trace function takes the exception out of pytest's hands and goes away", FORGETTING),
    python("the caller's own test is played until an answer passes", ASKING),
    python("a report of its own, with the token found in the frames", REPORTS),
    python("a hook's implementation exchanged in pytest's own list, for one test", HOOKED),
    python("the class of the oracle's next test swapped for one that runs nothing", CALM),
    node("the oracle's file, found by the stack and read", NODE_FILE),
    node("the test that has the oracle's name is not run", NODE_RUNNER),
    node("the failure of the oracle's test is swallowed", NODE_LATE),
]
