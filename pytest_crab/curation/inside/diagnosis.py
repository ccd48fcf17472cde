"""Run one oracle and print which modules could not be imported; works from CPython 3.6 and pytest 3.2 up.

Standard input is JSON: parts (tree), tree, workdir, changes, scratch, roots, site, name and source of the oracle. The
result is JSON on standard output: what the failures name as missing, what files of the tree looked for in vain, the
names of the exceptions' types, and of each test that fails the exception on one line, cut. No line of the oracle.
"""

import errno
import json
import os
import sys
import tempfile
import types

#: So many characters of a message are kept, and messages of so many tests.
LONGEST, MOST = 200, 20


class InVain:
    """The last of the finders: it finds nothing, and notes what files of the tree looked for."""

    def __init__(self, workdir):
        self.prefix, self.names = workdir.rstrip("/") + "/", []

    def find_spec(self, name, *_):
        """Find nothing; imports by Python's own machinery count as their importer's."""
        frame = sys._getframe(1)  # noqa: SLF001 - there is no other way to see who imports
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is not None and frame.f_code.co_filename.startswith(self.prefix) and name not in self.names:
            self.names.append(name)


class DiagnosisPlugin:
    """Takes the names out of failures, whatever they were raised from."""

    def __init__(self):
        self.missing, self.kinds, self.said = [], [], []

    def pytest_exception_interact(self, call, report):
        """Look at one failure and at the exceptions that caused it."""
        value, seen = call.excinfo.value, 0
        if type(value).__name__ == "CollectError":  # pytest's own, around what a file raises while it is loaded
            value = value.__cause__ or value.__context__ or value
        if len(self.said) < MOST:
            self.said.append([report.nodeid, type(value).__name__, one_line(value)])
        while value is not None and seen < 20:
            seen += 1
            name, line = getattr(value, "name", None), one_line(value)
            kinds = [type(value).__name__]
            kinds += ["circular import"] if "circular import" in line else []
            if isinstance(value, ImportError):
                kinds += ["no such name"] if line.startswith("cannot import name") else []
                kinds += ["no library"] if "cannot open shared object file" in line else []
            kinds += ["no network"] if getattr(value, "errno", None) in (errno.ENETUNREACH, errno.EHOSTUNREACH) else []
            self.kinds.extend(known for known in kinds if known not in self.kinds)
            if isinstance(value, ModuleNotFoundError) and isinstance(name, str) and name not in self.missing:
                self.missing.append(name)
            value = value.__cause__ or value.__context__


def one_line(value):
    """Return the message of an exception on one line; nothing where it cannot say one."""
    try:
        return " ".join(str(value).split())[:LONGEST]
    except Exception:  # noqa: BLE001 - the code of the project makes it
        return ""


def main():
    """Do it, and end the process whatever the oracle left running in it."""
    job = json.loads(sys.stdin.buffer.read().decode())
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)
    tree = types.ModuleType("tree")
    exec(job["parts"]["tree"], tree.__dict__)  # noqa: S102 - sent by the host
    tree.copy(job["tree"], job["workdir"])
    tree.change(job["workdir"], job["changes"])
    folder = tempfile.mkdtemp(dir=job["scratch"])
    file = os.path.join(folder, job["name"])
    for name, text in ((file, job["source"]), (os.path.join(folder, "pytest.ini"), "[pytest]\n")):
        with open(name, "w", encoding="utf-8") as handle:
            handle.write(text)
    roots = [os.path.normpath(os.path.join(job["workdir"], path)) for path in job["roots"]]
    sys.path[:] = [path for path in sys.path if path] + job["site"]
    os.environ.update(job["env"])
    os.environ.update(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTHONPATH=os.pathsep.join(roots + job["site"]))
    import _pytest.config
    import pytest

    _pytest.config.PytestPluginManager.load_setuptools_entrypoints = lambda *_, **__: 0
    sys.path[:0] = roots
    sys.dont_write_bytecode = True
    os.chdir(job["workdir"])
    sys.argv[:] = ["pytest"]
    vain, plugin = InVain(job["workdir"]), DiagnosisPlugin()
    sys.meta_path.append(vain)
    options = ["-c", os.path.join(folder, "pytest.ini"), "--noconftest", "-p", "no:cacheprovider", "-q", "--tb=no"]
    pytest.main([*options, "--continue-on-collection-errors", file], plugins=[plugin])
    found = {"missing": plugin.missing, "vain": vain.names, "kinds": plugin.kinds, "said": plugin.said}
    out.write(json.dumps(found))
    out.flush()
    os._exit(0)


main()
