"""Count what a reader of the package has to read, side by side for several checkouts.

    python bench/size.py            # this checkout
    python bench/size.py OLD .      # two of them, a column each

A line of code is one that is not blank, no comment and no docstring. The core is the package without its
benchmarks, curation and cluster.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

#: Folders that are not of the core.
BESIDE = ("benchmarks/", "curation/", "campaign/cluster/")

#: How a name, an option or a text of the code names a published benchmark.
BENCHMARK = re.compile(
    r"aacr|c-?crab(?!_)\b|ccrab|cr_?-?bench|swe_?-?prbench|code_?review_?qa|martian|bc_?-?bench|swe_?-?care|swe_?-?bench",
    re.IGNORECASE,
)

#: The same for a probe: a question with options instead of a pull request to review.
PROBE = re.compile(r"probe|answerer", re.IGNORECASE)


@dataclass(frozen=True)
class Module:
    """One module: its place below the package, its tree, and how many lines of code and of imports it has."""

    name: str
    tree: ast.Module
    code: int
    imports: int

    @property
    def is_core(self) -> bool:
        """Whether it is of the core."""
        return not self.name.startswith(BESIDE)


def read(path: Path, package: Path) -> Module:
    """Read a module."""
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    skipped = {line for node in docstrings(tree) for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    kinds = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in kinds
        for line in range(token.start[0], token.end[0] + 1)
    } - skipped
    imports = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    return Module(path.relative_to(package).as_posix(), tree, len(lines), len(lines & imports))


def docstrings(tree: ast.Module) -> list[ast.Expr]:
    """Every docstring's statement."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                found.append(first)
    return found


def words(module: Module) -> list[str]:
    """Every identifier, and every text that is no docstring."""
    told = {id(node.value) for node in docstrings(module.tree)}
    found = []
    for node in ast.walk(module.tree):
        for field in ("id", "attr", "name", "arg", "module"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                found.append(value)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            found.append(node.value)
    return found


def count(checkout: Path) -> dict[str, float]:
    """Every number of one checkout, by its name."""
    package = checkout / "pytest_crab"
    modules = [read(path, package) for path in sorted(package.rglob("*.py"))]
    core = [module for module in modules if module.is_core]
    functions = [node for module in modules for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef)]
    lengths = sorted((node.end_lineno or 0) - node.lineno + 1 for node in functions)
    named = Counter(word for module in modules for word in words(module))
    own = [node for module in modules for node in module.tree.body if isinstance(node, ast.FunctionDef)]
    dataclasses = sum(
        "dataclass" in ast.dump(decorator)
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
        for decorator in node.decorator_list
    )
    code = sum(module.code for module in modules)
    return {
        "lines of code, core": sum(module.code for module in core),
        "lines of code, all": code,
        "modules": len(modules),
        "longest module": max(module.code for module in modules),
        "lines of a function, 95th of 100": statistics.quantiles(lengths, n=20)[-1],
        "longest function": lengths[-1],
        "dataclasses": dataclasses,
        "functions of modules used once": sum(named[node.name] == 2 for node in own),  # its definition, and one use
        "share of imports, %": round(100 * sum(module.imports for module in modules) / code, 1),
        "core modules that name a benchmark": sum(any(BENCHMARK.search(word) for word in words(one)) for one in core),
        "core modules that name a probe": sum(any(PROBE.search(word) for word in words(one)) for one in core),
    }


def main() -> None:
    """Print the table."""
    checkouts = [Path(name) for name in sys.argv[1:]] or [Path(__file__).parents[1]]
    columns = [count(checkout) for checkout in checkouts]
    for name in columns[0]:
        print(f"{name:<40}", *(f"{column[name]:>10,g}".replace(",", " ") for column in columns))


if __name__ == "__main__":
    main()
