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
    node("the oracle's file, found by the stack and read", NODE_FILE),
    node("the test that has the oracle's name is not run", NODE_RUNNER),
    node("the failure of the oracle's test is swallowed", NODE_LATE),
]
