"""Which changes of a Python project make it be installed anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_crab import ecosystems
from pytest_crab.ecosystems.python import Python
from pytest_crab.runtimes.inside.compiled import compiled_modules
from pytest_crab.types import Environment

needs_install = Python().needs_install


@pytest.mark.parametrize(
    "path",
    [
        *("setup.py", "pyproject.toml", "sub/setup.cfg", "meson.build", "src/CMakeLists.txt", "cmake/a.cmake"),
        *(
            "a.c",
            "src/a.h",
            "a.cpp",
            "a.pyx",
            "a/b.pxd",
            "a.pyx.in",
            "src/lib.rs",
            "Cargo.lock",
            "a.f90",
            "a.c.src",
            "a_build.py",
        ),
    ],
)
def test_a_source_of_a_build_needs_an_install(path: str) -> None:
    assert needs_install(["README.md", path], ())


@pytest.mark.parametrize(
    "path", ["a.py", "setup_tools.py", "docs/c", "a.css", "a.cfg", "tests/test_c.py", "a.sh", "a.so"]
)
def test_anything_else_needs_none(path: str) -> None:
    assert not needs_install([path], ())


def test_a_module_that_the_install_compiled_is_a_source(tmp_path: Path) -> None:
    for name in ("a/fast.py", "a/fast.cpython-311-x86_64-linux-gnu.so", "a/slow.py", "b/fast.py", "top.py", "top.so"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    compiled = compiled_modules(str(tmp_path), Python.compiled, ".py")
    assert compiled == ["a/fast.py", "top.py"]
    assert needs_install(["a/fast.py"], compiled)
    assert not needs_install(["a/slow.py", "b/fast.py"], compiled)


def test_only_a_project_of_python_with_install_commands_is_installed_anew() -> None:
    python = Environment(dockerfile="python", install=("pip install -e .",))
    node = Environment(dockerfile="node", node="20", install=("npm run build",))
    assert ecosystems.needs_install(python, ["a.c"], ())
    assert not ecosystems.needs_install(node, ["a.c"], ())
    assert not ecosystems.needs_install(Environment(dockerfile="python"), ["a.c"], ())
