"""Oracles in C and C++: a program of our own is linked with what the build made of the project; CPython 3.6 up.

The oracle is never in the tree, and no test, test main or build file of the project takes part in it. It is compiled
with the environment's flags after the build's processes have ended, and linked with a main function that was compiled
when the environment was built. Each test runs in a process of its own, with tests behind it that must fail. These say
a word that the process was given and that is out of reach before any code of the project runs; the report goes to a
socket, where nothing that was written can be taken back. What code in the oracle's process can still do is in the docs.
"""

import os
import re
import shlex
import signal
import tempfile
import time

#: Signals by which a test fails: what the code did wrong, and no limit of the sandbox.
FATAL = ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGTRAP")
#: Runs before any initializer of a library or program: takes the process's word, and sets the way out aside.
FIRST = """\
#ifdef __cplusplus
extern "C" {
#endif
static char %(n)s_word[40];
int %(n)s_dup2(int, int) __asm__("dup2");
int %(n)s_fcntl(int, int, ...) __asm__("fcntl");
__attribute__((no_sanitize("address"), no_sanitize("undefined"), no_sanitize("thread")))
static void %(n)s_first(int count, char **words, char **variables) {
  for (int i = 0; count > 2 && i < 39 && words[1][i]; ++i) {
    %(n)s_word[i] = words[1][i];
    words[1][i] = 0;
  }
  %(n)s_fcntl(1, 1030, 64);
  %(n)s_dup2(2, 1);
}
__attribute__((section(".preinit_array"), used))
static void (*%(n)s_start)(int, char **, char **) = %(n)s_first;
#ifdef __cplusplus
}
#endif
#line 1 "%(file)s"
"""
#: Tests that must fail, by framework; each says the word.
WIRES = {
    "gtest": """
#line 1 "%(n)s"
TEST(%(n)s, equal) { EXPECT_EQ(%(v)d, %(v)d + 1) << %(n)s_word; }
TEST(%(n)s, that) { ASSERT_TRUE(%(v)d == %(v)d + 1) << %(n)s_word; }
TEST(%(n)s, throws) { EXPECT_THROW((void)%(n)s_word, int) << %(n)s_word; }
TEST(%(n)s, plain) { FAIL() << %(n)s_word; }
""",
    "doctest": """
#line 1 "%(n)s"
TEST_CASE("%(n)s.equal") { INFO(%(n)s_word); CHECK_EQ(%(v)d, %(v)d + 1); }
TEST_CASE("%(n)s.that") { INFO(%(n)s_word); REQUIRE(%(v)d == %(v)d + 1); }
TEST_CASE("%(n)s.throws") { INFO(%(n)s_word); CHECK_THROWS((void)%(n)s_word); }
TEST_CASE("%(n)s.plain") { FAIL(%(n)s_word); }
""",
    "catch2": """
#line 1 "%(n)s"
TEST_CASE("%(n)s.equal") { INFO(%(n)s_word); CHECK(%(v)d == %(v)d + 1); }
TEST_CASE("%(n)s.that") { INFO(%(n)s_word); REQUIRE(%(v)d == %(v)d + 1); }
TEST_CASE("%(n)s.throws") { INFO(%(n)s_word); CHECK_THROWS((void)%(n)s_word); }
TEST_CASE("%(n)s.plain") { FAIL(%(n)s_word); }
""",
    "c": """
#line 1 "%(n)s"
#ifndef assert
#include <assert.h>
#endif
int %(n)s_write(int, const void *, unsigned long) __asm__("write");
void %(n)s_exit(int) __asm__("_exit");
static int %(n)s_same(const char *one, const char *other) {
  while (*one && *one == *other) { ++one; ++other; }
  return *one == *other;
}
static void %(n)s_say(const char *what) {
  int length = 0;
  while (what[length]) ++length;
  %(n)s_write(64, %(n)s_word, 32);
  %(n)s_write(64, what, length);
}
static void %(n)s_wire(void) { assert(%(n)s_word[0] == 1); }
static const struct { const char *name; void (*run)(void); } %(n)s_tests[] = {%(tests)s{0, 0}};
#undef main
int main(int count, char **words) {
  for (int i = 0; count > 2 && %(n)s_tests[i].name; ++i)
    if (%(n)s_same(words[2], %(n)s_tests[i].name)) {
      %(n)s_say(" begun\\n");
      %(n)s_tests[i].run();
      %(n)s_say(" passed\\n");
      %(n)s_wire();
      %(n)s_say(" went on\\n");
    }
  %(n)s_exit(1);
}
""",
}
KINDS = ("equal", "that", "throws", "plain")
#: The argument that selects a test and those that must fail, by framework.
SELECTED = {"gtest": "--gtest_filter=%s:%s.*", "doctest": "--test-case=%s,%s.*", "catch2": '"%s","%s.*"'}
#: The functions of the C library by which a test compares and fails and a report is told: a project has none itself.
SYMBOLS = (
    *("__assert_fail", "abort", "raise", "write", "_exit", "fopen", "fdopen", "fcntl", "dup2"),
    *("strcmp", "strncmp", "strcasecmp", "strncasecmp", "memcmp", "bcmp", "wcscmp", "strlen", "strstr"),
)
C_TEST = re.compile(r"(?m)^(?:static[ \t]+)?void\s+(test\w*)\s*\(\s*(?:void)?\s*\)\s*\{")
PLACE = re.compile(r"(?m)^([^\s:]+):(\d+)(?::\d+)?: (?:fatal )?error")
MISSING = re.compile(r"fatal error: \S+: No such file or directory|cannot find -l")
#: How GCC says that a header is not there which stands between angle brackets, as those of other projects do.
LACKING = re.compile(r"(?m)^([^\s:]+):\d+:\d+: fatal error: (\S+): No such file or directory\n *\d+ \| *# *include *<")
#: How the linker and make say what failed, where no recipe did.
OTHERWISE = re.compile(r"undefined reference|multiple definition|\*\*\* (?:missing separator|No rule to make)")
#: The text of an error of CMake's, and how it says there which package it does not find; pkg-config says it before.
CMAKE = re.compile(r"(?m)^CMake Error at \S+ \((?:find_package|message)\):\n((?:  .*\n|\n)+)")
UNFOUND = re.compile(
    r"package\s+configuration\s+file\s+provided\s+by\s+\"([^\"]+)\"|Could\s+NOT\s+find\s+(\w+)(?=\s+\(missing|,\s+try\s)"
    r"|required\s+packages?\s+(?:was|were)\s+not\s+found"
)
PACKAGE = re.compile(r"Package (?:(\S+) was not found in the pkg-config|'(\S+)', required by)|No package '(\S+)' found")
#: What the linker says of functions of the C library, which the harness asks it for: no error of the build.
TRACED = re.compile(r"\S+: \S+: (?:definition of|reference to) \S+$")
#: A line of a preprocessed file: where what follows comes from, or a macro that is made or taken away.
MARK = re.compile(r'(?m)^# \d+ "((?:[^"\\]|\\.)*)" ([12])(?: [34])*$|^#(?:define|undef) (\w+)')
OF_FRAMEWORK = re.compile(r"(?i)gtest|gmock|googletest|googlemock|doctest|catch2?")


