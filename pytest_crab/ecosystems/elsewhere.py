"""Facts of languages that no ecosystem of this package is for: their code is read, and not run."""

from __future__ import annotations

from types import MappingProxyType

from pytest_crab.ecosystems.contract import Grammar, Names

#: The grammars, by the ends of files' names.
GRAMMARS = MappingProxyType(
    {
        ".cs": Grammar("tree_sitter_c_sharp"),
    }
)

NAMES = Names(
    tests=r"Tests?\.(?:kt|cs)$",
)
