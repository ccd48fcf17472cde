"""Oracles under Go: the test binary is built once, and each test runs in a process of its own; CPython 3.6 up.

The oracle and the tests that must fail are never written to the tree: Go's overlay shows them to the build, and hides
the tests of the project's own in the same folder. So a panic in one test hides no other, and an exit in the middle of
one is seen: the tests that must fail run last in each process. What a process prints is read by Go's own test2json.
What code in the oracle's process can still do is in the docs.
"""

import json
import os
import re
import signal
import time

TESTS = 5000
NAMES = 200
TEXT = 8000
#: Tests that must fail, in each process after the oracle's: how each does, and what it then prints.
WIRES = """\
package %(package)s

import "testing"

func Test%(n)sError(t *testing.T)   { t.Error("%(n)s error") }
func Test%(n)sFatal(t *testing.T)   { t.Fatalf("%%s %%d", "%(n)s fatal", %(v)d) }
func Test%(n)sSub(t *testing.T)     { t.Run("in", func(t *testing.T) { t.Error("%(n)s sub") }) }
func Test%(n)sCleanup(t *testing.T) { t.Cleanup(func() { t.Error("%(n)s cleanup") }) }
"""
KINDS = ("Error", "Fatal", "Sub", "Cleanup")
ENDS = {"pass": "passed", "fail": "failed", "skip": "skipped"}
PACKAGE = re.compile(r"(?m)^package[ \t]+(\w+)")
TEST = re.compile(r"(?m)^func[ \t]+(Test(?:[^a-z(\s][^(\s]*)?)\(\w+[ \t]+\*testing\.T\)")
#: What the build says where the tree asks for a module that the environment does not have.
MISSING = re.compile(r"cannot find module providing package|missing go\.sum entry|no required module provides")
PLACE = re.compile(r"(?m)^\s*(?:\./)?([^\s:]+\.go):(\d+)")


def run(host, run):
    """Build one oracle's tests and run each, then judge by all of them."""
    job, oracle = host.job, run["oracle"]
    end = time.monotonic() + run["seconds"]
    tool = job["tools"]["go"]
    env, _ = host.environment()
    home = os.path.normpath(os.path.join(job["workdir"], oracle["folder"]))
    if not os.path.isdir(home):
        return {"ending": "completed", "exit_code": 1, "tests": [error("MissingFolder")], "tripwire": True,
                "altered": []}  # fmt: skip
    keep_vendor(host.tree, job, run["state"])
    spec = write(host.folder, home, oracle)
    spec["root"] = job["workdir"]
    env["GOFLAGS"] = "-buildvcs=false -mod=" + ("vendor" if vendored(job["tree"]) else "readonly")
    env["GOFLAGS"] += " " + job["env"].get("GOFLAGS", "")
    if not os.path.exists(os.path.join(job["tree"], "go.work")):
        env["GOWORK"] = "off"
    program, overlay = tool["program"], "-overlay=" + spec["overlay"]
    asked = [program, "list", overlay, "-deps", "-e", "-json=Dir,EmbedFiles,Standard", "."]
    seen = host.process(asked, env, home, end - time.monotonic(), printed=True)
    embedded = told_embedded(seen["report"], spec)
    build = [program, "test", "-c", "-json", "-vet=off", overlay, "-o", spec["binary"], "."]
    seen = host.process(build, env, home, end - time.monotonic(), printed=True)
    if seen["killed"] or seen["status"] != 0:
        return host.conclude(seen, lambda data, _: unbuilt(spec, data))
    altered = embedded | replaced(host, program, env, home, end)
    results = []
    for name in [*spec["tests"], None]:
        wanted = "^(%s)$" % "|".join([*([name] if name else []), *spec["wires"]])
        left = end - time.monotonic()
        argv = [env["GOCACHE"] + "/test2json", "-t", spec["binary"], "-test.v=test2json", "-test.paniconexit0"]
        argv += ["-test.timeout=%ds" % max(left + 5, 1), "-test.run=" + wanted]
        seen = host.process(argv, env, home, left, printed=True)
        results.append((name, seen))
        if seen["killed"] or any(seen["grown"].values()):
            break
    return judge(host, spec, results, altered)


def write(folder, home, oracle):
    """Write the oracle, what must fail and the overlay that shows both into a private folder; what is to be known."""
    name = "X" + "".join("%02x" % byte for byte in os.urandom(8))
    private = os.path.join(folder, "oracle")
    file = os.path.basename(oracle["file"])
    package = PACKAGE.search(oracle["source"])
    words = {"n": name, "v": int.from_bytes(os.urandom(4), "big"), "package": package.group(1) if package else "main"}
    wires = "zz_%s_test.go" % name.lower()
    replace = {os.path.join(home, each): "" for each in os.listdir(home) if each.endswith("_test.go")}
    for file_name, text in ((file, oracle["source"]), (wires, WIRES % words)):
        place = os.path.join(private, file_name)
        with open(place, "w", encoding="utf-8", newline="") as out:
            out.write(text)
        replace[os.path.join(home, file_name)] = place
    overlay = os.path.join(private, "overlay.json")
    with open(overlay, "w") as out:
        json.dump({"Replace": replace}, out)
    return {
        "file": file, "overlay": overlay, "binary": os.path.join(folder, "overlay", "oracle.test"), "name": name,
        "tests": TEST.findall(oracle["source"]), "wires": ["Test" + name + kind for kind in KINDS],
        "hidden": {os.path.join(home, file), os.path.join(home, wires)},
    }  # fmt: skip


def vendored(tree):
    """Return whether the project keeps its modules in its tree."""
    return os.path.exists(os.path.join(tree, "vendor", "modules.txt"))


