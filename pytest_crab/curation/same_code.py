"""Tells whether two texts of a file do the same: they differ in words, types and what only tools read."""

from __future__ import annotations

from pytest_crab.ecosystems import behaviour


def same_code(path: str, one: bytes, other: bytes) -> bool:
    """Return whether two texts of a file do the same: they are equal, or their ecosystem says so."""
    known = None if one == other else behaviour(path, one)
    return one == other or (known is not None and behaviour(path, other) == known)