def run(host, run):
    """Compile and link one oracle and run each of its tests, then judge by all of them."""
    job, oracle = host.job, run["oracle"]
    end = time.monotonic() + run["seconds"]
    env, _ = host.environment()
    env.setdefault("ASAN_OPTIONS", "abort_on_error=1:detect_leaks=0")
    env.setdefault("UBSAN_OPTIONS", "halt_on_error=1:abort_on_error=1")
    home = os.path.normpath(os.path.join(job["workdir"], oracle["folder"]))
    if not os.path.isdir(home):
        return host.completed([host.error("MissingFolder")])
    spec = write(host, oracle, env)
    if oracle["runner"] != "c" and not os.path.exists(spec["main"] + ".o"):
        return {"ending": "unstarted", "detail": lack(oracle["runner"])}
    altered = set()
    for argv in (spec["expand"], spec["compile"], spec["link"]):
        seen = host.process(argv, env, job["workdir"], end - time.monotonic(), printed=True, errors=True)
        if seen["killed"] or seen["status"] != 0:
            return host.conclude(seen, lambda data, _: unbuilt(host, spec, data))
        if argv is spec["expand"]:
            altered |= told_of(job, run["state"], spec)
        elif argv is spec["link"]:
            altered |= defined(seen["report"])
    for name in os.listdir(spec["private"]):  # no test reads the oracle
        os.unlink(os.path.join(spec["private"], name))
    return judge(host, spec, env, home, end, altered)


