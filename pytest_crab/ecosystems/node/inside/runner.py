"""Oracles under node: what is started, the tripwires around them, and how the reports are read; CPython 3.6 up.

Node's own runner is a process of its own that runs no code of the project: its report says what the process below it
told. jest, mocha and vitest run the oracle in their own process, or tell what its process said of itself. mocha's and
vitest's configuration is that of head. What code in the oracle's process can still do is in the docs.
"""

import base64
import json
import os
import re
import signal

#: What a tripwire's failure must say, by its name.
ASSERTED = {
    "plain": "plain", "ok": "ERR_ASSERTION", "equal": "ERR_ASSERTION", "strict": "ERR_ASSERTION",
    "deep": "ERR_ASSERTION", "throws": "ERR_ASSERTION", "rejects": "ERR_ASSERTION", "altered": "altered:",
}  # fmt: skip
WIRES = {
    "node": ASSERTED,
    "mocha": ASSERTED,
    "jest": {
        "plain": "plain", "ok": "toBeTruthy", "equal": "toBe", "strict": "toStrictEqual", "deep": "toEqual",
        "throws": "toThrow", "rejects": "resolved", "altered": "altered:",
    },
    "vitest": {
        "plain": "plain", "ok": "truthy", "equal": "to be", "strict": "strictly equal", "deep": "deeply equal",
        "throws": "throw", "rejects": "resolved", "altered": "altered:",
    },
}  # fmt: skip
WATCH = """
const owners = {Reflect, JSON, Math, process};
for (const name of ['Object', 'Promise', 'Array', 'String', 'Number', 'Error', 'Map', 'Set', 'RegExp', 'Function']) {
  owners[name] = globalThis[name];
  owners[name + '.prototype'] = globalThis[name].prototype;
}
const seen = [];
const {getOwnPropertyNames, getOwnPropertyDescriptor} = Object;
const watch = (label, owner) => {
  for (const key of getOwnPropertyNames(owner)) {
    const value = getOwnPropertyDescriptor(owner, key).value;
    if (typeof value === 'function') seen.push([label + '.' + key, owner, key, value]);
  }
};
const altered = () => {
  const found = [];
  for (const [label, owner, key, value] of seen) {
    const now = getOwnPropertyDescriptor(owner, key);
    if (!now || now.value !== value) found.push(label);
  }
  if (Faults.prepareStackTrace !== prepare) found.push('Error.prepareStackTrace');
  return 'altered:' + Buffer.from(stringify(found)).toString('base64');
};
const {stringify} = JSON, Faults = Error, prepare = Error.prepareStackTrace;
"""

#: The tests that must fail by node's own assertions, or by ``expect``.
ASSERTING = """\
if (fault) test('%(n)s load', () => { throw fault.error; });
test('%(n)s plain', () => { throw new Fault('%(n)s plain'); });
test('%(n)s ok', () => ok(%(v)d === %(v)d + 1));
test('%(n)s equal', () => equal(%(v)d, %(v)d + 1));
test('%(n)s strict', () => strictEqual(%(v)d, %(v)d + 1));
test('%(n)s deep', () => deepStrictEqual({a: [%(v)d]}, {a: [%(v)d + 1]}));
test('%(n)s throws', () => throws(() => %(v)d));
test('%(n)s rejects', () => rejects(async () => %(v)d));
"""
EXPECTING = """\
if (fault) test('%(n)s load', () => { throw fault.error; });
test('%(n)s plain', () => { throw new Fault('%(n)s plain'); });
test('%(n)s ok', () => { expect(%(v)d === %(v)d + 1).toBeTruthy(); });
test('%(n)s equal', () => { expect(%(v)d).toBe(%(v)d + 1); });
test('%(n)s strict', () => { expect({a: [%(v)d]}).toStrictEqual({a: [%(v)d + 1]}); });
test('%(n)s deep', () => { expect({a: [%(v)d]}).toEqual({a: [%(v)d + 1]}); });
test('%(n)s throws', () => { expect(() => %(v)d).toThrow(); });
test('%(n)s rejects', async () => { await expect(Promise.resolve(%(v)d)).rejects.toThrow(); });
test('%(n)s altered', () => { throw new Fault(altered()); });
"""

