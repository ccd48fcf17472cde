"""Compile the modules of a tree into a folder beside it: each with the digest of its source, which Python looks at.

It imports nothing of the tree, and leaves out what does not compile, or not without a warning. It needs CPython 3.7.
"""

import os
import sys


def modules(tree: "str") -> "list[str]":
    """Return the paths of the modules of a tree, links left out."""
    found = [os.path.join(folder, name) for folder, _, names in os.walk(tree) for name in names if name[-3:] == ".py"]
    return sorted(path for path in found if not os.path.islink(path))


def compile_all(tree: "str", into: "str") -> "None":
    """Write the bytecode of ``tree``/a/b.py to ``into``/a/b.pyc, and so on."""
    import py_compile
    import warnings

    warnings.simplefilter("error")  # what warns has to go on warning
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    for path in modules(tree):
        target = os.path.join(into, os.path.relpath(path, tree)) + "c"
        try:
            py_compile.compile(path, target, doraise=True, invalidation_mode=mode)
        except Exception:  # noqa: BLE001, S112 - then an import of it says what is wrong
            continue


if __name__ == "__main__":
    compile_all(*sys.argv[1:])