def lack(runner):
    """Return what to do about a framework whose main function the environment does not have."""
    return (
        "%s is not in the environment, or its header does not compile there: name it in environment.packages, and "
        "install it (Debian: libgtest-dev, doctest-dev, catch2) or give CPPFLAGS its folder" % runner
    )


def write(host, oracle, env):
    """Write the oracle and what must fail into one file, in a folder that nothing knew before; what is to be known."""
    name, folder = host.token(), host.folder
    private = tempfile.mkdtemp(dir=os.path.join(folder, "oracle"))
    kind, file = oracle["runner"], os.path.basename(oracle["file"])
    tests = list(dict.fromkeys(C_TEST.findall(oracle["source"]))) if kind == "c" else []
    words = {"n": name, "v": int.from_bytes(os.urandom(3), "big"), "file": file}
    words["tests"] = "".join('{"%s", %s}, ' % (test, test) for test in tests)
    place = os.path.join(private, "oracle" + (".c" if kind == "c" else ".cpp"))
    with open(place, "w", encoding="utf-8", newline="") as out:
        out.write(FIRST % words + oracle["source"] + WIRES[kind] % words)
    expanded, binary = os.path.join(private, "oracle" + (".i" if kind == "c" else ".ii")), os.path.join(folder, "test")
    compiler, own = env["CC" if kind == "c" else "CXX"], "CFLAGS" if kind == "c" else "CXXFLAGS"
    flags = [word for key in ("CPPFLAGS", own) for word in shlex.split(env.get(key, ""))]
    libraries, linked = shlex.split(env.get("LDLIBS", "")), [os.path.join(private, "oracle.o")]
    main = os.path.join(env["CRAB_MAINS"], kind)
    if kind != "c":
        framework = shlex.split(read_text(main + ".libraries"))
        linked += [main + ".o", *framework, *libraries, *framework]
    else:
        linked += libraries
    traced = ["-Wl,-y," + symbol for symbol in SYMBOLS] + (["-Wl,--wrap=fopen"] if kind == "gtest" else [])
    return {
        "name": name, "kind": kind, "file": file, "private": private, "binary": binary, "tests": tests, "main": main,
        "expanded": expanded, "expand": [compiler, *flags, "-w", "-E", "-dD", place, "-o", expanded],
        "compile": [compiler, *flags, "-w", "-c", expanded, "-o", linked[0]],
        "link": [compiler, *flags, *shlex.split(env.get("LDFLAGS", "")), *traced, *linked, "-pthread", "-o", binary],
    }  # fmt: skip


