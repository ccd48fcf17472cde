"""The GCC of this machine, and the main functions of oracles."""

from __future__ import annotations

import dataclasses
import importlib.resources
import shutil
from pathlib import Path
from types import MappingProxyType

from typing_extensions import override

from pytest_crab.ecosystems.building import install_script
from pytest_crab.ecosystems.compilers import copy_c
from pytest_crab.ecosystems.debian import copy_packages
from pytest_crab.ecosystems.toolchain import Tool, Tools
from pytest_crab.types import Environment

#: The test frameworks, the usual one first.
FRAMEWORKS = ("gtest", "doctest", "catch2")
#: Where each has its header, and which libraries it is linked with.
_HEADERS = {
    "gtest": ("gtest/gtest.h",),
    "doctest": ("doctest/doctest.h", "doctest.h"),
    "catch2": ("catch2/catch.hpp", "catch.hpp"),
}
_LIBRARIES = {"gtest": ("gmock", "gtest")}

#: Notes which header a framework has and which of its libraries are there, and compiles the main function for it. One
#: that has none, or does not compile, is named when an oracle needs it.
_MAIN = """\
for header in {headers}; do
    found=$(echo "#include <$header>" | $CXX $CPPFLAGS $CXXFLAGS -w -E -x c++ - 2> /dev/null |
        sed -n "s|^# [0-9]* \\"\\(.*$header\\)\\" 1.*|\\1|p" | head -n 1)
    if [ -n "$found" ]; then break; fi
done
if [ -n "$found" ]; then
    echo "$found" > "$CRAB_MAINS/{name}.header"
    for library in {libraries}; do
        if [ "$($CXX -print-file-name=lib$library.a)" != "lib$library.a" ]; then echo "-l$library"; fi
    done > "$CRAB_MAINS/{name}.libraries"
    cat > "$CRAB_MAINS/{name}.cpp" <<'CRAB_MAIN'
{text}
CRAB_MAIN
    $CXX $CPPFLAGS $CXXFLAGS -w -O0 -c "$CRAB_MAINS/{name}.cpp" -o "$CRAB_MAINS/{name}.o" || echo "no main for {name}"
fi
"""

#: Debian's packages with what builds and tests projects, beside the compiler. Those that are here go into a base image.
_PACKAGES = (
    *("make", "cmake", "cmake-data", "ninja-build", "pkgconf*", "pkg-config", "m4", "bison", "flex"),
    *(
        "autoconf",
        "automake",
        "autotools-dev",
        "libtool",
        "libtool-bin",
        "perl",
        "perl-base",
        "perl-modules-*",
        "libperl5*",
    ),
    *("libgtest-dev", "libgmock-dev", "doctest-dev", "catch2"),
)


class CppTools(Tools):
    """GCC, with what a system has of build tools and test frameworks."""

    name = "cpp"
    program = "g++"
    version_arguments = ("-dumpfullversion",)
    source = "apt-get install g++"
    beside = MappingProxyType({"make": "apt-get install make", "cmake": "apt-get install cmake"})
    public_base = "gcc:{version}"
    usual = "12"
    base_takes = 1300
    has_caches = True
    bundle_variable = "SSL_CERT_FILE"

    @override
    def build_script(self, environment: Environment) -> str:
        mains = "".join(_main(name) for name in environment.packages or FRAMEWORKS[:1])
        return f'{install_script(environment)}{mains}chmod -R a+rX "$CRAB_MAINS"\n'

    @override
    def variables(self, version: str, caches: str) -> dict[str, str]:
        return {"CRAB_MAINS": caches}

    @override
    def placed(self, tool: Tool, caches: str) -> Tool:
        """The compilers are named too, since a system's own names for them may lead out of what a sandbox sees."""
        found = super().placed(tool, caches)
        compilers = {"CC": str(Path(tool.program).with_name(Path(tool.program).name.replace("g++", "gcc")))}
        return dataclasses.replace(found, env={**found.env, **compilers, "CXX": tool.program})

    @override
    def copy(self, tool: Tool, root: Path) -> list[Path]:
        """The compiler with all that it links, and what Debian's packages have of build tools and frameworks."""
        programs = [*copy_c(root), Path(tool.program)]
        shutil.copy2(tool.program, root / "usr/bin/g++")
        (root / "usr/bin/c++").symlink_to("g++")
        return [*programs, *copy_packages(root, _PACKAGES)]


def _main(name: str) -> str:
    """Return the commands that make the main function for a framework."""
    folder = importlib.resources.files("pytest_crab.ecosystems.cpp") / "mains"
    text = "".join((folder / file).read_text(encoding="utf-8") for file in ("told.hpp", f"{name}.cpp"))
    return _MAIN.format(
        name=name, headers=" ".join(_HEADERS[name]), libraries=" ".join(_LIBRARIES.get(name, ())), text=text
    )
