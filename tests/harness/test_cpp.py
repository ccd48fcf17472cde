"""Oracles in C and C++: the same contract as pytest's, what a crash hides, and what a revision may try."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crab import harness, verdict
from pytest_crab.ecosystems.cpp.inside import own_tests, runner as inside
from pytest_crab.ecosystems.cpp.tools import CppTools
from pytest_crab.protocols import FileChange
from pytest_crab.types import Ending, Environment, Oracle, Reason, Run
from tests.harness.conftest import Bench, changed, proof, told

pytestmark = pytest.mark.cpp

ADD = "int add(int a, int b) {\n  return a + b;\n}\n"
BAD = ADD.replace("a + b", "a - b")
HEADER = '#ifdef __cplusplus\nextern "C"\n#endif\nint add(int a, int b);\n'
SUM = '#include <gtest/gtest.h>\n#include "add.h"\n\nTEST(Add, Sum) { EXPECT_EQ(add(1, 2), 3); }\n'
PLAIN = '#include <assert.h>\n#include "add.h"\n\nvoid\ntest_sum (void)\n{ assert(add(1, 2) == 3); }\n'
CASES = (
    '#include <FRAMEWORK>\n#include "add.h"\n\n'
    'TEST_CASE("a sum, of two") {\n  PART("small") { CHECK(add(1, 2) == 3); }\n'
    '  PART("none") { CHECK(add(0, 0) == 0); }\n}\n'
)
MAKEFILE = "libadd.a: add.o\n\t$(AR) rcs $@ $^\nadd.o: add.c add.h\n\t$(CC) -c add.c\n"


class Place:
    """This machine's GCC, with main functions that lie in a folder."""

    def __init__(self, folder: Path) -> None:
        tools = CppTools()
        found = tools.here()
        assert found is not None
        self.tool = dataclasses.asdict(tools.placed(found, str(folder)))


def build_mains(folder: Path, packages: tuple[str, ...]) -> None:
    """Compile the main functions of some frameworks into a folder."""
    script = CppTools().build_script(Environment(ecosystem="cpp", version="12", packages=packages, build=()))
    env = {"PATH": "/usr/bin:/bin", **Place(folder).tool["env"]}
    subprocess.run(["sh", "-c", script], env=env, check=True, cwd=folder)