def keep_vendor(tree, job, state):
    """Put back what a state changes in the vendored modules: what is installed is the environment's, not a diff's."""
    touched = any(path.split("/")[0] == "vendor" for path, _, _ in job["states"][state])
    target = os.path.join(job["workdir"], "vendor")
    if touched and os.path.lexists(target):
        tree.remove(target)
    if touched and vendored(job["tree"]):
        tree.copy_entries(job["tree"], ["vendor"], job["workdir"])


def told_embedded(data, spec):
    """Return a label for each file of the oracle that the project embeds, and so could read."""
    found = set()
    for package in documents(data):
        for file in package.get("EmbedFiles") or ():
            if os.path.join(package.get("Dir", ""), file) in spec["hidden"]:
                found.add("oracle:embedded")
    return found


def replaced(host, program, env, home, end):
    """Return a label for each module that go.mod puts another in the place of: it may be the library of assertions."""
    seen = host.process([program, "mod", "edit", "-json"], env, home, end - time.monotonic(), printed=True)
    found = set()
    for document in documents(seen["report"]):
        for each in document.get("Replace") or ():
            found.add("go.mod:%s" % each["Old"]["Path"][:NAMES])
    return found


def documents(data):
    """Yield the JSON objects that stand behind each other in what a program printed."""
    decoder, text, place = json.JSONDecoder(), data.decode("utf-8", "replace").strip(), 0
    while place < len(text):
        try:
            document, place = decoder.raw_decode(text, place)
        except ValueError:
            return
        if isinstance(document, dict):
            yield document
        while place < len(text) and text[place].isspace():
            place += 1


def error(exception, where=None):
    """Return the outcome of a session whose tests could not be built."""
    return {"id": "session", "outcome": "error", "exception": exception, "where": where}


def unbuilt(spec, data):
    """Return the report of a build that failed: no test ran."""
    text = "".join(each.get("Output", "") for each in documents(data))[:TEXT]
    if "signal: killed" in text:
        return {"signal": int(signal.SIGKILL)}, None
    found = [(path, line) for path, line in PLACE.findall(text) if os.path.basename(path) != spec["file"]]
    where = "%s:%s" % (found[0][0][:NAMES], found[0][1]) if found else None
    exception = "MissingModule" if MISSING.search(text) else "BuildFailed"
    return {"tests": [error(exception, where)], "tripwire": True, "altered": [], "cause": None}, None


def judge(host, spec, results, altered):
    """Return the result of a run: of its first process that came to no right end, else of all tests."""
    tests, broken = [], False
    for name, seen in results:
        result = host.conclude(seen, lambda data, code, name=name: read(spec, name, data, code))
        if result["ending"] != "completed":
            return result
        tests += result["tests"]
        altered = altered.union(result["altered"])
        broken = broken or not result["tripwire"]
    return {"ending": "completed", "exit_code": 1, "tests": tests[:TESTS], "tripwire": not broken,
            "altered": sorted(altered)}  # fmt: skip


def read(spec, name, data, code):
    """Return the report of one process, or None and what is wrong with it; ``name`` is its test, None for none."""
    outcomes, printed, whole, altered = told(data)
    mine = sorted(test for test in outcomes if name and (test == name or test.startswith(name + "/")))
    if any(outcomes[test] == "passed" and "--- PASS: %s " % test not in printed.get(test, "") for test in mine):
        return None, "a test passed and did not come to its end"
    text = "".join(printed.values())
    panicked = (code, whole) == (1, None) and outcomes.get(name) == "failed" and "panic: " in text
    if not panicked and ((code, whole) != (1, "fail") or any(outcomes.get(wire) != "failed" for wire in spec["wires"])):
        return None, "the process ended without a report"
    tests = [{"id": test[:450], "outcome": outcomes[test], "exception": None, "where": None} for test in mine]
    for test in tests:
        if test["outcome"] == "failed":
            test.update(describe(spec, text if panicked else None))
    tripwire = panicked or wired(spec, list(outcomes), printed)
    return {"tests": tests, "tripwire": tripwire, "altered": sorted(altered), "cause": None}, None


def told(data):
    """Return the outcome and the output of each test, the outcome of the whole, and labels of what came twice."""
    outcomes, printed, whole, altered = {}, {}, None, set()
    for event in documents(data):
        test, action = event.get("Test"), event.get("Action")
        if action == "output":
            printed[test] = (printed.get(test, "") + str(event.get("Output", "")))[:TEXT]
        elif action in ENDS and test is None:
            whole = action
        elif action in ENDS:
            if test in outcomes:
                altered.add("oracle:" + test[:NAMES])
            outcomes[test] = ENDS[action]
    return outcomes, printed, whole, altered


def wired(spec, order, printed):
    """Return whether the tests that must fail came last, and each said what it must."""
    last = [test for test in order if test.partition("/")[0] in spec["wires"]]
    for kind in KINDS:
        wire = "Test" + spec["name"] + kind
        if spec["name"] + " " + kind.lower() not in printed.get(wire, "") + printed.get(wire + "/in", ""):
            return False
    return order[len(order) - len(last) :] == last


def describe(spec, panic):
    """Return the kind of a failure, and the innermost line of the tree that a panic came through; never its message."""
    if panic is None:
        return {"exception": "Failed", "where": None}
    root = os.path.realpath(spec["root"]) + os.sep
    for path, line in re.findall(r"(?m)^\s+(/[^\s:]+\.go):(\d+)", panic):
        if path.startswith(root) and os.path.basename(path) != spec["file"]:
            return {"exception": "panic", "where": "%s:%s" % (path[len(root) :][:NAMES], line)}
    return {"exception": "panic", "where": None}
