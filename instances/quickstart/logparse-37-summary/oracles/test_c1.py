import ast
import pathlib

from logparse import parse_access_line, summarise
from logparse.cli import main

EDGE = {"cli.py", "__main__.py"}


def writes(tree):
    """Lines that print, or touch a standard stream."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in {"stdout", "stderr", "__stdout__", "writelines"}:
            yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "sys":
            yield node.lineno


def test_only_the_command_line_prints():
    modules = [path for path in sorted(pathlib.Path("src/logparse").rglob("*.py")) if path.name not in EDGE]
    found = [f"{path}:{line}" for path in modules for line in writes(ast.parse(path.read_text(encoding="utf-8")))]
    assert found == []


def test_the_summary_can_be_had_without_a_stream():
    tree = ast.parse(pathlib.Path("src/logparse/stats.py").read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "summarise"]
    assert len(functions) == 1, "stats.summarise is gone"
    gives = [node for node in ast.walk(functions[0]) if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) and node.value]
    assert gives, "stats.summarise returns nothing"


def test_the_command_line_still_prints_it(tmp_path, capsys):
    path = tmp_path / "access.log"
    path.write_text('::1 - - [01/Mar/2024:12:00:00 +0000] "GET /a HTTP/1.1" 200 10\n', encoding="utf-8")
    assert main(["summary", str(path)]) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert printed[-2:] == [["busiest", "paths:"], ["1", "/a"]]
    assert ["0.0%", "server", "errors"] in printed
    assert main(["access", str(path)]) == 0
    assert capsys.readouterr().out.split() == ["1", "/a"]


LINES = [f'::{n} - - [01/Mar/2024:12:00:00 +0000] "GET /{path} HTTP/1.1" {status} 10' for n, path, status in [(1, "a", 200), (2, "a", 200), (1, "a", 500), (1, "b", 200)]]
SUMMARY = ["4 requests", "25.0% server errors", "busiest hosts:", "       3  ::1", "       1  ::2", "busiest paths:", "       3  /a", "       1  /b"]


def lines_of(found):
    return found.splitlines() if isinstance(found, str) else [line.rstrip("\n") for line in found]


def test_what_it_returns_is_the_summary(capsys):
    records = [parse_access_line(line) for line in LINES]
    assert lines_of(summarise(iter(records))) == SUMMARY
    assert lines_of(summarise(records, 1)) == [line for line in SUMMARY if line not in (SUMMARY[4], SUMMARY[7])]
    assert lines_of(summarise([])) == ["0 requests", "busiest hosts:", "busiest paths:"]
    assert capsys.readouterr() == ("", "")


def test_the_command_line_prints_the_same(tmp_path, capsys):
    path = tmp_path / "access.log"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    assert main(["summary", str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == SUMMARY
