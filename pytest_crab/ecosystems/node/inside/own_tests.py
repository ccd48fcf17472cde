"""A project's own tests under vitest, jest, mocha or node's runner; CPython 3.6 up.

The scripts of package.json say which. It is run on the files of tests that a change touches, with the project's own
configuration, and writes its report.
"""

import json
import os
import re
import shlex
import time
from xml.etree import ElementTree

#: What the scripts of a project say where it has its tests run so; what they name first is the runner.
SCRIPTS = {"vitest": r"\bvitest\b", "jest": r"\bjest\b", "mocha": r"\bmocha\b", "node": r"\bnode\b.* --test\b"}
SOURCE = re.compile(r"\.[cm]?[jt]sx?\Z")
TEST = re.compile(r"(?:(?:^|/)(?:__tests__|tests?|specs?)/|[._-](?:test|spec)s?\.[cm]?[jt]sx?\Z)")
#: What runners say of a file without tests, such as a helper beside the tests.
NO_TESTS = re.compile(r"must contain at least one test|No test suite found in file")
#: Options of mocha that have no value.
FLAGS = re.compile(
    r"--(?:allow-uncaught|async-only|bail|check-leaks|colors?|delay|diff|dry-run|exit|fail-zero|forbid-(?:only|pending)"
    r"|full-trace|inline-diffs|invert|no-\S+|parallel|pass-on-failing-test-suite|recursive|sort|watch|\S+=.*)\Z"
    r"|-[AbcCipSw]\Z"
)
#: Options by which not every test is run, or the run has no end.
DROPPED = re.compile(r"(?:--(?:bail|watch)(?:=.*)?|-[bw])\Z")


def run(host, run):
    """Run the files of tests of each project in the tree; their outcomes, with the file before each name."""
    node, tests = host.parts["node_runner"], run["tests"]
    end, root = time.monotonic() + run["seconds"], host.job["workdir"]
    node.keep_places(host.tree, host.job, run["state"], host.built_since)
    env, _ = host.environment()
    outcomes = []
    for (home, runner), files in sorted(projects(node, root, chosen(root, tests["files"])).items()):
        report = os.path.join(host.folder, "overlay", os.urandom(8).hex())
        try:
            argv = command(node, host, home, (runner, files), report)
        except node.MissingError as error:
            return {"ending": "unstarted", "detail": str(error)}
        seen = host.process(argv, env, home, end - time.monotonic(), printed=False)
        result = host.conclude(seen, lambda *_, runner=runner, report=report: read(host, root, runner, report))
        place = os.path.relpath(home, root)
        if not host.gather(outcomes, result, place):
            return result
    return host.completed(outcomes)


def chosen(root, files):
    """Return the files of tests that files belong to: a snapshot to the test beside it, data to tests above it."""
    found = set()
    for file in files:
        folder, name = os.path.split(file)
        shown = os.path.basename(folder) == "__snapshots__" and name.endswith(".snap")
        own = os.path.join(os.path.dirname(folder), name[:-5]) if shown else file
        if TEST.search(own) and SOURCE.search(own) and "/fixtures/" not in own:
            found.update([own] if os.path.isfile(os.path.join(root, own)) else [])
            continue
        while folder:
            folder = os.path.dirname(folder)
            place = os.path.join(root, folder)
            beside = sorted(os.listdir(place)) if os.path.isdir(place) else []
            inside = [os.path.join(folder, each) for each in beside if SOURCE.search(each)]
            inside = [path for path in inside if TEST.search(path)]
            if inside:
                found.update(inside)
                break
    return sorted(found)


def projects(node, root, files):
    """Return files by the folder of the project that has them run, and its runner."""
    found = {}
    for file in files:
        folder = os.path.dirname(file)
        while True:
            home = os.path.normpath(os.path.join(root, folder))
            runner = runner_of(node, home)
            if runner is not None:
                found.setdefault((home, runner), []).append(os.path.relpath(os.path.join(root, file), home))
            if runner is not None or not folder:
                break
            folder = os.path.dirname(folder)
    return found


def runner_of(node, home):
    """Return the runner that the scripts of a folder's package.json name, or else one that is installed there."""
    scripts = node.manifest(home).get("scripts")
    said = " ; ".join(str(scripts[name]) for name in sorted(scripts)) if isinstance(scripts, dict) else ""
    named = [name for name in SCRIPTS if re.search(SCRIPTS[name], said)]
    known = [name for name in named or SCRIPTS if os.path.isdir(os.path.join(home, "node_modules", name))]
    return next((name for name in known if name != "node"), "node" if "node" in named else None)


def command(node, host, home, asked, report):
    """Return the command that runs files and writes a report."""
    runner, files = asked
    started = [host.job["tools"]["node"]["program"]]
    if runner == "node":
        started += [*host.job["tools"]["node"]["options"], "--test", "--test-reporter=junit"]
        return [*started, "--test-reporter-destination=" + report, *files]
    started.append(node.program_of(home, runner))
    if runner == "jest":
        return [*started, "--json", "--outputFile=" + report, "--runTestsByPath", *files]
    if runner == "vitest":
        return [*started, "run", "--reporter=json", "--outputFile=" + report, *files]
    reporter = report + ".cjs"
    with open(reporter, "w") as out:
        out.write(node.MOCHA_REPORTER % {"n": "", "report": json.dumps(report)})
    return [*started, *options(node.manifest(home).get("scripts") or {}), "--reporter", reporter, *files]


def options(scripts):
    """Return the options that a project's script gives mocha, without the files that it names."""
    asked = (re.search(SCRIPTS["mocha"] + r"([^&|;]*)", str(scripts[name])) for name in sorted(scripts))
    words = shlex.split(next((found[1] for found in asked if found), ""))
    found = []
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        given = word.startswith("-") or (before.startswith("-") and not FLAGS.match(before))
        if given and not DROPPED.match(word):
            found.append(word)
    return found


def read(host, root, runner, report):
    """Return the outcomes of a report, with the file of each where it is told."""
    try:
        with open(report, encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None, "%s ended without a report" % runner
    entries, unloaded = [], []
    if runner == "node":
        host.parts["node_runner"].walk(ElementTree.fromstring(text), (), entries)  # noqa: S314 - the library has its own guard, in a sandbox
        entries = [("", path, outcome) for path, outcome, _ in entries]
    else:
        for result in json.loads(text)["testResults"]:
            name = result.get("name")
            place = os.path.relpath(str(name), os.path.realpath(root)) if name else ""
            for test in result["assertionResults"]:
                outcome = test["status"] if test["status"] in ("passed", "failed") else "skipped"
                entries.append((place, [*test["ancestorTitles"], test["title"]], outcome))
            empty = result["status"] == "failed" and not result["assertionResults"]
            if empty and not NO_TESTS.search(str(result.get("message"))):
                unloaded.append(dict(host.error("LoadFailed"), id=place + ":"))
    told = (("%s:%s" % (place, " > ".join(map(str, path))), outcome) for place, path, outcome in entries)
    return host.completed([*host.merged(told), *unloaded]), None
