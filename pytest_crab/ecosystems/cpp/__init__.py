"""C and C++: whatever builds them, and tests of GoogleTest, doctest and Catch2 or plain functions with assertions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import MappingProxyType

from typing_extensions import override

from pytest_crab.ecosystems.contract import OWN_TESTS, Ecosystem, Grammar, Messages, Names, Spelling, runner_source
from pytest_crab.ecosystems.cpp.inside.own_tests import FOLDER, HARNESS
from pytest_crab.ecosystems.cpp.linter import LINTER
from pytest_crab.ecosystems.cpp.tools import FRAMEWORKS, CppTools
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.errors import ImageError
from pytest_crab.types import Environment

#: From one of these autotools make a project's configure.
_AUTOTOOLS = {"configure.ac", "configure.in"}

#: Those of GoogleTest.
_TESTS = """\
(function_definition
  !type
  declarator: (function_declarator
    declarator: (identifier) @call (#match? @call "^(TYPED_)?TEST(_F|_P)?$")
    parameters: (parameter_list . (parameter_declaration) @name . (parameter_declaration) @name))) @test
"""

_STUB = """\
// Red on the pull request, green once {comment} is resolved ({place}).
// {stub}
#include <gtest/gtest.h>

TEST(Review, {comment}) {{
  FAIL() << "to be written";
}}
"""
_CASE = (("TEST(Review, {comment})", 'TEST_CASE("{comment}")'), ('FAIL() << "to be written"', 'FAIL("to be written")'))
#: What stands in a stub for another runner, in place of what GoogleTest's has.
_STUB_CHANGES = MappingProxyType(
    {
        "doctest": (("gtest/gtest.h", "doctest/doctest.h"), *_CASE),
        "catch2": (("gtest/gtest.h", "catch2/catch.hpp"), *_CASE),
        "c": (
            ("gtest/gtest.h", "assert.h"),
            ("TEST(Review, {comment})", "void test_{comment}(void)"),
            ('FAIL() << "to be written"', 'assert(!"to be written")'),
        ),
    }
)
_CODE = (".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".ipp")
_SOURCES = Spelling(r"\.(?:cpp|cc|cxx)", ".cpp, .cc or .cxx")


class Cpp(Ecosystem):
    """C and C++ as GCC compiles them. ``environment.build`` builds the project; no package manager pins anything."""

    name = "cpp"
    languages = MappingProxyType({**dict.fromkeys(_CODE, "cpp"), **dict.fromkeys((".c", ".h"), "c")})
    shared_ends = (".h",)
    linter = LINTER
    grammars = MappingProxyType(
        {
            ".c": Grammar("tree_sitter_c"),
            # The grammar of C++ reads headers of both.
            **dict.fromkeys((*_CODE, ".h"), Grammar("tree_sitter_cpp", tests=_TESTS)),
        }
    )
    names = Names(
        dependencies=r"CMakeLists\.txt|.*\.cmake|conanfile\.(?:py|txt)|vcpkg\.json|configure\.(?:ac|in)",
        settings=r"\bgetenv\(\"(\w+)\"\)",
        form=r"clang-(?:format|tidy)|doxygen",
    )
    messages = Messages(
        banner=r"In file included from|\s+from \S+:\d+",
        cause=r"\S+\.(?:c|cc|cpp|cxx|h|hpp):\d+:\d+: (?:fatal )?error:|CMake Error",
        telling=r"undefined reference to|multiple definition of",
        pointing=r"^collect2: error: ld returned",
    )
    tools = CppTools()
    runner = runner_source(__name__)
    own_tests = runner_source(__name__, "own_tests")
    stub = _STUB
    stub_changes = _STUB_CHANGES
    versions = Spelling(r"\d{1,2}(?:\.\d{1,2}){0,2}", "GCC, such as '12'")
    #: The first GCC that compiles what the harness links to an oracle.
    oldest = "8"
    own_variables = MappingProxyType(dict.fromkeys(("CC", "CXX"), "; environment.version says which compiler it is"))
    pin = Spelling("|".join(FRAMEWORKS), f"{', '.join(FRAMEWORKS[:-1])} or {FRAMEWORKS[-1]}")
    runners = MappingProxyType(
        {**dict.fromkeys(FRAMEWORKS, _SOURCES), "c": Spelling(r"\.c", ".c"), "cpp-tests": OWN_TESTS}
    )
    leftovers = Patterns(
        names=("*.o", "*.a", "*.lo", "*.la", "*.gcda", "*.gcno", ".ninja_deps", ".ninja_log", "CMakeFiles"),
        marks=("CMakeCache.txt",),
    )

    @override
    def proposals(self, tree: Path, files: Sequence[str]) -> Iterator[Environment]:
        """The GCC of this machine with what the root has of autotools, Makefiles and CMake, in the project's settings.

        By CMake the tests are programs of its own; by make they are those that automake, or a harness in Tcl, tells of.
        """
        version = self.tools.find("").version.partition(".")[0]
        there = {path.name for path in tree.iterdir()}
        if there & _AUTOTOOLS and "Makefile.am" in there:
            prepared = () if "configure" in there else ("autoreconf -fi",)
            install = (*prepared, "./configure", "make")
            yield Environment(ecosystem=self.name, version=version, install=install, build=("make",))
        elif "CMakeLists.txt" in there:
            asking = f"mkdir -p {FOLDER}/.cmake/api/v1/query && touch {FOLDER}/.cmake/api/v1/query/codemodel-v2"
            yield Environment(ecosystem=self.name, version=version, build=(asking, f"cmake -S . -B {FOLDER}"))
        elif "Makefile" in there and (tree / HARNESS).exists():
            yield Environment(ecosystem=self.name, version=version, install=("make",), build=("make",))
        else:
            raise ImageError("nothing at its root says how it is built and tested in a way that is known here")

    @override
    def draft(self, language: str, read: Callable[[str], str]) -> tuple[str, Environment]:
        """Take plain functions in C; in C++ the framework that CMake's files of the root and of tests name."""
        runner, environment = super().draft(language, read)
        if language == "c":
            return "c", environment
        said = "".join(read(f"{folder}CMakeLists.txt") for folder in ("", "tests/", "test/")).lower()
        runner = next((name for name in FRAMEWORKS if name in said), runner)
        packages = () if runner == FRAMEWORKS[0] else (runner,)
        return runner, dataclasses.replace(environment, packages=packages)

    @override
    def build_commands(self, read: Callable[[str], str]) -> tuple[str, ...] | None:
        if read("CMakeLists.txt"):
            return ("cmake -S . -B build", "cmake --build build")
        return ("make",) if read("Makefile") else None

    @override
    def is_told(self, run_id: str, path: str, name: str) -> bool:
        suite, _, told = run_id.partition(":")[2].partition(".")
        return any(f"{each}.{told.partition('/')[0]}" == name for each in suite.split("/"))

    @override
    def environment_faults(self, environment: Environment) -> Iterator[str]:
        yield from super().environment_faults(environment)
        if not self.owns(environment):
            return
        if environment.build is None:
            wanted = "'make', or 'cmake -S . -B build' and 'cmake --build build'"
            yield f"environment.build is missing; it should be the commands that build the tree, such as {wanted}"

    @override
    def start(self, runner: str) -> Environment:
        packages = (runner,) if runner in FRAMEWORKS else ()
        return Environment(ecosystem=self.name, version=self.tools.usual, packages=packages, build=("make",))