@pytest.fixture(scope="session")
def place(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Place:
    return Place(made_once("mains", lambda folder: build_mains(folder, ("gtest", "doctest"))))


class CppBench:
    """The harness's bench with a library that adds, which make builds."""

    def __init__(self, bench: Bench, place: Place) -> None:
        self.bench = bench
        bench.write("add.c", ADD)
        bench.write("add.h", HEADER)
        bench.write("Makefile", MAKEFILE)
        bench.facts = {"tools": {"cpp": place.tool}}
        bench.build = ("make",)
        bench.env = {"CPPFLAGS": "-I.", "LDLIBS": "libadd.a"}
        subprocess.run(["make", "-s"], cwd=bench.folder / "tree", check=True)

    def run(self, source: str, *changes: FileChange, runner: str = "gtest", seconds: float = 100) -> Run:
        suffix = ".c" if runner == "c" else ".cpp"
        oracle = Oracle(file=f"oracles/test_c0{suffix}", runner=runner)
        run = harness.OracleRun(id="c0", state="now", seconds=seconds, oracle=oracle, source=source)
        report = self.bench.report([run], now=changes)
        assert report.problems == ()
        return report.runs[0]


@pytest.fixture
def cpp(bench: Bench, place: Place) -> CppBench:
    return CppBench(bench, place)


def reason(run: Run, *expected: str) -> Reason:
    return verdict.judge(proof(*(expected or ("Add.Sum",))), run).reason


def cases(runner: str) -> str:
    part, header = ("SECTION", "catch2/catch.hpp") if runner == "catch2" else ("SUBCASE", "doctest/doctest.h")
    return CASES.replace("PART", part).replace("FRAMEWORK", header)


SOURCES = {"gtest": SUM, "c": PLAIN, "doctest": cases("doctest")}
TESTS = {"gtest": "Add.Sum", "c": "test_sum", "doctest": "a sum, of two"}


@pytest.mark.parametrize("runner", SOURCES)
def test_a_green_oracle_is_caught_and_a_red_one_is_properly_red(cpp: CppBench, runner: str) -> None:
    green = cpp.run(SOURCES[runner], runner=runner)
    assert (green.ending, green.exit_code, green.tripwire, green.altered) == (Ending.COMPLETED, 1, True, ())
    assert reason(green, *told(green)) is Reason.GREEN
    assert TESTS[runner] in told(green)
    red = cpp.run(SOURCES[runner], changed("add.c", BAD), runner=runner)
    assert verdict.not_red(proof(*told(green)), red) is None


def test_what_failed_tests_say_is_told_where_it_is_asked_for(cpp: CppBench) -> None:
    gtest, doctest = (Oracle(file="oracles/test_c0.cpp", runner=runner) for runner in ("gtest", "doctest"))
    bad = changed("add.c", BAD)
    assert "-1" in cpp.bench.quoted(gtest, SUM, bad)["Add.Sum"]
    assert "-1" in cpp.bench.quoted(doctest, cases("doctest"), bad)["a sum, of two"]
    unbuilt = cpp.bench.quoted(gtest, SUM.replace("add(1", "ad(1"), bad)["session"]
    assert "test_c0.cpp:4" in unbuilt and "make" not in unbuilt
    cpp.bench.env = {"CPPFLAGS": "-I."}
    assert "undefined reference to `add'" in cpp.bench.quoted(gtest, SUM)["session"][:300]


@pytest.mark.slow(reason="C++ is compiled")
def test_parts_of_a_case_have_their_paths(cpp: CppBench) -> None:
    red = cpp.run(cases("doctest"), changed("add.c", BAD), runner="doctest")
    case = "a sum, of two"
    assert told(red) == {case: "failed", f"{case} > small": "failed", f"{case} > none": "passed"}


@pytest.mark.slow(reason="Catch2 is compiled")
def test_catch2_has_its_cases_and_sections(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "mains").mkdir()
    build_mains(tmp_path / "mains", ("catch2",))
    cpp = CppBench(bench, Place(tmp_path / "mains"))
    assert set(told(cpp.run(cases("catch2"), runner="catch2")).values()) == {"passed"}
    red = cpp.run(cases("catch2"), changed("add.c", BAD), runner="catch2")
    case = "a sum, of two"
    assert told(red) == {case: "failed", f"{case} > small": "failed", f"{case} > none": "passed"}
    assert cpp.run(SUM).ending is Ending.UNSTARTED


@pytest.mark.parametrize("runner", SOURCES)
def test_a_crash_is_a_failure_that_hides_no_other_test(cpp: CppBench, runner: str) -> None:
    more = {
        "gtest": "TEST(Add, Big) { add(9, 9); }\n",
        "doctest": 'TEST_CASE("big") { add(9, 9); }\n',
        "c": "void test_big(void) { add(9, 9); }\n",
    }
    crash = ADD.replace("return", "if (a == 9) { int *p = 0; *p = 1; }\n  return")
    run = cpp.run(SOURCES[runner] + more[runner], changed("add.c", crash), runner=runner)
    failures = {test.id: test.exception for test in run.tests if test.outcome != "passed"}
    assert list(failures.values()) == ["SIGSEGV"]
    assert TESTS[runner] in told(run)
    assert verdict.not_red(proof(*told(run)), run) is None


def test_a_signal_without_a_name_ends_its_run_alone(cpp: CppBench) -> None:
    run = cpp.run(SOURCES["c"], wrong("#include <signal.h>", "kill(getpid(), 40); return 0"), runner="c")
    assert (run.ending, run.signal) == (Ending.CRASHED, 40)


def test_skipped_and_disabled_tests_are_never_passed(cpp: CppBench) -> None:
    run = cpp.run("#include <gtest/gtest.h>\nTEST(A, b) { GTEST_SKIP(); }\nTEST(A, DISABLED_c) {}\nTEST(A, d) {}\n")
    assert told(run) == {"A.b": "skipped", "A.DISABLED_c": "skipped", "A.d": "passed"}
    assert reason(run, *told(run)) is Reason.SKIPPED
    skipped = (
        '#include <doctest/doctest.h>\nTEST_CASE("a" * doctest::skip()) {}\nTEST_CASE("b" * doctest::may_fail()) {}\n'
    )
    assert told(cpp.run(skipped, runner="doctest")) == {"a": "skipped", "b": "passed"}


@pytest.mark.slow(reason="C++ is compiled")
def test_parameters_and_types_have_the_names_of_the_framework(cpp: CppBench) -> None:
    run = cpp.run(
        "#include <gtest/gtest.h>\nclass P : public testing::TestWithParam<int> {};\n"
        "TEST_P(P, p) { EXPECT_LT(GetParam(), 2); }\n"
        "INSTANTIATE_TEST_SUITE_P(I, P, testing::Values(1, 2));\n"
        "template <class T> class Q : public testing::Test {};\nTYPED_TEST_SUITE(Q, testing::Types<int>);\n"
        "TYPED_TEST(Q, q) {}\n"
    )
    assert told(run) == {"I/P.p/0": "passed", "I/P.p/1": "failed", "Q/0.q": "passed"}


@pytest.mark.slow(reason="C++ is compiled")
@pytest.mark.parametrize(
    ("source", "changes", "exception"),
    [
        (SUM.replace("add(1, 2)", "sum(1, 2)"), (), "BuildFailed"),
        (SUM.replace("add.h", "other.h"), (), "MissingFile"),
        (SUM.replace('#include "add.h"', 'extern "C" int sum(int, int);').replace("add(", "sum("), (), "BuildFailed"),
    ],
    ids=["compile", "header", "link"],
)  # fmt: skip
def test_what_does_not_compile_is_an_error_and_not_red(
    cpp: CppBench, source: str, changes: tuple[FileChange, ...], exception: str
) -> None:
    run = cpp.run(source, *changes)
    assert [(test.id, test.outcome, test.exception) for test in run.tests] == [("session", "error", exception)]
    assert verdict.not_red(proof("Add.Sum"), run) is not None


def test_a_project_that_does_not_compile_is_missed(cpp: CppBench) -> None:
    run = cpp.run(SUM, changed("add.c", ADD.replace("a + b", "a + c")))
    assert run.ending is Ending.UNINSTALLED
    assert "add.c:2" in (run.detail or "")


@pytest.mark.slow(reason="C++ is compiled")
def test_the_projects_own_tests_are_told_and_a_report_that_the_project_spoils_is_none(cpp: CppBench) -> None:
    spoiling = '#include <stdlib.h>\n__attribute__((destructor)) static void spoil(void) { system("%s"); }\n'
    command = "sed -zn 's/--gtest_output=xml://p' /proc/$PPID/cmdline | xargs -0 -n 1 ln -sf /dev/zero"
    linked = "add_executable(sums add.c tests/sum.cpp)\ntarget_link_libraries(sums gtest gtest_main pthread)\n"
    cpp.bench.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.10)\nproject(add C CXX)\n" + linked)
    cpp.bench.write("tests/sum.cpp", SUM.replace("add.h", "../add.h") + "TEST(Add, DISABLED_Left) {}\n")
    asking = (
        f"mkdir -p {own_tests.FOLDER}/.cmake/api/v1/query && touch {own_tests.FOLDER}/.cmake/api/v1/query/codemodel-v2"
    )
    cpp.bench.build = (asking, f"cmake -S . -B {own_tests.FOLDER}")
    found = cpp.bench.own("cpp", "tests/sum.cpp", good=[], bad=[changed("add.c", BAD)],
                          spoiled=[changed("add.c", ADD + spoiling % command)],
                          lacking=[changed("add.c", "#include <gone/all.h>\n" + ADD)])  # fmt: skip
    assert found == {
        "good": {"sums:Add.Sum": "passed", "sums:Add.DISABLED_Left": "skipped"},
        "bad": {"sums:Add.Sum": "failed", "sums:Add.DISABLED_Left": "skipped"},
        "spoiled": {"sums:": "error"},
        "lacking": {"sums:": "error"},
    }


