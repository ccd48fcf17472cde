import ast
import pathlib


def callers(name):
    """Every function of the package that calls *name*, as file:function."""
    found = []
    for path in sorted(pathlib.Path("src/ledger").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                calls = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
                if any(name in (getattr(call, "id", None), getattr(call, "attr", None)) for call in calls):
                    found.append(f"{path.name}:{node.name}")
    return found


def test_one_function_reads_journals():
    assert len(callers("parse_journal")) == 1


def test_one_function_opens_files():
    assert len(set(callers("open")) | set(callers("read_text"))) == 1
