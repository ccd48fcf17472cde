"""The tests notice ranges that have no upper or no lower end, with either operator."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import semver

MUTANT = """
from semver import Version

original = Version.match


def match(self, expression):
    if not isinstance(expression, str) or not expression.startswith({operator!r}) or len(expression) < 2:
        return original(self, expression)
    inside = original(self, expression)
    try:
        lower = type(self).parse(expression[1:])
    except ValueError:  # not all that is a range need be written in full
        return inside
    return inside or {extra}


Version.match = match
"""
EXTRA = {"no-upper-end": "self >= lower", "no-lower-end": "self < lower", "nothing-more": "False"}


def run_tests(folder, operator, extra):
    (folder / "mutant.py").write_text(MUTANT.format(operator=operator, extra=EXTRA[extra]))
    source = Path(semver.__file__).parents[1]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", "."]
    paths = [str(folder), str(source), str(Path("tests").resolve())]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    environment.pop("PYTEST_ADDOPTS", None)
    files = sorted(str(path) for path in Path("tests").rglob("test_*.py") if "match" in path.read_text(encoding="utf-8"))
    command += ["-p", "mutant", *files]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=50)


def test_the_tests_pass(tmp_path):
    done = run_tests(tmp_path, "^", "nothing-more")
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize("operator", ["^", "~"])
@pytest.mark.parametrize("extra", ["no-upper-end", "no-lower-end"])
def test_they_fail_without_an_end(tmp_path, operator, extra):
    done = run_tests(tmp_path, operator, extra)
    assert done.returncode == 1, f"no test notices {operator} with {extra}"
