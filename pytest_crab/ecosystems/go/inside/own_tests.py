"""A project's own tests under Go, in the folders of the files that a change of the tests touches; CPython 3.6 up."""

import os
import re
import time


def run(host, run):
    """Run the named tests of each folder, all where none is named; their outcomes, with the folder before each name."""
    go, tests = host.parts["go_runner"], run["tests"]
    end = time.monotonic() + run["seconds"]
    env, _ = host.environment()
    program = host.job["tools"]["go"]["program"]
    tops = sorted({name.partition("/")[0] for name in tests["names"]})
    wanted = "^(%s)$" % "|".join(re.escape(top) for top in tops) if tops else "."
    outcomes = []
    for folder in host.folders(host.job["workdir"], tests["files"], lambda path: path.endswith("_test.go")):
        go.settle(host, run, env, folder)
        left = end - time.monotonic()
        argv = [program, "test", "-json", "-count=1", "-vet=off", "-timeout=0", "-run=" + wanted, "."]
        home = os.path.join(host.job["workdir"], folder)
        seen = host.process(argv, env, home, left, printed=True, errors=True)
        result = host.conclude(seen, lambda data, code, folder=folder: read(host, folder, data, code))
        if not host.gather(outcomes, result, folder):
            return result
    return host.completed(outcomes)


def read(host, folder, data, code):
    """Return the outcomes of a folder's tests; one error where it does not build."""
    go = host.parts["go_runner"]
    seen = go.told(data, host.TEXT)
    if seen["outcomes"] and seen["whole"] is None:
        return None, "the report on the tests of %s has no end" % folder
    told = [*seen["outcomes"].items(), *((test, "failed") for test in seen["twice"])]
    tests = host.merged(("%s:%s" % (folder, test), outcome) for test, outcome in told)
    if not tests and code:
        text = seen["plain"] + seen["printed"].get(None, "")
        exception = "MissingModule" if go.MISSING.search(text) else "BuildFailed"
        tests = [dict(host.error(exception), id=folder + ":")]
    return host.completed(tests), None
