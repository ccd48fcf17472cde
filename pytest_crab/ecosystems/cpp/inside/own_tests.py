"""A project's own tests under CMake, automake or a harness in Tcl; CPython 3.6 up.

Where the environment's build has configured the tree by CMake, the targets of which files of a change are sources are
built, and each program of theirs writes its framework's report; one without a framework passes where it ends with 0.
Automake tells of each test in a file beside it. The harness of servers that speak Redis's protocol only prints, so
what its clients send is noted.
"""

import json
import os
import re
import time

#: The folder below the tree that is configured, and where CMake tells there of its targets.
FOLDER = "crab-build"
TOLD = ".cmake/api/v1/reply"
#: What a program says of itself when it is asked for help, and how it is told to write its report.
FRAMEWORKS = {
    "gtest": (b"Google Test", ["--gtest_output=xml:%s"]),
    "doctest": (b"[doctest]", ["-r=xml", "-o=%s"]),
    "catch2": (b"Catch", ["-r", "xml", "-o", "%s"]),
}
#: The outcomes of automake's tests by its words, where they did not fail.
CHECKED = {"PASS": "passed", "SKIP": "skipped", "XFAIL": "skipped"}
#: The main file of the harness in Tcl, and what runs it: each outcome that a client sends is noted as well. Clients are
#: started by the script's own name, so the file is not sourced but read.
HARNESS = "tests/test_helper.tcl"
TCL = """\
set crab_report {%s}
rename proc crab_proc
crab_proc proc {name words body} {
    uplevel 1 [list crab_proc $name $words $body]
    if {$name ne "send_data_packet"} return
    rename send_data_packet crab_send
    crab_proc send_data_packet {place status data args} {
        if {$status in {ok err skip ignore}} {
            set out [open $::crab_report a]
            puts $out "$status [binary encode hex [encoding convertto utf-8 $data]]"
            close $out
        }
        crab_send $place $status $data {*}$args
    }
}
set crab_file [open {%s}]
set crab_text [read $crab_file]
close $crab_file
eval $crab_text
"""
SENT = {"ok": "passed", "err": "failed", "skip": "skipped", "ignore": "skipped"}


def run(host, run):
    """Run the tests that files belong to, by what builds the project; the result."""
    end = time.monotonic() + run["seconds"]
    env, _ = host.environment()
    root = host.job["workdir"]
    if os.path.isdir(os.path.join(root, FOLDER)):
        return built_by_cmake(host, run, env, end)
    if os.path.isfile(os.path.join(root, HARNESS)):
        return told_by_tcl(host, run, env, end)
    return checked(host, env, end)


def checked(host, env, end):
    """Run automake's tests; the result, with ``check`` before each name."""
    root = host.job["workdir"]
    for place in told_files(root):
        os.unlink(place)
        if os.path.isfile(place[:-4] + ".log"):
            os.unlink(place[:-4] + ".log")
    argv = ["/usr/bin/env", "make", "-k", "check"]
    seen = host.process(argv, env, root, end - time.monotonic(), printed=False)

    def read(*_):
        told = []
        for place in told_files(root):
            words = re.findall(r"(?m)^:test-result:\s*(\w+)", host.reports.text_of(place))
            name = os.path.relpath(place, root)[:-4]
            told += [("check:" + name, CHECKED.get(word, "failed")) for word in words]
        return (host.completed(host.merged(told)), None) if told else (None, "make check told of no test")

    return host.conclude(seen, read)


def told_files(root):
    """Return the files by which automake tells of tests, which have a log beside them."""
    files = (os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names)
    return sorted(file for file in files if file.endswith(".trs"))


def told_by_tcl(host, run, env, end):
    """Run the named tests of the files under the harness in Tcl; the result, with the file before each name."""
    root, tests = host.job["workdir"], run["tests"]
    outcomes = []
    for file in tests["files"]:
        if not (file.startswith("tests/") and file.endswith(".tcl") and os.path.isfile(os.path.join(root, file))):
            continue
        report = os.path.join(host.folder, "overlay", os.urandom(8).hex())
        with open(report + ".tcl", "w") as script:
            script.write(TCL % (report, HARNESS))
        argv = ["/usr/bin/env", "tclsh", report + ".tcl", "--single", file[len("tests/") : -4]]
        argv += options_of_tcl(tests["names"])
        seen = host.process(argv, env, root, end - time.monotonic(), printed=False)
        result = host.conclude(seen, lambda *_, asked=(file, report): sent(host, *asked))
        if not host.gather(outcomes, result, file):
            return result
    return host.completed(outcomes)


def options_of_tcl(names):
    """Return options for tests of these names alone, of which one that raises an error does not end the others.

    Old harnesses take an expression for ``--only``, later ones a name, or an expression behind a slash.
    """
    options = ["--clients", "1", "--durable"]
    for name in names:
        words = [re.sub(r"(\W)", r"\\\1", word) for word in name.split()]
        expression = r"^\s*%s\s*$" % r"\s+".join(words)
        options += ["--only", expression, "--only", "/" + expression]
    return options


def sent(host, file, report):
    """Return what the clients of the harness in Tcl sent of their tests."""
    told = []
    for status, data in (line.split() for line in host.reports.text_of(report).split("\n") if " " in line.strip()):
        name = bytes.fromhex(data).decode("utf-8", "replace")
        if status == "err":
            name = name.partition("\n")[0].rpartition(" in ")[0]
        elif status == "ignore":
            name = name.rpartition(": ")[0]
        told.append(("%s:%s" % (file, name), SENT[status]))
    return host.completed(host.merged(told)), None


def built_by_cmake(host, run, env, end):
    """Build and run the programs that the files belong to; the result, with the target before each name."""
    root = host.job["workdir"]
    outcomes = []
    for target, program in programs(host, root, run["tests"]["files"]):
        argv = ["/usr/bin/env", "cmake", "--build", os.path.join(root, FOLDER), "--target", target]
        seen = host.process(argv, env, root, end - time.monotonic(), printed=True, errors=True)
        if seen["killed"]:
            return host.conclude(seen, None)
        if seen["status"] != 0 or not os.path.isfile(program):
            lacking = host.parts["cpp_runner"].not_installed(host, seen["report"].decode("utf-8", "replace"))
            outcomes.append(dict(host.error("MissingPackage" if lacking else "BuildFailed"), id=target + ":"))
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


def programs(host, root, files):
    """Return the programs, by target, of which files are sources; of none, those in the folders of the files."""
    replies = os.path.join(root, FOLDER, TOLD)
    found = {}
    for name in sorted(os.listdir(replies)) if os.path.isdir(replies) else ():
        if not name.startswith("target-"):
            continue
        try:
            said = json.loads(host.reports.text_of(os.path.join(replies, name)))
            if said["type"] == "EXECUTABLE":
                place = os.path.normpath(os.path.join(root, FOLDER, said["artifacts"][0]["path"]))
                found[str(said["name"]), place] = {str(source["path"]) for source in said["sources"]}
        except (EOFError, ValueError, LookupError, TypeError, RecursionError):
            continue  # a step of the build may write here too
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
        entries = cpp.told(host, kind, host.reports.text_of(report))
        tests = [(" > ".join(path), outcome) for path, outcome, _ in entries]
    return host.completed(host.merged((target + ":" + name, outcome) for name, outcome in tests)), None
