"""Python: its interpreters, its packaging tools, and pytest."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from pytest_crab.ecosystems.patterns import Patterns

LEFTOVERS = Patterns(
    names=(
        *("__pycache__", "*.pyc", "*.pyo", "*.pyd", "*.so"),
        *(".venv", ".tox", ".nox", "__pypackages__"),
        *("*.egg-info", ".eggs", "bdist.linux-*", "lib.linux-*", "temp.linux-*"),  # the last three lie in build
        *(".pytest_cache", ".hypothesis", ".coverage", ".coverage.*", "htmlcov", ".mypy_cache", ".ruff_cache"),
        ".ipynb_checkpoints",
    ),
    marks=("pyvenv.cfg",),  # a virtual environment, whatever it is called
)

#: What an install is made from beside the modules themselves: how the project is packaged, and what it compiles.
INSTALLED_FROM = Patterns(
    names=(
        *("setup.py", "setup.cfg", "pyproject.toml", "MANIFEST.in"),
        *("meson.build", "meson.options", "meson_options.txt", "CMakeLists.txt", "*.cmake", "Makefile*", "configure*"),
        *("*.c", "*.h", "*.cc", "*.hh", "*.cpp", "*.hpp", "*.cxx", "*.hxx", "*.ipp", "*.inl", "*.cu", "*.cuh"),
        *("*.c.*", "*.h.*", "*.m", "*.mm", "*.s", "*.S", "*.asm", "*.i"),
        *("*.pyx", "*.pxd", "*.pxi", "*.pyx.*", "*.pxd.*", "*.pxi.*", "*_build.py"),  # the last is cffi's
        *("*.f", "*.F", "*.for", "*.f77", "*.f90", "*.F90", "*.f95", "*.f03", "*.f08", "*.pyf"),
        *("*.rs", "Cargo.toml", "Cargo.lock", "*.zig", "*.pas"),
    ),
)

#: Ends of the names of compiled modules and libraries that an install leaves in a tree.
COMPILED = (".so", ".pyd")

#: Where a system keeps packages for all its users.
PACKAGES = ("/usr/lib/python3*/*-packages", "/usr/local/lib/python3*/*-packages")


def needs_install(changed: Iterable[str], compiled: Collection[str]) -> bool:
    """Return whether a tree in which these files changed has to be installed anew.

    ``compiled`` are the modules that head's install compiled: they are sources too.
    """
    of_build = re.compile(INSTALLED_FROM.expression).search
    return any(of_build(path) or path in compiled for path in changed)
