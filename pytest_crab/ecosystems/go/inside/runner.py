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
TEST = re.compile(r"(?m)^func[ \t]+((?:Test|Fuzz|Example)(?![a-z])\w*)[ \t]*\(")
#: How Go begins the line that says why a process ends at once.
PANIC = re.compile(r"(?:panic|fatal error): ")
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
        return host.completed([host.error("MissingFolder")])
    settle(host, run, env, oracle["folder"])
    spec = write(host, home, oracle)
    spec["root"] = job["workdir"]
    program, overlay = tool["program"], "-overlay=" + spec["overlay"]
    build = [program, "test", "-c", "-json", "-vet=off", overlay, *linked(env), "-o", spec["binary"], "."]
    seen = host.process(build, env, home, end - time.monotonic(), printed=True, errors=True)
    if seen["killed"] or seen["status"] != 0:
        return host.conclude(seen, lambda data, _: unbuilt(host, spec, data))
    asked = [program, "list", overlay, "-deps", "-test", "-json=Dir,EmbedFiles,Standard,Module,ForTest", "."]
    listing = dict(env, GOCACHE=os.path.join(host.folder, "overlay", "listing"))  # it is written to, unlike the other
    seen = host.process(asked, listing, home, end - time.monotonic(), printed=True)
    if seen["killed"] or seen["status"] != 0:
        return host.conclude(seen, lambda *_: (None, "what the tests are built of was not listed"))
    altered = told_of(seen["report"], spec)
    if altered is None:
        return {"ending": "exited", "exit_code": 0, "detail": "what the tests are built of was not listed whole"}
    host.tree.remove(os.path.dirname(spec["overlay"]))  # no test reads the oracle

    def alone(name):
        wanted = "^(%s)$" % "|".join([*([name] if name else []), *spec["wires"]])
        left = end - time.monotonic()
        argv = [env["GOCACHE"] + "/test2json", "-t", spec["binary"], "-test.v=test2json", "-test.paniconexit0"]
        argv += ["-test.timeout=%ds" % max(left + 5, 1), "-test.run=" + wanted]
        seen = host.process(argv, env, home, left, printed=True)
        return host.conclude(seen, lambda data, code: read(host, spec, name, data, code))

    return host.all_of(map(alone, [*spec["tests"], None]), altered)


def linked(env):
    """Return the option by which ``go test`` links what it runs itself; none where the environment has its own."""
    return [] if "-ldflags" in env["GOFLAGS"] else ["-ldflags=-s -w"]


def settle(host, run, env, folder):
    """Set how modules are taken for a folder: as the environment says, whatever a state changes of it."""
    job = host.job
    module = module_of(job["tree"], folder)
    vendored = os.path.exists(os.path.join(job["tree"], module, "vendor", "modules.txt"))
    keep(host, run["state"], [os.path.join(module, "vendor"), "go.work", "go.work.sum"])
    env["GOFLAGS"] = "-buildvcs=false -mod=" + ("vendor" if vendored else "readonly")
    env["GOFLAGS"] += " " + job["env"].get("GOFLAGS", "")
    if not os.path.exists(os.path.join(job["tree"], "go.work")):
        env["GOWORK"] = "off"


def write(host, home, oracle):
    """Write the oracle, what must fail and the overlay that shows both into a private folder; what is to be known."""
    name = "X" + host.token()
    private = os.path.join(host.folder, "oracle")
    file = "oracle_%s_test.go" % name.lower()  # a name of the author's could be one for another system alone
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
        "file": file, "overlay": overlay, "binary": os.path.join(host.folder, "overlay", "oracle.test"), "name": name,
        "tests": TEST.findall(oracle["source"]), "wires": ["Test" + name + kind for kind in KINDS],
        "hidden": {os.path.join(home, file), os.path.join(home, wires)},
    }  # fmt: skip


def module_of(tree, folder):
    """Return the folder of the module of a folder of the built tree; the tree's own where there is none."""
    folder = os.path.normpath(folder)
    while folder not in ("", ".") and not os.path.exists(os.path.join(tree, folder, "go.mod")):
        folder = os.path.dirname(folder)
    return "" if folder == "." else folder


def keep(host, state, places):
    """Put back what a state or its build changes of these: which modules are taken is the environment's to say."""
    tree, job = host.tree, host.job
    for place in places:
        if any((path + "/").startswith(place + "/") for path, _, _ in job["states"][state]):
            tree.put_back(job["tree"], job["workdir"], place)
        if host.built_since is not None:
            tree.mend(job["tree"], job["workdir"], place, host.built_since)