#: The file that node's runner is given: removes itself, so that no code can read what the tripwires are called,
#: imports the oracle, then adds tests that must fail.
NODE_ENTRY = """\
import nodeTest from 'node:test';
import assert from 'node:assert';
import {Buffer} from 'node:buffer';
import {unlinkSync} from 'node:fs';
import process from 'node:process';
unlinkSync(process.argv[1]);
const {test} = nodeTest;
const {equal, strictEqual, deepStrictEqual, ok, throws, rejects} = assert;
%(watch)s
for (const [label, owner] of [...Object.entries(owners), ['test', nodeTest], ['assert', assert],
                              ['assert.strict', assert.strict]]) watch(label, owner);
for (let owner = process.stdout; owner && owner !== Object.prototype; owner = Object.getPrototypeOf(owner)) {
  watch('process.stdout', owner);
}
const Fault = Error, exit = process.exit.bind(process), later = setTimeout, {write} = process.stdout;
%(started)s
let fault = null;
try {
  await import(%(oracle)s);
} catch (error) {
  fault = {error};
}
%(asserting)stest('%(n)s altered', () => {
  later(exit, 300).unref();
  if (process.stdout.write !== write) seen.push(['process.stdout.write', {}, 'write', null]);
  throw new Fault(altered());
});
"""

#: The reporter, loaded by the runner's own process: JUnit, and what JUnit leaves out of tests that hold others.
NODE_REPORTER = """\
import {junit} from 'node:test/reporters';
import {Buffer} from 'node:buffer';
import process from 'node:process';
export default async function* (source) {
  const stack = [], parents = [];
  let memory = false;
  const seen = async function* () {
    for await (const event of source) {
      const {type, data} = event;
      if (type === 'test:start') {
        stack.length = data.nesting;
        stack[data.nesting] = [data.name, 0];
        if (data.nesting && stack[data.nesting - 1]) stack[data.nesting - 1][1] += 1;
      } else if (type === 'test:fail' || type === 'test:pass') {
        const error = data.details?.error, own = stack[data.nesting];
        const state = data.skip !== undefined ? 'skipped' : data.todo !== undefined ? 'todo' : null;
        const suite = data.details?.type === 'suite';
        if (own && own[1] && (!suite || state || (error && error.failureType !== 'subtestsFailed'))) {
          const path = stack.slice(0, data.nesting + 1).map(([name]) => String(name));
          const outcome = state ?? (type === 'test:pass' ? 'passed' : 'failed');
          parents.push([path, outcome, String(error?.cause?.name ?? '').slice(0, 80)]);
        }
      } else if (type === 'test:stdout' || type === 'test:stderr') {
        const text = String(data.message);
        if (text.includes('heap out of memory')) memory = true;
        process.stderr.write(text);
      }
      yield event;
    }
  };
  yield* junit(seen());
  yield `\\n<!-- crab:${Buffer.from(JSON.stringify({parents, memory})).toString('base64')} -->\\n`;
}
"""

#: The file that jest is given; jest puts test and expect in place.
JEST_ENTRY = """\
'use strict';
const {test, expect} = globalThis;
%(watch)s
for (const [label, owner] of Object.entries(owners)) watch(label, owner);
watch('expect', expect);
const Fault = Error;
let fault = null;
try {
  require(%(oracle)s);
} catch (error) {
  fault = {error};
}
%(expecting)s"""
JEST = ["--ci", "--runInBand", "--json", "--forceExit", "--no-watchman", "--coverage=false", "--reporters=default"]

#: The file that vitest is given, and the configuration around the project's own.
VITEST_ENTRY = """\
import {test, expect} from 'vitest';
%(watch)s
for (const [label, owner] of Object.entries(owners)) watch(label, owner);
watch('expect', expect);
const Fault = Error;
let fault = null;
try {
  await import(%(oracle)s);
} catch (error) {
  fault = {error};
}
%(expecting)s"""
VITEST_CONFIG = """\
%(import)s
const given = (typeof own === 'function' ? await own({command: 'serve', mode: 'test'}) : await own) ?? {};
const test = {
  ...given.test, dir: undefined, include: [%(entry)s], exclude: [], includeSource: [], reporters: undefined,
  outputFile: undefined, coverage: {enabled: false}, typecheck: {enabled: false}, browser: undefined, watch: false,
  retry: 0, bail: 0, testNamePattern: undefined, sequence: {...given.test?.sequence, shuffle: false, concurrent: false},
};
delete test.workspace;
delete test.projects;
export default {...given, test};
"""