CMAKE = "cmake_minimum_required(VERSION 3.10)\nproject(add C)\n{}add_library(add add.c)\n"
CONFIGURED = ("cmake -S . -B build", "cmake --build build")
WITH_PKG_CONFIG = "find_package(PkgConfig REQUIRED)\npkg_check_modules(GONE REQUIRED IMPORTED_TARGET gone>=1)\n"


@pytest.mark.parametrize(
    ("build", "change", "name"),
    [
        (("make",), changed("add.c", "#  include <gone/all.h>\n" + ADD), "gone/all.h"),
        (("make -B",), changed("Makefile", MAKEFILE.replace("$(CC)", "pkg-config --cflags gone && $(CC)")), "gone"),
        (CONFIGURED, changed("CMakeLists.txt", CMAKE.format("find_package(Gone REQUIRED)\n")), "Gone"),
        (CONFIGURED, changed("CMakeLists.txt", CMAKE.format("find_package(Armadillo REQUIRED)\n")), "Armadillo"),
        (CONFIGURED, changed("CMakeLists.txt", CMAKE.format(WITH_PKG_CONFIG)), "gone"),
    ],
    ids=["header", "pkg-config", "configuration", "module", "pkg-config in CMake"],
)
def test_a_library_that_is_not_installed_is_named(
    cpp: CppBench, build: tuple[str, ...], change: FileChange, name: str
) -> None:
    cpp.bench.write("CMakeLists.txt", CMAKE.format(""))
    cpp.bench.build = build
    run = cpp.run(PLAIN, change, runner="c")
    assert (run.ending, run.detail) == (
        Ending.UNINSTALLED, f"its build failed with MissingPackage: {name} is not installed",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("build", "changes"),
    [
        (("make",), [changed("add.c", '#include "gone.h"\n' + ADD)]),
        (("make",), [changed("add.c", "#include <own/all.h>\n" + ADD), changed("include/own/all.h", "")]),
        (("pkg-config --exists --print-errors gone || make",), [changed("add.c", ADD.replace("a + b", "a + c"))]),
        (
            ("pkg-config --exists --print-errors gone || true", *CONFIGURED),
            [changed("CMakeLists.txt", CMAKE.format("find_package(Gone)\nmessage(FATAL_ERROR no)\n"))],
        ),
        (
            ("pkg-config --exists --print-errors gone || true", "make"),
            [changed("Makefile", "all: gone.o\n")],
        ),
    ],
    ids=["a file of the tree", "a folder of the tree", "optional in make", "optional in CMake", "a target of make"],
)
def test_what_fails_for_another_cause_is_no_library(
    cpp: CppBench, build: tuple[str, ...], changes: list[FileChange]
) -> None:
    cpp.bench.write("CMakeLists.txt", CMAKE.format(""))
    cpp.bench.build = build
    run = cpp.run(PLAIN, *changes, runner="c")
    assert run.ending is Ending.UNINSTALLED
    assert re.search(r"[Ee]rror|\*\*\* ", run.detail or "")
    assert "MissingPackage" not in (run.detail or "")


