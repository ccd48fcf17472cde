"""Python: its interpreters, its packaging tools, and pytest."""

from __future__ import annotations

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

#: Where a system keeps packages for all its users.
PACKAGES = ("/usr/lib/python3*/*-packages", "/usr/local/lib/python3*/*-packages")