#: The file that mocha is given, which puts ``describe`` or ``suite`` in place, and runs the tests outside of it first.
MOCHA_ENTRY = """\
import assert from 'node:assert';
import {unlinkSync} from 'node:fs';
import {createRequire} from 'node:module';
unlinkSync(new URL(import.meta.url));
const test = globalThis.it || globalThis.test, suite = globalThis.describe || globalThis.suite;
const {equal, strictEqual, deepStrictEqual, ok, throws, rejects} = assert;
%(watch)s
for (const [label, owner] of [...Object.entries(owners), ['assert', assert], ['assert.strict', assert.strict]]) {
  watch(label, owner);
}
const Fault = Error;
let fault = null;
try {
  createRequire(import.meta.url)(%(oracle)s);
} catch (error) {
  fault = {error};
}
if (['ERR_REQUIRE_ESM', 'ERR_REQUIRE_ASYNC_MODULE'].includes(fault?.error?.code)) {
  fault = await import(%(oracle)s).then(() => null, error => ({error}));
}
suite('%(n)s', () => {
%(asserting)stest('%(n)s altered', () => { throw new Fault(altered()); });
});
"""
#: The project's own configuration without what names tests, or what else is told by the harness.
MOCHA_CONFIG = """\
'use strict';
const {loadConfig} = require(%(loader)s);
const own = {...%(package)s, ...(%(config)s ? loadConfig(%(config)s) : {})};
const dropped = [
  '_', 'spec', 'reporter', 'reporters', 'reporter-option', 'reporter-options', 'reporterOption', 'reporterOptions', 'R',
  'O', 'parallel', 'p', 'jobs', 'j', 'watch', 'w', 'forbid-only', 'forbidOnly', 'forbid-pending', 'forbidPending',
  'delay', 'grep', 'g', 'fgrep', 'f', 'invert', 'i', 'bail', 'b', 'dry-run', 'dryRun', 'sort', 'S', 'retries', 'ignore',
  'exclude', 'config', 'package', 'opts', 'allow-uncaught', 'allowUncaught', 'recursive', 'pass-on-failing-test-suite',
];
for (const key of dropped) delete own[key];
module.exports = own;
"""
#: The reporter: which tests there were, with the whole path of their names, in the form of jest's report.
MOCHA_REPORTER = """\
'use strict';
const {writeFileSync} = require('fs');
const {stringify} = JSON;
module.exports = function (runner) {
  const found = [];
  const add = status => (test, error) => {
    const titles = [];
    for (let one = test; one && !one.root; one = one.parent) titles.unshift(String(one.title));
    if (titles[0] === '%(n)s') titles.shift();
    const text = error ? `${error.stack || error}\\n${error.code || ''}` : '';
    found.push({ancestorTitles: titles.slice(0, -1), title: titles.at(-1), status, failureMessages: [text]});
  };
  runner.on('pass', add('passed'));
  runner.on('fail', add('failed'));
  runner.on('pending', add('pending'));
  runner.once('end', () => {
    writeFileSync(%(report)s, stringify({testResults: [{status: 'failed', assertionResults: found}]}));
  });
};
"""
MOCHA_CONFIGS = [".mocharc.cjs", ".mocharc.js", ".mocharc.yaml", ".mocharc.yml", ".mocharc.jsonc", ".mocharc.json"]
VITEST_CONFIGS = [
    "%s.config.%s" % (name, end) for name in ("vitest", "vite") for end in ("ts", "mts", "cts", "js", "mjs", "cjs")
]
#: Names of files that say how tests are run; what they import is the project's.
CONFIGURATION = re.compile(r"(?:\.mocharc(?:\.\w+)?|(?:vitest|vite)\.(?:config|workspace|projects)\.\w+)\Z")
#: What follows an error's type where a package is not installed; files that are not there are named by a path.
MISSING = re.compile(
    r"(?: \[\w+\])?: (?:Cannot find (?:package|module) '|Failed to (?:resolve import \"|load url ))(?![./]|file:)"
)
#: The first release that is driven here, and one to pin.
RELEASES = {"jest": (0, "29.7.0"), "mocha": (8, "11.1.0"), "vitest": (2, "3.0.5"), "karma": (0, "6.4.4")}