def test_a_header_of_the_tree_that_asks_for_a_library_is_told_from_an_oracle_that_does(cpp: CppBench) -> None:
    asking = "#include <gone/all.h>\n"
    runs = [cpp.run(PLAIN, changed("more.h", asking), runner="c") for asking in ("", asking)]
    assert [told(run) for run in runs] == [{"test_sum": "passed"}] * 2
    within = PLAIN.replace('#include "add.h"', '#include "add.h"\n#include "more.h"')
    runs = [cpp.run(within, changed("more.h", asking), runner="c"), cpp.run(asking + PLAIN, runner="c")]
    assert [[test.exception for test in run.tests] for run in runs] == [["MissingPackage"], ["MissingFile"]]


@pytest.mark.slow(reason="C++ is compiled")
def test_sanitizers_make_a_red_of_what_they_see(cpp: CppBench) -> None:
    cpp.bench.env = {**cpp.bench.env, "CXXFLAGS": "-fsanitize=address,undefined"}
    assert told(cpp.run(SUM)) == {"Add.Sum": "passed"}
    after = SUM.replace("EXPECT", "int *p = new int(3); delete p; *(volatile int *)p = 4; EXPECT")
    (test,) = cpp.run(after).tests
    assert (test.outcome, test.exception) == ("failed", "SIGABRT")


