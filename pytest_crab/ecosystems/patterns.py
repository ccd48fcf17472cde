"""Patterns of names in a tree."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """Names of files and folders."""

    #: ``*`` in a name stands for any characters.
    names: tuple[str, ...]
    #: Names of files; a folder in which a file has one of these names matches too, whatever the folder is called.
    marks: tuple[str, ...] = ()

    def __add__(self, other: Patterns) -> Patterns:
        """Return what either has."""
        return Patterns(names=self.names + other.names, marks=self.marks + other.marks)

    @property
    def expression(self) -> str:
        """A regular expression that is found in a path with slashes if a part of it has one of the names.

        It is plain enough for any version of Python, and takes time in proportion to the path's length.
        """
        names = ("[^/]*".join(map(re.escape, name.split("*"))) for name in self.names)
        return f"(?:^|/)(?:{'|'.join(names)})(?:/|$)"