class MissingError(Exception):
    """Something that the oracle needs is not in the environment; the text says what to do."""


def run(host, run, program=None):
    """Run one oracle; node's own runner is a process that no code of the project reaches but through what it prints.

    With a program the project runs as another user, and the oracle reaches it by that program alone.
    """
    root = host.root(program)
    env, _ = host.environment()
    env["CRAB_PROGRAM"] = program or host.job["tools"]["node"]["program"]
    try:
        spec = arrange(host, run["oracle"], root, program)
    except MissingError as error:
        return {"ending": "unstarted", "detail": str(error)}
    host.protect(os.path.join(spec["root"], spec["file"]), label="oracle")
    seen = host.process(spec["argv"], env, root, run["seconds"], printed=spec["runner"] == "node")
    return host.conclude(seen, lambda data, code: read(host, spec, data, code))


def put_back(host, state):
    """Put back what a state changes in a node_modules folder, or in how tests are run, and so does its build.

    What is installed is the environment's and no diff's, and configuration is code beside the oracle.
    """
    tree, job, since = host.tree, host.job, host.built_since
    places = set()
    for path, _, _ in job["states"][state]:
        parts = path.split("/")
        if "node_modules" in parts:
            places.add("/".join(parts[: parts.index("node_modules") + 1]))
        elif CONFIGURATION.match(parts[-1]):
            places.add(path)
    for place in places:
        tree.put_back(job["tree"], job["workdir"], place)
    if since is not None:
        for place in kept_places(job["tree"]):
            tree.mend(job["tree"], job["workdir"], place, since)
        for name in os.listdir(job["workdir"]):
            if CONFIGURATION.match(name):
                tree.mend(job["tree"], job["workdir"], name, since)


def kept_places(root):
    """Return the outermost node_modules folders of a tree, and its files that say how tests are run."""
    found = []
    for folder, folders, files in os.walk(root):
        named = [name for name in (*folders, *files) if name == "node_modules" or CONFIGURATION.match(name)]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in named]
        folders[:] = [name for name in folders if name != "node_modules"]
    return found


def arrange(host, oracle, root, program):
    """Write the oracle into the tree and what goes with it into a private folder; return the spec for ``read``.

    The oracle lies at the tree's root, so that it finds the project by relative paths and node_modules as node does.
    An isolated one lies where nothing of the project is.
    """
    tree, job, name = host.tree, host.job, host.token()
    file = os.path.basename(oracle["file"])
    runner = oracle["runner"]
    root, private = os.path.realpath(root), os.path.join(host.folder, "oracle")
    spec = {"name": name, "file": file, "root": root, "runner": runner, "report": os.path.join(private, "report.json")}
    spec["wires"] = {"%s %s" % (name, wire): said for wire, said in WIRES[runner].items()}
    words = {"n": name, "v": int.from_bytes(os.urandom(4), "big"), "watch": WATCH, "report": json.dumps(spec["report"])}
    words.update(asserting=ASSERTING % words, expecting=EXPECTING % words)
    words["started"] = "" if program is None else "process.execPath = %s;" % json.dumps(program)
    words["oracle"] = json.dumps("file://" + quote(os.path.join(root, file)) if runner == "node" else "./" + file)
    tree.apply(root, [[file, "100644", oracle["source"]]], decode=str.encode)

    def put(path, text):
        with open(path, "w") as out:
            out.write(text % words)
        return path

    def beside(end, text):
        tree.apply(job["workdir"], [[name + end, "100644", text % words]], decode=str.encode)
        return name + end

    started = [job["tools"]["node"]["program"]]
    if runner == "node":
        spec["entry"] = put(os.path.join(private, "oracle.test.mjs"), NODE_ENTRY)
        reporter = put(os.path.join(private, "reporter.mjs"), NODE_REPORTER)
        started += [*job["tools"]["node"]["options"], "--no-warnings", "--test"]
        spec["argv"] = [*started, "--test-reporter=" + reporter, "--test-reporter-destination=stdout", spec["entry"]]
        return spec
    program = program_of(job["workdir"], runner)
    started.append(program)
    if runner == "jest":
        entry = beside(".test.js", JEST_ENTRY)
        spec["argv"] = [*started, *JEST, "--outputFile=" + spec["report"]]
        spec["argv"] += ["--cacheDirectory=" + os.path.join(private, "cache"), "--runTestsByPath", entry]
    elif runner == "vitest":
        entry = beside(".test.mjs", VITEST_ENTRY)
        own = first(job["workdir"], VITEST_CONFIGS)
        words.update(entry=json.dumps(entry))
        words["import"] = "import own from %s;" % json.dumps("./" + own) if own else "const own = {};"
        config = beside(".config.mjs", VITEST_CONFIG)
        spec["argv"] = [*started, "run", "--config", config, "--reporter=json", "--outputFile=" + spec["report"], entry]
    else:
        own = first(job["workdir"], MOCHA_CONFIGS)
        words["config"] = json.dumps(os.path.join(root, own) if own else "")
        words["package"] = json.dumps(manifest(job["tree"]).get("mocha") or {})
        words["loader"] = json.dumps(os.path.join(os.path.dirname(os.path.dirname(program)), "lib", "cli", "config"))
        config = put(os.path.join(private, "mocharc.cjs"), MOCHA_CONFIG)
        reporter = put(os.path.join(private, "reporter.cjs"), MOCHA_REPORTER)
        spec["argv"] = [*started, "--config", config, "--no-package", "--full-trace", "--exit", "--reporter", reporter]
        spec["argv"].append(beside(".test.mjs", MOCHA_ENTRY))
    return spec