@pytest.mark.slow(reason="C++ is compiled")
def test_a_hang_times_out(cpp: CppBench) -> None:
    endless = changed("add.c", ADD.replace("return", "for (volatile int on = 1; on;);\n  return"))
    assert cpp.run(SUM, endless, seconds=6).ending is Ending.TIMEOUT


# --- attacks ---------------------------------------------------------------------------------------------------------

GREEN = (
    '<testsuites tests=\\"1\\" failures=\\"0\\"><testsuite name=\\"Add\\">'
    '<testcase name=\\"Sum\\" status=\\"run\\" result=\\"completed\\" classname=\\"Add\\"/></testsuite></testsuites>'
)
FRAMEWORK = HEADER + "#include <gtest/gtest.h>\n#undef EXPECT_EQ\n"


def wrong(more: str, body: str = "return a - b") -> FileChange:
    """The wrong sum with more code beside it."""
    system = "".join(f"#include <{name}.h>\n" for name in ("setjmp", "stdio", "stdlib", "string", "unistd"))
    return changed("add.c", f"#define _GNU_SOURCE\n{system}{more}\nint add(int a, int b) {{\n  {body};\n}}\n")


def early(body: str) -> FileChange:
    """The wrong sum, with code that runs before main."""
    return wrong(f"__attribute__((constructor)) static void now(void) {{ {body} }}")


#: What a revision may try, and what deceives there where no word has to be in a report: a program's status, what it
#: prints, or a report on the way that reports take here.
IN_C = {
    "exit": (wrong("", "exit(0); return 0"), "status"),
    "_exit": (wrong("", "_exit(0); return 0"), "status"),
    "quick_exit": (wrong("", "quick_exit(0); return 0"), "status"),
    "constructor": (early("_exit(0);"), "status"),
    "assertions": (wrong("void __assert_fail(const char *a, const char *b, unsigned c, const char *d) {}"), "status"),
    "abort": (wrong("void abort(void) { _exit(0); }\n", "abort(); return 0"), "status"),
    "without assertions": (changed("add.h", HEADER + "#define NDEBUG\n#include <assert.h>\n"), "status"),
    "macro": (changed("add.h", HEADER + "#include <assert.h>\n#undef assert\n#define assert(x)\n"), "status"),
    "told": (wrong("", 'dprintf(64, "passed\\n"); _exit(1); return 0'), "report"),
    "told again": (wrong("", 'write(64, "%s begun\\n%s passed\\n", 30); return a - b'), "report"),
    "closed": (wrong("", "close(64); _exit(0); return 0"), "status"),
    "program again": (wrong("", 'char *own[] = {"/bin/true", 0}; execv(own[0], own); return 0'), "status"),
    "longjmp": (wrong("static jmp_buf start;\n__attribute__((constructor)) static void now(void) "
                      "{ if (setjmp(start)) _exit(0); }", "longjmp(start, 1); return 0"), "status"),
    "signal": (wrong("#include <signal.h>\nstatic void late(int number) { _exit(0); }\n__attribute__((constructor)) "
                     "static void now(void) { signal(SIGABRT, late); }"), "status"),
}  # fmt: skip
#: A library that is loaded before all others, as the loader is told when a program starts itself again.
PRELOADED = [
    changed("Makefile", "all: libadd.a x.so\nx.so: x.c\n\t$(CC) -shared -fPIC -o $@ x.c\n" + MAKEFILE),
    changed("x.c", f"#include <stdio.h>\n#include <unistd.h>\n__attribute__((constructor)) static void now(void) "
                   f'{{ dprintf(64, "begun\\n{GREEN}"); _exit(0); }}\n'),
    wrong("", 'char *own[] = {"/proc/self/exe", "", "", 0}; setenv("LD_PRELOAD", "./x.so", 1); '
              "if (execv(own[0], own)) return a - b"),
]  # fmt: skip
#: The same for GoogleTest.
IN_GTEST = {
    "exit": ([wrong("", "exit(0); return 0")], "status"),
    "forged": ([early(f'dprintf(64, "begun\\n{GREEN}"); _exit(1);')], "report"),
    "forged in a test": ([wrong("", f'dprintf(64, "begun\\n{GREEN}"); _exit(1); return 0')], "report"),
    "printed": ([wrong("", f'puts("begun\\n{GREEN}"); fflush(stdout); _exit(1); return 0')], "output"),
    "preloaded": (PRELOADED, "status"),
    "at exit": ([wrong(f'static void late(void) {{ dprintf(64, "begun\\n{GREEN}"); _exit(0); }}\n'
                       "__attribute__((constructor)) static void now(void) { atexit(late); }")], "status"),
    "child": ([wrong("", f'if (!fork()) {{ sleep(1); dprintf(64, "begun\\n{GREEN}"); _exit(1); }} return a - b')],
              "report"),
    "settings": ([early('setenv("GTEST_FILTER", "-Add.*", 1); setenv("GTEST_TOTAL_SHARDS", "2", 1); '
                        'setenv("GTEST_SHARD_INDEX", "1", 1);')], "status"),
    "macros": ([changed("add.h", FRAMEWORK + "#define EXPECT_EQ(a, b) SUCCEED()\n")], "status"),
    "some macros": ([changed(
        "add.h", FRAMEWORK + "#define EXPECT_EQ(a, b) EXPECT_TRUE((a) == (b) || #a[0] == 'a')\n")], "status"),
    "shadowed": ([changed(
        "gtest/gtest.h", "#include_next <gtest/gtest.h>\n#undef EXPECT_EQ\n#define EXPECT_EQ(a, b) SUCCEED()\n")],
        "status"),
}  # fmt: skip