def told_of(data, spec):
    """Return labels of what the tests are built of that may be another's; None where the list is not whole.

    These are files of the oracle that the project embeds, and so could read, and modules in the place of others, such
    as the library of assertions.
    """
    found, own = set(), False
    for package in documents(data):
        own = own or bool(package.get("ForTest"))
        for file in package.get("EmbedFiles") or ():
            if os.path.join(package.get("Dir", ""), file) in spec["hidden"]:
                found.add("oracle:embedded")
        module = package.get("Module") or {}
        other = module.get("Replace")
        if other:
            found.add("go.mod:%s=>%s@%s" % (module.get("Path"), other.get("Path"), other.get("Version", "")))
    return found if own else None


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


def lines(data):
    """Yield what each line of a build or test says, and its event; older releases print plain lines too."""
    for line in data.decode("utf-8", "replace").split("\n"):
        event = next(documents(line.encode()), None) if line.startswith("{") else None
        yield (line + "\n", {}) if event is None else (str(event.get("Output", "")), event)


def unbuilt(host, spec, data):
    """Return the report of a build that failed: no test ran."""
    text = "".join(text for text, _ in lines(data))[: host.TEXT]
    if "signal: killed" in text:
        return {"signal": int(signal.SIGKILL)}, None
    found = [(path, line) for path, line in PLACE.findall(text) if os.path.basename(path) != spec["file"]]
    host.quote("session", text)
    exception = "MissingModule" if MISSING.search(text) else "BuildFailed"
    return host.completed([host.error(exception, ":".join(found[0]) if found else None)]), None


def read(host, spec, name, data, code):
    """Return the report of one process, or None and what is wrong with it; ``name`` is its test, None for none."""
    seen = told(data, host.TEXT)
    outcomes, whole = seen["outcomes"], None if seen["plain"].strip() else seen["whole"]
    mine = sorted(test for test in outcomes if name and (test == name or test.startswith(name + "/")))
    if any(outcomes[test] == "passed" and test not in seen["ended"] for test in mine):
        return None, "a test passed and did not come to its end"
    panicked = (code, whole) == (1, None) and outcomes.get(name) == "failed" and bool(seen["panic"])
    if not panicked and ((code, whole) != (1, "fail") or any(outcomes.get(wire) != "failed" for wire in spec["wires"])):
        return None, "the process ended without a report"
    tests = [{"id": test, "outcome": outcomes[test], "exception": None, "where": None} for test in mine]
    for test in tests:
        if test["outcome"] == "failed":
            test.update(describe(spec, seen["panic"] if panicked else None))
            host.quote(test["id"], seen["panic"] if panicked else seen["printed"].get(test["id"], ""))
    tripwire = panicked or wired(spec, seen)
    return host.completed(tests, tripwire, {"oracle:" + test for test in seen["twice"]}), None


def told(data, most):
    """Return what a process told of its tests.

    These are outcomes by test in the order of their ends, the outcome of the whole, what each test printed, those with
    Go's own line that says they passed, those that ran beside others, the text of a panic, those whose end was told
    twice, and what a build said or is no event. Of what is printed it is at most so much.
    """
    seen = {
        "outcomes": {},
        "whole": None,
        "printed": {},
        "ended": set(),
        "beside": set(),
        "panic": "",
        "twice": [],
        "plain": "",
    }
    for text, event in lines(data):
        test, action = event.get("Test"), event.get("Action")
        if action in (None, "build-output"):
            seen["plain"] = (seen["plain"] + text)[:most]
        elif action == "output":
            seen["printed"][test] = (seen["printed"].get(test, "") + text)[:most]
            if test and text.lstrip().startswith("--- PASS: %s " % test):
                seen["ended"].add(test)
            if seen["panic"] or PANIC.match(text):
                seen["panic"] = (seen["panic"] + text)[:most]
        elif action == "cont":
            seen["beside"].add(test)
        elif action in ENDS and test is None:
            seen["whole"] = action
        elif action in ENDS:
            if test in seen["outcomes"]:
                seen["twice"].append(test)
            seen["outcomes"][test] = ENDS[action]
    return seen


def wired(spec, seen):
    """Return whether the tests that must fail came last, but for parallel ones, and each said what it must."""
    for kind in KINDS:
        wire = "Test" + spec["name"] + kind
        printed = seen["printed"].get(wire, "") + seen["printed"].get(wire + "/in", "")
        if spec["name"] + " " + kind.lower() not in printed:
            return False
    order = [test for test in seen["outcomes"] if test.partition("/")[0] not in seen["beside"]]
    last = [test for test in order if test.partition("/")[0] in spec["wires"]]
    return order[len(order) - len(last) :] == last


def describe(spec, panic):
    """Return the kind of a failure, and the innermost line of the tree that a panic came through; never its message."""
    if panic is None:
        return {"exception": "Failed", "where": None}
    root = os.path.realpath(spec["root"]) + os.sep
    for path, line in re.findall(r"(?m)^\s+(/[^\s:]+\.go):(\d+)", panic):
        if path.startswith(root) and os.path.basename(path) != spec["file"]:
            return {"exception": "panic", "where": "%s:%s" % (path[len(root) :], line)}
    return {"exception": "panic", "where": None}
