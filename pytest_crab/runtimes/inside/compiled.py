"""Tell which modules of a tree were compiled beside their source: Python takes what is compiled."""

# ruff: noqa: PTH118
# Annotations are quoted, since the oldest interpreters cannot evaluate them.
import os


def compiled_modules(root: "str", endings: "tuple[str, ...]", source: "str") -> "list[str]":
    """Return the paths of the sources, whose names end so; ``endings`` are those of compiled files."""
    found = []
    for folder, _, names in os.walk(root):
        compiled = {name.partition(".")[0] for name in names if name.endswith(endings)}
        sources = [name for name in names if name.endswith(source) and name[: -len(source)] in compiled]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in sources]
    return sorted(found)
