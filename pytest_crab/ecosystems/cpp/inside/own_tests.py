"""A project's own tests as CMake builds them, with GoogleTest, doctest, Catch2 or none of these; CPython 3.6 up.

The environment's build has configured the tree. The targets of which files of a change are sources are built, and each
program of theirs writes its framework's report; one without a framework passes where it ends with 0.
"""

import json
import os
import time
from xml.etree import ElementTree

#: The folder below the tree that is configured, and where CMake tells there of its targets.
FOLDER = "crab-build"
TOLD = ".cmake/api/v1/reply"
#: What a program says of itself when it is asked for help, and how it is told to write its report.
FRAMEWORKS = {
    "gtest": (b"Google Test", ["--gtest_output=xml:%s"]),
    "doctest": (b"[doctest]", ["-r=xml", "-o=%s"]),
    "catch2": (b"Catch", ["-r", "xml", "-o", "%s"]),
}


def run(host, run):
    """Build and run the programs that the files belong to; their outcomes, with the target before each name."""
    end = time.monotonic() + run["seconds"]
    env, _ = host.environment()
    root = host.job["workdir"]
    outcomes = []
    for target, program in programs(root, run["tests"]["files"]):
        argv = ["/usr/bin/env", "cmake", "--build", os.path.join(root, FOLDER), "--target", target]
        seen = host.process(argv, env, root, end - time.monotonic(), printed=True, errors=True)
        if seen["killed"]:
            return host.conclude(seen, None)
        if seen["status"] != 0 or not os.path.isfile(program):
            outcomes.append(dict(host.error("BuildFailed"), id=target + ":"))
            continue
        report = os.path.join(host.folder, "overlay", os.urandom(8).hex())
        where = os.path.dirname(program)
        said = host.process([program, "--help"], env, where, min(10, end - time.monotonic()), printed=True)
        kind = next((name for name in FRAMEWORKS if FRAMEWORKS[name][0] in said["report"]), None)
        told = [word.replace("%s", report) for word in FRAMEWORKS[kind][1]] if kind else []
        seen = host.process([program, *told], env, where, end - time.monotonic(), printed=False)
        result = host.conclude(seen, lambda _, code, asked=(target, kind, report): read(host, asked, code))
        if not host.gather(outcomes, result, target):
            return result
    return host.completed(outcomes)


def programs(root, files):
    """Return the programs, by target, of which files are sources; of none, those in the folders of the files."""
    replies = os.path.join(root, FOLDER, TOLD)
    found = {}
    for name in sorted(os.listdir(replies)) if os.path.isdir(replies) else ():
        with open(os.path.join(replies, name), encoding="utf-8") as text:
            said = json.load(text) if name.startswith("target-") else {}
        if said.get("type") == "EXECUTABLE":
            place = os.path.normpath(os.path.join(root, FOLDER, said["artifacts"][0]["path"]))
            found[said["name"], place] = {source["path"] for source in said["sources"]}
    own = [one for one, sources in found.items() if sources & set(files)]
    if not own:
        folders = {os.path.dirname(file) for file in files}
        own = [one for one, sources in found.items() if folders & {os.path.dirname(path) for path in sources}]
    return sorted(own)


def read(host, asked, code):
    """Return the outcomes of a program's tests."""
    cpp, (target, kind, report) = host.parts["cpp_runner"], asked
    if kind is None:
        tests = [(target, "passed" if code == 0 else "failed")]
    else:
        try:
            with open(report, encoding="utf-8", errors="replace") as text:
                root = ElementTree.fromstring(text.read())  # noqa: S314 - the library has its own guard, in a sandbox
            entries = cpp.told_by_gtest(root) if kind == "gtest" else cpp.told_by_cases(root)
        except (OSError, ValueError, TypeError, ElementTree.ParseError):
            return None, "the tests of %s ended without a report" % target
        tests = [(" > ".join(path), outcome) for path, outcome, _ in entries]
    return host.completed(host.merged((target + ":" + name, outcome) for name, outcome in tests)), None
