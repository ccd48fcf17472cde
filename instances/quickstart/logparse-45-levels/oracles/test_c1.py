import ast
import pathlib

from logparse.applog import LEVELS
from logparse.cli import main

NAMES = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}


def places():
    """Every file that spells the levels out, as texts or as one text, and how often."""
    found = {}
    for path in sorted(pathlib.Path("src/logparse").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        told = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in told]
        words = [word for text in texts if len(text) < 80 for word in text.replace(",", " ").split() if word in NAMES]
        if len(set(words)) == len(NAMES):
            found[str(path)] = min(words.count(name) for name in NAMES)
    return found


def bare(part):
    """``Level.INFO`` of ``Level.INFO.value`` and of ``str(Level.INFO)``."""
    while True:
        if isinstance(part, ast.Attribute) and part.attr in {"value", "name"}:
            part = part.value
        elif isinstance(part, ast.Call) and part.args:
            part = part.args[0]
        else:
            return part


def test_no_part_of_a_list_is_left():
    tree = ast.parse(pathlib.Path("src/logparse/cli.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            words = [getattr(part, "value", None) if isinstance(part, ast.Constant) else getattr(part, "attr", None) for part in map(bare, node.elts)]
            assert len([word for word in words if word in NAMES]) < 2, words


def test_there_is_no_third_list():
    found = places()
    assert "src/logparse/cli.py" not in found
    assert sum(found.values()) <= 2, found
    assert set(found) <= {"src/logparse/levels.py", "src/logparse/applog.py"} and set(found.values()) <= {1}, found


def test_the_old_name_is_still_there():
    assert list(LEVELS) == ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
    assert [str(level) for level in LEVELS] == ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


def test_the_option_is_as_it_was(tmp_path, capsys):
    path = tmp_path / "app.log"
    path.write_text("2024-03-01T12:00:00Z ERROR shop: hello\n", encoding="utf-8")
    for level in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"):
        assert main(["app", str(path), "--level", level]) == 0
        assert (["1", "ERROR"] in [line.split() for line in capsys.readouterr().out.splitlines()]) == (level != "CRITICAL")
    try:
        status = main(["app", str(path), "--level", "LOUD"])
    except SystemExit as exit:
        status = exit.code
    assert status == 2