def read_text(path):
    """Return the text of a small file; nothing where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def unbuilt(host, spec, data):
    """Return the report of a compiler or linker that failed: no test ran."""
    text = data.decode("utf-8", "replace")
    host.quote("session", "\n".join(line for line in text.split("\n") if not TRACED.match(line)))
    text = text[: host.TEXT]
    if "Killed signal terminated program" in text:
        return {"signal": int(signal.SIGKILL)}, None
    found = [(path, line) for path, line in PLACE.findall(text) if path not in (spec["file"], spec["name"])]
    exception = "MissingFile" if MISSING.search(text) else "BuildFailed"
    if found and not_installed(host, text):  # which the oracle did not ask for
        exception = "MissingPackage"
    return host.completed([host.error(exception, ":".join(found[0]) if found else None)]), None


def not_installed(host, text):
    """Return the header or package that a failed build asks for and that is not there; None for any other failure."""
    header = LACKING.search(text)
    if header:
        end = os.sep + header.group(2)
        files = (os.path.join(folder, name) for folder, _, names in os.walk(host.job["workdir"]) for name in names)
        return None if any(file.endswith(end) for file in files) else header.group(2)
    error = CMAKE.search(text)
    if error:
        found, text = UNFOUND.search(error.group(1)), text[: error.start()]
        name = found and (found.group(1) or found.group(2))
        if name or not found:
            return name
    elif PLACE.search(text) or OTHERWISE.search(text):  # pkg-config may say it of a package that is optional
        return None
    packages = PACKAGE.findall(text)
    return "".join(packages[-1]) if packages else None


def told_of(job, state, spec):
    """Return labels of what the oracle was expanded with that is not the environment's own.

    These are another framework than that of the main function, files of a framework in the tree that the state or its
    build changes, and macros of the framework that the project makes or takes away.
    """
    tree = os.path.realpath(job["workdir"])

    def placed(path):
        path = os.path.normpath(path)
        return path[len(tree) + 1 :] if path.startswith(tree + os.sep) else path

    said = read_text(spec["main"] + ".header").strip()
    header = said and placed(said)
    own = root_of(header)
    found, files, macros = set(), set(), ({"assert", "NDEBUG"}, set())
    here = spec["file"]
    with open(spec["expanded"], encoding="utf-8", errors="replace") as file:
        for path, _, macro in MARK.findall(file.read()):
            if path:
                here = placed(path)
                files.add(here)
            elif header and here.startswith(own):
                macros[0].add(macro)
            elif here[:1] not in "/<" and os.path.exists(os.path.join(tree, here)):
                macros[1].add(macro)
    found |= {"macro:" + name for name in macros[0] & macros[1]}
    if header:
        same = {file for file in files if os.path.basename(file) == os.path.basename(header)}
        changed = {path for path, _, _ in job["states"][state] if path.startswith(own)}
        changed |= {file for file in files if file.startswith(own) and is_other(job["tree"], tree, file)}
        found |= {"framework:" + file for file in changed | (same - {header})}
    return found


def root_of(header):
    """Return the outermost folder that is a framework's, with a slash, by the path of its header.

    It is the header itself where no folder is: that may lie beside others, whose changes are none of the framework.
    """
    own, folder = header, os.path.dirname(header)
    while folder not in ("", "/"):
        if OF_FRAMEWORK.search(os.path.basename(folder)):
            own = folder + os.sep
        folder = os.path.dirname(folder)
    return own


def is_other(pristine, tree, file):
    """Return whether a file of the work folder is not as it is in the pristine tree; no file outside of it is."""
    if file.startswith("/"):
        return False
    texts = []
    for folder in (pristine, tree):
        try:
            with open(os.path.join(folder, file), "rb") as opened:
                texts.append(opened.read())
        except OSError:
            texts.append(None)
    return texts[0] != texts[1]


def defined(data):
    """Return labels of functions of the C library for which the project has its own, by what the linker traced."""
    text = data.decode("utf-8", "replace")
    told = re.findall(r"(?m)^(?:\S*/)?ld\S*: (\S+): definition of (\w+)$", text)
    return {"symbol:" + name for path, name in told if not path.startswith(("/usr/", "/lib"))}


# --- running ---------------------------------------------------------------------------------------------------------


def judge(host, spec, env, home, end, altered):
    """Run each test in a process of its own; the result of the first that came to no right end, else of all."""
    names = spec["tests"]
    if spec["kind"] != "c":
        seen = host.process([spec["binary"], "", ""], env, home, end - time.monotonic(), printed=True)
        result = host.conclude(seen, lambda data, _: listed(host, spec, data))
        if result["ending"] != "completed":
            return result
        names = [test["id"] for test in result["tests"]]

    def alone(name):
        word = os.urandom(16).hex()
        selected = SELECTED[spec["kind"]] % (escaped(spec["kind"], name), spec["name"]) if spec["kind"] != "c" else name
        seen = host.process([spec["binary"], word, selected], env, home, end - time.monotonic(), printed=True)
        return ended(host, spec, name, word, seen)

    return host.all_of(map(alone, names), altered)


def escaped(kind, name):
    """Return a test's name as its framework selects it."""
    return name if kind == "gtest" else re.sub(r'([\\,"\[\]])' if kind == "catch2" else r"([\\,])", r"\\\1", name)


def ended(host, spec, name, word, seen):
    """Return the result of one test's process; a signal is a failure of the test that had begun."""
    status = seen["status"]
    if seen["killed"] or status is None or not os.WIFSIGNALED(status) or any(seen["grown"].values()):
        return host.conclude(seen, lambda data, code: read(host, spec, name, word, data, code))
    number = next((name for name in FATAL if getattr(signal, name) == os.WTERMSIG(status)), None)
    data = seen["report"].decode("utf-8", "replace")
    marks = [word + " begun\n", word + " passed\n"] if spec["kind"] == "c" else ["begun\n"]
    if number is None or not data.startswith(marks[0]):
        return host.conclude(seen, None)
    if spec["kind"] == "c" and data == "".join(marks) and number == "SIGABRT":  # by the assertion that must fail
        return host.completed([outcome(name, "passed")])
    return host.completed([outcome(name, "failed", number)])


