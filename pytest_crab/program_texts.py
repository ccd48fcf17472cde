"""The texts of this package's programs that run elsewhere: in a sandbox, or in a process without this package."""

from __future__ import annotations

from importlib import resources
from importlib.machinery import SOURCE_SUFFIXES


def program_text(package: str, name: str) -> str:
    """Return the text of a module of a package; ``name`` may lead through folders, which are not imported."""
    return (resources.files(package) / f"{name}{SOURCE_SUFFIXES[0]}").read_text("utf-8")