def with_the_fault(*changes: FileChange) -> list[FileChange]:
    return [*([] if any(change.path == "add.c" for change in changes) else [changed("add.c", BAD)]), *changes]


def lay_out(folder: Path, *changes: FileChange) -> None:
    """Write the project with these changes into a folder."""
    for change in (changed("add.c", ADD), changed("add.h", HEADER), changed("Makefile", MAKEFILE), *changes):
        (folder / change.path).parent.mkdir(parents=True, exist_ok=True)
        (folder / change.path).write_bytes(change.content or b"")


def deceived(folder: Path, compiler: str, *linked: str, sign: str) -> set[str]:
    """Build and run a test as a program of its own; what would take it for green by this sign of a report."""
    subprocess.run([compiler, "-w", "-I.", *linked, "-o", "test"], cwd=folder, check=True)
    told, way = os.pipe()
    script = ["bash", "-c", f"exec ./test 64>&{way} {way}>&-"]
    done = subprocess.run(script, cwd=folder, check=False, capture_output=True, pass_fds=[way])
    os.close(way)
    with os.fdopen(told, "rb") as report:
        said = {"report": report.read(), "output": done.stdout}
    found = {name for name, text in said.items() if sign.encode() in text}
    return found if done.returncode else found | {"status"}


@pytest.mark.slow(reason="each wrong revision is built and run")
@pytest.mark.parametrize("name", IN_C)
def test_a_wrong_sum_is_never_green_in_c(cpp: CppBench, name: str, tmp_path: Path) -> None:
    change, believed = IN_C[name]
    assert reason(cpp.run(SOURCES["c"], *with_the_fault(change), runner="c"), "test_sum") is not Reason.GREEN
    own = changed("test.c", SOURCES["c"] + "int main(void) { test_sum(); return 0; }")
    lay_out(tmp_path, *with_the_fault(change), own)
    assert believed in deceived(tmp_path, "gcc", "test.c", "add.c", sign="passed")