def first(folder, names):
    """Return the first of these names that a file in the folder has; None if none has one."""
    return next((name for name in names if os.path.isfile(os.path.join(folder, name))), None)


def manifest(folder):
    """Return what package.json in a folder says; nothing where it cannot be read."""
    try:
        with open(os.path.join(folder, "package.json"), encoding="utf-8") as file:
            said = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def program_of(workdir, runner):
    """Return the file that a runner is started by, as its own package says. Raises MissingError."""
    package = os.path.realpath(os.path.join(workdir, "node_modules", runner))
    said = manifest(package)
    named = said.get("bin")
    named = named.get(runner) if isinstance(named, dict) else named
    found = os.path.normpath(os.path.join(package, str(named)))
    least, usual = RELEASES[runner]
    if not named or not os.path.isfile(found):
        raise MissingError(
            "%s is not in the environment (the built tree has no node_modules/%s): pin it in environment.packages, as "
            "%s@%s, or let a command of environment.install install it" % (runner, runner, runner, usual)
        )
    release = re.match(r"\d+", str(said.get("version")))
    if release is None or int(release.group()) < least:
        raise MissingError(
            "%s %s is in the environment, and its oracles need %d.0 or later: pin it in environment.packages, as %s@%s"
            % (runner, str(said.get("version"))[:80], least, runner, usual)
        )
    return found


def quote(path):
    """Return a path as it stands in a file URL."""
    safe = re.compile(rb"[A-Za-z0-9/._~@+-]")
    return "".join(chr(byte) if safe.match(bytes([byte])) else "%%%02X" % byte for byte in os.fsencode(path))


# --- reading ---------------------------------------------------------------------------------------------------------


def read(host, spec, data, code):
    """Return the report that a run left, or None and what is wrong with it; ``data`` is what node's runner printed."""
    if spec["runner"] == "node":
        entries, extra = told_by_node(host, data.decode("utf-8", "replace"), spec)
    else:
        ((_, entries, unloaded),) = told_as_json(host.reports.text_of(spec["report"]))
        entries, extra = entries if unloaded is None else [(("session",), "failed", "")], {}
    if extra.get("signal"):
        name = "SIGKILL" if extra.get("memory") else extra["signal"]
        return {"signal": int(getattr(signal, name, signal.SIGABRT))}, None
    faulty = sum(outcome == "failed" for _, outcome, _ in entries)
    if code != (min(faulty, 255) if spec["runner"] == "mocha" else min(faulty, 1)):
        return None, "the report and exit code %d do not agree" % code
    return dict(report(host, spec, entries), exit_code=min(code, 1)), None


