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
    go, outcomes, text, whole = host.parts["go_runner"], {}, "", False
    for said, event in go.lines(data):
        text += said
        if event.get("Action") in go.ENDS and event.get("Test"):
            outcomes[str(event["Test"])] = go.ENDS[event["Action"]]
        elif event.get("Action") in go.ENDS:
            whole = True
    if outcomes and not whole:
        return None, "the report on the tests of %s has no end" % folder
    tests = [outcome("%s:%s" % (folder, name), told) for name, told in outcomes.items()]
    if not tests and code:
        exception = "MissingModule" if go.MISSING.search(text) else "BuildFailed"
        tests = [dict(outcome(folder + ":", "error"), exception=exception)]
    return host.completed(tests), None


def outcome(name, told):
    """Return one outcome as a run has it."""
    return {"id": name, "outcome": told, "exception": None, "where": None}