def outcome(name, word, exception=None):
    """Return the outcome of one test."""
    return {"id": name, "outcome": word, "exception": exception, "where": None}


# --- reading ---------------------------------------------------------------------------------------------------------


def begun(data):
    """Return what a process told after it said that it began. Raises EOFError where it did not."""
    mark, _, text = data.decode("utf-8", "replace").partition("\n")
    if mark != "begun" or not text:
        raise EOFError("there is no report")
    return text


def listed(host, spec, data):
    """Return the tests of a program as its framework lists them, or None and what is wrong."""
    text = begun(data)
    if spec["kind"] == "catch2":
        names = [name for name in text.split("\n") if name]
    elif spec["kind"] == "gtest":
        names = [".".join(path) for path, _, _, _ in host.reports.junit(text)]
    else:
        names = [str(case.get("name")) for case in host.reports.xml(text).iter("TestCase")]
    wires = {spec["name"] + "." + kind for kind in KINDS}
    if not wires <= set(names):
        return None, "the tests were not listed whole"
    tests = [outcome(name, "passed") for name in dict.fromkeys(names) if name not in wires]
    return host.completed(tests), None


def read(host, spec, name, word, data, code):
    """Return the report of one test's process, or None and what is wrong with it."""
    if spec["kind"] == "c":
        went_on = data.decode("utf-8", "replace") == "%s begun\n%s passed\n%s went on\n" % (word, word, word)
        if not went_on or code != 1:
            return None, "the process ended without a report"
        return host.completed([outcome(name, "passed")], tripwire=False), None
    entries = told(host, spec["kind"], begun(data))
    if code != 1:
        return None, "the report and exit code %d do not agree" % code
    wires = {spec["name"] + "." + kind: False for kind in KINDS}
    tests, used = [], {}
    for path, state, text in entries:
        if path[0] in wires:
            wires[path[0]] = state == "failed" and word in text
        elif path[0] == name:
            label = " > ".join(path)[: host.TEST]
            used[label] = used.get(label, 0) + 1
            tests.append(outcome(label, state, "Failed" if state == "failed" else None))
            if state == "failed":
                host.quote(label, text)
    twice = {"oracle:" + label for label, count in used.items() if count > 1}
    return host.completed(tests, all(wires.values()), twice), None


def told(host, kind, text):
    """Return (path, outcome, text) for each test of a report, and in doctest and Catch2 for each part of one.

    Raises ValueError where counts disagree.
    """
    if kind == "gtest":
        cases = host.reports.junit(text, counted=True)
        return [(["%s.%s" % (case["classname"], path[-1])], state, words) for path, state, words, case in cases]
    root, entries, count = host.reports.xml(text), [], 0
    for case in root.iter("TestCase"):
        name, ends = str(case.get("name")), case.find("OverallResultsAsserts")
        ends = case.find("OverallResult") if ends is None else ends
        if ends is None:
            entries.append(([name], "skipped", ""))
            continue
        told = ends.get("test_case_success", ends.get("success"))
        state = "passed" if told == "true" else "failed"
        count += state == "failed"
        if int(ends.get("skips", "0")) and state == "passed":
            state = "skipped"
        entries.append(([name], state, "".join(case.itertext())))
        parts = {}
        walk(case, (name,), parts)
        ends = {True: "failed" if state == "failed" else "passed", False: "skipped" if state == "skipped" else "passed"}
        entries += [(list(path), ends[bad], "") for path, bad in parts.items()]
    totals = root.find("OverallResultsTestCases")
    totals = root.find("OverallResultsCases") if totals is None else totals
    if totals is None or count != int(totals.get("failures")):
        raise ValueError("the counts do not agree")
    return entries


def walk(element, path, parts):
    """Collect whether something failed in the parts below an element, which may come several times; whether in all."""
    bad = False
    for child in element:
        if child.tag in ("SubCase", "Section"):
            inner = (*path, str(child.get("name")))
            below = walk(child, inner, parts)
            parts[inner] = parts.get(inner, False) or below
            bad = bad or below
        elif child.tag in ("Exception", "FatalErrorCondition", "Failure"):
            bad = True
        elif child.tag in ("Expression", "Message"):
            warns = child.get("type", "").upper().startswith(("WARN", "CHECK_NOFAIL"))
            bad = bad or (child.get("success", "false") == "false" and not warns)
    return bad
