"""Runs one oracle under pytest inside the child: the recorder, the tripwires and the check for tampering.

It works from CPython 3.6 and pytest 3.2 up. pytest and what it needs are imported before any path of the project is in
place; what code in the same process can still do is in the docs: this raises the price, it proves nothing.
"""

import errno
import gc
import glob
import importlib
import io
import json
import locale
import os
import sys
import time
import types

#: What Python says when it may have no more threads.
NO_THREAD = "can't start new thread"

TESTS = 5000
NAMES = 200
#: Far more than a project replaces: a list that is cut would not be that of the reference.
LABELS = 5000
OPTIONS = ["--noconftest", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--assert=plain", "--tb=no", "-q"]
OPTIONS += ["--continue-on-collection-errors", "--capture=no", "-rN"]
WORST = ("passed", "xpassed", "xfailed", "skipped", "error", "failed")

TRIPWIRE = """
import unittest
import pytest
class {n}E(Exception):
    pass
def test_{n}_plain():
    raise {n}E()
def test_{n}_assert():
    assert [{v}] == [{v} + 1]
class Test{n}(unittest.TestCase):
    def test_{n}_unit(self):
        self.assertEqual({v}, {v} + 1)
def test_{n}_raises():
    with pytest.raises({n}E):
        pass
def test_{n}_builtins():
    assert any([False]) or sorted([{v}, 0]) == [{v}, 0] or len("{n}") == 0 or not isinstance({v}, int)
"""

_state = {}
_exit, _write, _dumps = os._exit, os.write, json.dumps


def prepare(host):
    """Import pytest before any run, so that each has it; what is wrong with the environment's, None if nothing."""
    job = host.job
    try:
        if job["bytecode"] is not None:
            take_bytecode(job["workdir"], job["bytecode"])
        preload(job["site"], host.parts["python_tampering"])
    except Exception as error:  # noqa: BLE001 - whatever the environment's pytest does on import, it is said and nothing runs
        return "pytest cannot be imported: " + told_of(error)
    return None


def run(host, run, interpreter=None):
    """Run one oracle under pytest, in a child that imports nothing of the project before pytest.

    With an interpreter the project runs as another user, and the oracle reaches it by that program alone.
    """
    job, processes = host.job, host.processes
    env, roots = host.environment()
    token = host.token()
    spec = write(host, run["oracle"])
    spec.update(env=env, roots=roots, site=job["site"], cwd=host.root(interpreter), token=token)
    env["CRAB_PROGRAM"] = env["CRAB_PYTHON"] = interpreter or sys.executable
    if interpreter is not None:
        spec.update(roots=[], python=interpreter)

    def start(told):
        job.clear()
        processes.set_dumpable(False)  # what an oracle starts is of its user, and may be the project
        try:
            plugins = enter(spec)
        except Exception as error:  # noqa: BLE001 - no code of the project has run yet, so it is the environment's fault
            os.write(told, json.dumps({"token": token, "fault": told_of(error)}).encode())
            return
        examine(spec, plugins, told)

    seen = host.watch(start, run["seconds"], report=True)
    return host.conclude(seen, lambda data, code: understand(data, token, code))


def told_of(error):
    """Return an exception as a sentence has it."""
    return "%s: %s" % (type(error).__name__, str(error)[:300])


def understand(data, token, code):
    """Return the report in ``data``, or None and what is wrong with it."""
    try:
        report = json.loads(data.decode())
        if report["token"] == token and "fault" in report:
            return {"fault": str(report["fault"])[:400]}, None
        told = {name: report[name] for name in ("tests", "tripwire", "altered", "cause")}
        told["tests"] = [{str(name): value for name, value in test.items()} for test in told["tests"]]
        outcomes = {test["outcome"] for test in told["tests"]}
        known = outcomes <= {"passed", "failed", "error", "skipped", "xfailed", "xpassed"}
        known = known and told["cause"] in (None, "memory", "processes")
        if report["token"] != token or not known:
            raise ValueError  # noqa: TRY301
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, "the process ended without a report" if not data else "the report is not well-formed"
    if report["exit_code"] != code:
        return None, "the report says exit code %s, the process ended with %s" % (str(report["exit_code"])[:9], code)
    return told, None


def take_bytecode(workdir, compiled):
    """Let imports from the work folder take bytecode from a folder that the image has, in place of ``__pycache__``.

    Python compares its digest with the source that it is to stand for, and compiles where the two differ. No process
    of a sandbox can write there.
    """
    import importlib.util  # which keeps the function as it is, for those who ask for it by name

    loading = importlib._bootstrap_external  # noqa: SLF001 - the loader asks there, and has no other place to be told
    below = os.path.join(workdir, "")
    usual = loading.cache_from_source

    def cache_from_source(path, *more, **named):
        if type(path) is str and path.startswith(below):
            return os.path.join(compiled, path[len(below) :]) + "c"
        return usual(path, *more, **named)

    loading.cache_from_source = cache_from_source


def preload(site, tampering):
    """Import pytest from the environment's own folders and remember what it looks like."""
    gc.disable()  # imports make no garbage, so no collection is tried meanwhile
    sys.path[:] = [path for path in sys.path if path]
    _state["stdlib"] = list(sys.path)
    sys.path.extend(site)
    set_prefix()
    import site as packages

    packages.setquit()
    packages.setcopyright()
    packages.sethelper()
    import unittest

    import _pytest.config
    import pytest

    manager = _pytest.config.PytestPluginManager
    manager.load_setuptools_entrypoints = lambda *_, **__: 0  # old versions know no switch for it
    for name in _pytest.config.default_plugins:
        importlib.import_module("_pytest." + name)
    for name in ("pdb", "readline"):  # each session of pytest imports these; Python may lack the second
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    keep_config(_pytest.config)
    keep_fixtures()
    tell_no_failure()
    _state["main"], _state["unittest"] = pytest.main, unittest
    _state["loaded"] = {
        name.partition(".")[0]
        for name, module in list(sys.modules.items())
        if tampering.lies_in(getattr(module, "__file__", None) or "", site)
    }
    places = list(tampering.watched_places())
    watched = {module.__name__: module for module, _ in places if sys.modules.get(module.__name__) is module}
    _state["tampering"], _state["spaces"] = tampering, tampering.spaces_of(places)
    _state["before"] = tampering.Held(tampering.snapshot(places) + tampering.imported(watched))
    if hasattr(gc, "freeze"):  # what is loaded by now is shared by every run, and no collection need look at it again
        gc.freeze()
    gc.enable()


def keep_config(config):
    """Make the settings and plugins that the first session of each run takes; later sessions of a run make their own.

    They are made for ``OPTIONS``, so the first session must be given these; its other options may name no plugin, stop
    none and change nothing of how plugins are loaded. That is a third of what pytest does for an oracle of one line,
    and no code of the project has run by then. Versions before 5.1 keep to their own way.
    """
    if not hasattr(config.Config, "InvocationParams"):
        return
    usual, kept = config.get_config, [config.get_config(OPTIONS)]

    def get_config(args=None, plugins=None, **more):
        if not kept:
            return usual(args, plugins, **more)
        own = kept.pop()
        params = config.Config.InvocationParams
        own.invocation_params = params(args=args, plugins=plugins, dir=type(own.invocation_params.dir).cwd())
        return own

    config.get_config = get_config


def keep_fixtures():
    """Let the sessions of runs look only at those names in pytest's own modules and classes that are fixtures.

    There are 2,700 others. No code of the project has run by then, so these are the ones that each session would find.
    """
    import _pytest.fixtures

    def is_fixture(value):
        marked = type(value) is types.FunctionType and hasattr(value, "_pytestfixturefunction")  # before 8.4
        return marked or type(value).__name__ == "FixtureFunctionDefinition"

    modules = [module for name, module in list(sys.modules.items()) if name.startswith("_pytest.")]
    found = ((module, sorted(name for name, value in vars(module).items() if is_fixture(value))) for module in modules)
    kept = tuple((module, tuple(names)) for module, names in found)
    classes = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    having = {one for one in classes if any(map(is_fixture, vars(one).values()))}
    bare = frozenset(one for one in classes if one.__module__.startswith("_pytest.") and having.isdisjoint(one.__mro__))

    # all that it uses is in its defaults, which the check for tampering sees
    def names(holder, usual=dir, kept=kept, bare=bare, of=type):
        if of(holder) in bare:
            return ()
        for module, found in kept:
            if holder is module:
                return found
        return usual(holder)

    _pytest.fixtures.dir = names  # asked for the names of each plugin, and of each module and class of tests


def tell_no_failure():
    """Let pytest say nothing of why a test failed, which is not used: it takes milliseconds for each.

    It would also ask the exception for its words, which may be the project's code.
    """
    import _pytest.python

    _pytest.python.Function.repr_failure = lambda *_, **__: "failed"


def set_prefix():
    """Do what the interpreter's start left out for a virtual environment: its prefix is where its settings lie."""
    folder = os.path.dirname(os.path.dirname(sys.executable))
    if os.path.exists(os.path.join(folder, "pyvenv.cfg")):
        sys.prefix = sys.exec_prefix = folder


# --- the session -----------------------------------------------------------------------------------------------------


def write(host, oracle):
    """Write the oracle, its tripwires and an empty settings file into a folder; return what ``examine`` needs."""
    name, folder = host.token(), os.path.join(host.folder, "oracle")
    value = int.from_bytes(os.urandom(4), "big")
    spec = {"folder": folder, "file": os.path.basename(oracle["file"]), "wires": "test_%s.py" % name}
    spec.update(source=oracle["source"], plugins=oracle["plugins"])
    spec["reasons"] = {"test_%s_%s" % (name, kind): "AssertionError" for kind in ("assert", "unit", "builtins")}
    spec["reasons"].update({"test_%s_plain" % name: name + "E", "test_%s_raises" % name: "Failed"})
    files = {"pytest.ini": "[pytest]\n", spec["wires"]: TRIPWIRE.format(n=name, v=value), spec["file"]: spec["source"]}
    for file, text in files.items():
        with io.open(os.path.join(folder, file), "w", encoding="utf-8", newline="") as out:
            out.write(text)
    host.protect(*(os.path.join(folder, file) for file in files), label="oracle")
    return spec


def examine(spec, plugins, told):
    """Run the oracle in this process, write the report to ``told`` and end the process."""
    recorder = Recorder(spec)
    folder = spec["folder"]
    arguments = ["-c", os.path.join(folder, "pytest.ini"), *OPTIONS]
    arguments += [os.path.join(folder, spec["file"]), os.path.join(folder, spec["wires"])]
    code = int(_state["main"](arguments, plugins=[make_plugin(recorder), *plugins]))
    report = recorder.report()
    report.update(token=spec["token"], exit_code=code)
    data = _dumps(report).encode()
    while data:
        data = data[_write(told, data) :]
    _exit(code)


def enter(spec):
    """Import the oracle's plugins, then put the run's environment, folder and import paths in place; the plugins."""
    plugins = [plugin(name, spec["site"]) for name in spec["plugins"]]
    os.environ.clear()
    os.environ.update(spec["env"])
    time.tzset()
    try:
        locale.setlocale(locale.LC_CTYPE, "")
    except locale.Error:  # a locale that the environment does not have is what the project would meet as well
        locale.setlocale(locale.LC_CTYPE, "C")
    os.chdir(spec["cwd"])
    sys.argv[:] = ["pytest"]
    sys.executable = spec.get("python", sys.executable)  # what an isolated oracle starts is the project's
    sys.dont_write_bytecode = True
    spec["uses"] = uses = _state["tampering"].Uses(spec["source"], spec["roots"], _state["stdlib"])
    sys.path[:] = spec["roots"] + _state["stdlib"] + spec["site"]
    forget(_state["loaded"] | uses.loaded, spec["roots"])
    importlib.invalidate_caches()
    return plugins


def forget(names, roots):
    """Drop the modules of these names that an import root holds: the oracle then means those, and no other copies."""
    tampering = _state["tampering"]
    for name in names - tampering.KEPT:
        if any(tampering.provides(root, name) for root in roots):
            for known in [known for known in sys.modules if known == name or known.startswith(name + ".")]:
                del sys.modules[known]


def plugin(name, site):
    """Import a plugin by its entry point's name or its module's, before any path of the project is in place."""
    for folder in site:
        for path in glob.glob(os.path.join(glob.escape(folder), "*-info", "entry_points.txt")):
            with io.open(path, encoding="utf-8") as file:
                section = None
                for line in file:
                    key, _, value = (part.strip() for part in line.partition("="))
                    if line.startswith("["):
                        section = line.strip()
                    elif section == "[pytest11]" and key == name:
                        return importlib.import_module(value.partition(":")[0].partition("[")[0].strip())
    return importlib.import_module(name)


class Recorder:
    """Outcomes of the oracle's tests and of the tripwires, as they are reported."""

    def __init__(self, spec):
        self.spec = spec
        self.root = os.path.realpath(spec["cwd"]) + os.sep
        self.module, self.uses = None, spec["uses"]
        self.codes = _state["tampering"].codes_of(spec["source"], os.path.join(spec["folder"], spec["file"]))
        self.tests, self.order, self.wires, self.collected = {}, [], {}, {}
        self.altered, self.cause, self.known, self.places = set(), None, None, {}

    def report(self):
        """Return the plain report of the session."""
        tampering = _state["tampering"]
        found = self.altered | _state["before"].altered() | tampering.find_hidden(_state["spaces"])
        found |= self.uses.replaced(self.module, self.codes)
        tests = [dict(id=name[:500], **test) for name, test in self.tests.items() if test["outcome"]]
        return {
            "tests": tests[:TESTS],
            "tripwire": self.tripwire(),
            "altered": sorted(label[:NAMES] for label in found)[:LABELS],
            "cause": self.cause,
        }

    def tripwire(self):
        """Return True if each tripwire failed for its own reason, after everything else; None if none ran."""
        if not self.wires:
            return None
        last = self.order[-len(self.spec["reasons"]) :]
        return self.wires == self.spec["reasons"] and all(last) and sum(self.order) == len(last)

    def note(self, name, outcome, exception=None, where=None):
        """Keep the worst that was reported of a test."""
        test = self.tests.setdefault(name, {"outcome": None, "exception": None, "where": None})
        if test["outcome"] is None or WORST.index(outcome) > WORST.index(test["outcome"]):
            test.update(outcome=outcome, exception=exception, where=where)

    def phase(self, item, call, report):
        """Take in one phase of one test."""
        wire = item.nodeid.partition("::")[0] == self.spec["wires"]
        if call.when == "setup":
            self.order.append(wire)
        if wire:
            if call.excinfo is not None and call.when == "call" and report.outcome == "failed":
                self.wires[item.name] = type(call.excinfo.value).__name__
            elif call.when == "call":
                self.wires[item.name] = None
            return
        if call.when != "teardown":
            self.check_code(item)
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xpassed" if outcome == "passed" else "xfailed"
        elif call.excinfo is not None and outcome == "passed":
            outcome = "failed"
        if call.when != "call":
            if outcome in ("passed", "xpassed"):
                return
            outcome = "error" if outcome == "failed" else outcome
        self.note(identity(item.nodeid), outcome, *self.describe(call))

    def describe(self, call):
        """Return the exception's type and the innermost line of the tree that it came through; never its message."""
        if call.excinfo is None:
            return None, None
        value = call.excinfo.value
        if type(value).__name__ == "CollectError":
            value = value.__cause__ or value.__context__ or value
        if isinstance(value, MemoryError):
            self.cause = "memory"
        elif getattr(value, "errno", None) == errno.EAGAIN or getattr(value, "args", None) == (NO_THREAD,):
            self.cause = self.cause or "processes"
        where, trace = None, value.__traceback__
        while trace is not None:
            path = self.real(trace.tb_frame.f_code.co_filename)
            if path.startswith(self.root):
                where = "%s:%d" % (path[len(self.root) :][:NAMES], trace.tb_lineno)
            trace = trace.tb_next
        return type(value).__name__[:NAMES], where

    def real(self, path):
        """Return a path without links; each is looked at once, since all tracebacks go through the same files."""
        if path not in self.places:
            self.places[path] = os.path.realpath(path)
        return self.places[path]

    def check_code(self, item):
        """Hold the item against its class, and its function, before and after it runs, against the oracle's source."""
        if any(isinstance(getattr(type(item), name, None), types.FunctionType) for name in vars(item)):
            self.altered.add("oracle:" + identity(item.nodeid))
        self.module = self.module or getattr(item, "module", None)
        function = getattr(item, "obj", None)
        function = getattr(function, "__func__", function)
        for _ in range(20):
            if getattr(function, "__code__", None) in self.codes:
                return
            given = getattr(getattr(function, "hypothesis", None), "inner_test", None)  # which has another name there
            function = getattr(function, "__wrapped__", given)
        self.altered.add("oracle:" + identity(item.nodeid))

    def plugins(self, config):
        """Note what has been registered since collection began."""
        names = {name for name, plugin in config.pluginmanager.list_name_plugin() if plugin is not None}
        if self.known is not None:
            new = {name for name in names - self.known if not name.isdigit()}
            self.altered.update("plugin:" + name for name in new)
        self.known = self.known or names


def identity(name):
    """Return a node id as newer pytests write it."""
    return name.replace("::()", "") or "session"


def make_plugin(recorder):
    """Return the plugin object that feeds a recorder; made here so that pytest is not needed to read this file."""
    import pytest

    class Plugin(object):
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(self, item, call):
            outcome = yield
            recorder.phase(item, call, outcome.get_result())

        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items):
            items.sort(key=lambda item: item.nodeid.partition("::")[0] == recorder.spec["wires"])

        def pytest_exception_interact(self, call, report):
            if getattr(report, "when", "collect") == "collect":
                recorder.collected[report.nodeid] = recorder.describe(call)

        def pytest_collectreport(self, report):
            if report.outcome != "passed":
                outcome = "error" if report.outcome == "failed" else "skipped"
                recorder.note(identity(report.nodeid), outcome, *recorder.collected.get(report.nodeid, (None, None)))

        @pytest.hookimpl(tryfirst=True)
        def pytest_collection(self, session):
            recorder.plugins(session.config)

        def pytest_sessionfinish(self, session):
            recorder.plugins(session.config)

    return Plugin()