@pytest.fixture(scope="session")
def compiled(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """The oracle for GoogleTest, compiled with the project's own header."""

    def compile_oracle(folder: Path) -> None:
        lay_out(folder, changed("test.cpp", SUM))
        subprocess.run(["g++", "-w", "-I.", "-c", "test.cpp"], cwd=folder, check=True)

    return made_once("gtest", compile_oracle) / "test.o"


def deceived_by_gtest(folder: Path, compiled: Path, *changes: FileChange) -> set[str]:
    """Lay out, build and run the oracle with these changes; what takes it for green."""
    lay_out(folder, changed("test.cpp", SUM), *changes)
    subprocess.run(["make", "-s"], cwd=folder, check=True, capture_output=True)
    has_headers = any(change.path.endswith(".h") for change in changes)
    linked = ["test.cpp" if has_headers else str(compiled), "libadd.a", "-lgtest_main", "-lgtest"]
    return deceived(folder, "g++", *linked, sign='failures="0"')


@pytest.mark.slow(reason="each wrong revision is built and run, and its twin too")
@pytest.mark.parametrize("name", IN_GTEST)
def test_a_wrong_sum_is_never_green(cpp: CppBench, compiled: Path, name: str, tmp_path: Path) -> None:
    changes, believed = IN_GTEST[name]
    assert believed in deceived_by_gtest(tmp_path / "naive", compiled, *with_the_fault(*changes))
    assert reason(cpp.run(SUM, *with_the_fault(*changes))) is not Reason.GREEN


@pytest.mark.slow(reason="C++ is compiled")
def test_a_wrong_sum_deceives_nothing_by_itself(compiled: Path, tmp_path: Path) -> None:
    assert deceived_by_gtest(tmp_path, compiled, *with_the_fault()) == set()


@pytest.mark.slow(reason="C++ is compiled, and its twin too")
def test_leaving_a_test_of_doctest_early_is_seen(cpp: CppBench, tmp_path: Path) -> None:
    wrong_sum, source = wrong("", "exit(0); return 0"), cases("doctest")
    lay_out(tmp_path, changed("test.cpp", "#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN\n" + source), wrong_sum)
    subprocess.run(["make", "-s"], cwd=tmp_path, check=True)
    assert deceived(tmp_path, "g++", "test.cpp", "libadd.a", sign="passed") == {"status"}
    assert reason(cpp.run(source, wrong_sum, runner="doctest"), "a sum, of two") is Reason.EXITED


COMPARED = "void test_none(void) { assert(add(0, 0) == 0); }\n"


@pytest.mark.slow(reason="a wrong revision is built and run")
@pytest.mark.parametrize(("runner", "function"), [("c", "strcmp"), ("gtest", "strcasecmp")])
def test_a_project_s_own_comparison_makes_nothing_green(cpp: CppBench, runner: str, function: str) -> None:
    always = f"int {function}(const char *a, const char *b) {{ return 0; }}\n"
    source = PLAIN.replace("void\ntest_sum", COMPARED + "void\ntest_sum")
    if runner == "gtest":
        source = SUM.replace("EXPECT_EQ(add(1, 2), 3)", 'EXPECT_STRCASEEQ(std::to_string(add(1, 2)).c_str(), "3")')
    run = cpp.run(source, wrong(always), runner=runner)
    assert f"symbol:{function}" in run.altered
    assert reason(run, *told(run)) is not Reason.GREEN
    assert told(run) == {"Add.Sum": "passed"} if runner == "gtest" else {"test_none": "passed", "test_sum": "failed"}


@pytest.mark.parametrize(
    ("header", "own"),
    [
        ("/usr/include/gtest/gtest.h", "/usr/include/gtest/"),
        ("third_party/googletest/include/gtest/gtest.h", "third_party/googletest/"),
        ("include/doctest.h", "include/doctest.h"),
        ("doctest.h", "doctest.h"),
    ],
)
def test_a_framework_is_the_folder_of_its_name_or_its_header_alone(header: str, own: str) -> None:
    assert inside.root_of(header) == own


def test_a_framework_in_the_tree_is_that_of_the_environment(tmp_path: Path) -> None:
    for folder, text in (("tree", "one"), ("work", "other")):
        (tmp_path / folder / "include").mkdir(parents=True)
        (tmp_path / folder / "include/doctest.h").write_text(text)
        (tmp_path / folder / "include/add.h").write_text(text)
    header = tmp_path / "work/include/doctest.h"
    (tmp_path / "main.header").write_text(f"{header}\n")
    (tmp_path / "oracle.ii").write_text(f'# 1 "{header}" 1\n#define CHECK\n# 1 "include/add.h" 1\n#undef CHECK\n')
    spec = {"file": "oracle.cpp", "main": str(tmp_path / "main"), "expanded": str(tmp_path / "oracle.ii")}
    states = {"now": [("include/add.h", "100644", "")]}
    job = {"workdir": str(tmp_path / "work"), "tree": str(tmp_path / "tree"), "states": states}
    assert inside.told_of(job, "now", spec) == {"framework:include/doctest.h", "macro:CHECK"}


@pytest.mark.slow(reason="C++ is compiled")
def test_a_constructor_that_writes_a_green_report_deceives_a_reader_of_files(tmp_path: Path) -> None:
    """The twin of what is refused above: where the report is a file that the arguments name, nothing tells."""
    (tmp_path / "a.cpp").write_text(
        "#include <gtest/gtest.h>\n#include <fstream>\n#include <unistd.h>\nTEST(Add, Sum) { FAIL(); }\n"
        "__attribute__((constructor)) static void now(int count, char **words) {\n"
        f'  {{ std::ofstream out(words[1] + strlen("--gtest_output=xml:")); out << "{GREEN}"; }}\n  _exit(0);\n}}\n'
    )
    subprocess.run(["g++", "-w", "a.cpp", "-lgtest_main", "-lgtest", "-o", "a"], cwd=tmp_path, check=True)
    assert subprocess.run(["./a", "--gtest_output=xml:r.xml"], cwd=tmp_path, check=False).returncode == 0
    assert 'failures="0"' in (tmp_path / "r.xml").read_text()


CMAKE = """\
cmake_minimum_required(VERSION 3.13)
project(sum C)
add_library(first SHARED test/first.c)
add_executable(sum test/sum.c add.c)
target_include_directories(sum PRIVATE .)
enable_testing()
"""
#: What a project may tell CTest of a program that fails; each makes it passed or left out.
TOLD_TO_CTEST = {
    "WILL_FAIL": "TRUE",
    "PASS_REGULAR_EXPRESSION": "wrong",
    "SKIP_RETURN_CODE": "1",
    "DISABLED": "TRUE",
    "ENVIRONMENT": "LD_PRELOAD=$<TARGET_FILE:first>",
}


@pytest.mark.slow(reason="CMake configures twice")
def test_what_ctest_is_told_of_a_program_does_not_count(bench: Bench, place: Place, tmp_path: Path) -> None:
    files = {
        "add.c": BAD,
        "add.h": HEADER,
        "test/first.c": "#include <unistd.h>\n__attribute__((constructor)) static void now(void) { _exit(0); }\n",
        "test/sum.c": '#include <stdio.h>\n#include "add.h"\n\n'
        'int main(void) {\n  puts("wrong");\n  return add(1, 2) != 3;\n}\n',
    }
    evil = CMAKE + "".join(
        f"add_test(NAME {name} COMMAND sum)\nset_tests_properties({name} PROPERTIES {name} {value})\n"
        for name, value in TOLD_TO_CTEST.items()
    )
    naive = tmp_path / "naive"
    lay_out(naive, *(changed(*file) for file in files.items()), changed("CMakeLists.txt", evil))
    for argv in (["cmake", "-S", ".", "-B", "."], ["cmake", "--build", "."], ["ctest"]):  # CTest takes all for right
        done = subprocess.run(argv, cwd=naive, check=True, capture_output=True, text=True)
    assert f"0 tests failed out of {len(TOLD_TO_CTEST) - 1}" in done.stdout  # it does not count what is disabled
    for path, text in {**files, "CMakeLists.txt": CMAKE + "add_test(NAME sum COMMAND sum)\n"}.items():
        bench.write(path, text)
    bench.facts = {"tools": {"cpp": place.tool}}
    asks = "crab-build/.cmake/api/v1/query"
    bench.build = (f"mkdir -p {asks} && touch {asks}/codemodel-v2", "cmake -S . -B crab-build")
    asked = {"ecosystem": "cpp", "files": ("test/sum.c",), "names": ()}
    states = {"evil": [changed("CMakeLists.txt", evil)], "right": [changed("add.c", ADD)]}
    runs = [harness.OwnTestsRun(id=name, state=name, seconds=60, **asked) for name in states]
    report = bench.report(runs, **states)
    assert {run.id: told(run) for run in report.runs} == {"evil": {"sum:sum": "failed"}, "right": {"sum:sum": "passed"}}