def report(host, spec, entries):
    """Split what was told into the oracle's tests and the tripwires."""
    wires, tests, order, changed, used = {}, [], [], [], {}
    for path, outcome, text in entries:
        name = path[0] if len(path) == 1 else ""
        order.append(name in spec["wires"])
        if name in spec["wires"]:
            wires[name] = outcome == "failed" and spec["wires"][name] in text
            if name.endswith(" altered"):
                changed = labels(text)
            continue
        loading = name == spec["name"] + " load"
        label = "session" if loading else " > ".join(path)[: host.TEST]
        used[label] = used.get(label, 0) + 1
        label += " #%d" % used[label] if used[label] > 1 else ""
        if loading or outcome == "failed":
            host.quote(label, text)
        exception, where = describe(spec, text[: host.TEXT]) if outcome == "failed" else (None, None)
        tests.append({"id": label, "outcome": "error" if loading else outcome, "exception": exception, "where": where})
    count = len(spec["wires"])
    whole = len(order) >= count and all(order[-count:]) and sum(order) == count and all(wires.values())
    return host.completed(tests, whole if wires else None, changed)


def labels(text):
    """Return the names that the last tripwire found replaced."""
    found = re.search(r"altered:([A-Za-z0-9+/=]+)", text)
    try:
        listed = json.loads(base64.b64decode(found.group(1)).decode())
        return [str(label) for label in listed]
    except (ValueError, AttributeError, TypeError):
        return ["harness.altered"]


def describe(spec, text):
    """Return the exception's type and the innermost line of the tree that it came through; never its message.

    The type of one that is raised for a package which is not installed is ``MissingPackage``.
    """
    found = re.search(
        r"\A\s*([A-Za-z_$][\w$]*)" if spec["runner"] != "node" else r"\n[ \t]*cause: \[?([A-Za-z_$][\w$]*)", text
    )
    exception = found.group(1) if found else None
    if exception == "Error" and MISSING.match(text, found.end()):
        exception = "MissingPackage"
    for path, line in re.findall(r"(?m)^[ \t]+at .*?%s/([^\s():]+):(\d+)(?::\d+)?\)?$" % re.escape(spec["root"]), text):
        if path != spec["file"] and "node_modules/" not in path and not path.startswith(spec["name"]):
            return exception, "%s:%s" % (path, line)
    return exception, None


def told_by_node(host, text, spec):
    """Return (path, outcome, text of the failure) for every test of a JUnit report, and what was said besides."""
    if not text:
        raise EOFError("there is no report")
    entries = [(path, outcome, said) for path, outcome, said, _ in host.reports.junit(text)]
    (said,) = re.findall(r"(?m)^<!-- crab:([A-Za-z0-9+/=]+) -->$", text)
    extra = json.loads(base64.b64decode(said).decode())
    for path, state, exception in extra["parents"]:
        outcome = "xfailed" if state == "todo" else state
        entries.insert(0, (tuple(map(str, path)), outcome, "\n  cause: %s" % exception))
    whole = [entry for entry in entries if entry[0] != (spec["entry"],)]
    if len(whole) != len(entries):  # the file itself: the process below ended in another way than by its tests
        found = re.search(r"signal: '(SIG[A-Z]+)'", entries[-1][2])
        extra["signal"] = found.group(1) if found else None
    return whole, extra


def told_as_json(text):
    """Return (name, tests, why it did not load) for each file of jest's or vitest's report, or mocha's or karma's here.

    A test is (path, outcome, text of the failure); the last is None for a file that loaded.
    """
    said, files = json.loads(text), []
    for result in said["testResults"]:
        tests = []
        for test in result["assertionResults"]:
            words = "\n".join(map(str, test.get("failureMessages") or ()))
            outcome = test["status"] if test["status"] in ("passed", "failed") else "skipped"
            path = tuple(map(str, (*test["ancestorTitles"], test["title"])))
            tests.append((path, outcome, re.sub("\x1b\\[[0-9;]*m", "", words)))
        unloaded = result["status"] == "failed" and not tests
        files.append((result.get("name") or "", tests, str(result.get("message")) if unloaded else None))
    failed = sum(outcome == "failed" for _, tests, _ in files for _, outcome, _ in tests)
    if said.get("numFailedTests", failed) != failed:
        raise ValueError("the counts do not agree")
    return files
