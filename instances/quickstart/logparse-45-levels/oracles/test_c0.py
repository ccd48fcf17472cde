import json
import os
import re
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import enum, json, sys

if hide:
    del enum.StrEnum  # CPython 3.10 has none

import logparse
from logparse.applog import LEVELS

record = logparse.parse_app_line("2024-03-01T12:00:00Z ERROR shop: hello")
level = record.level
print(json.dumps({
    "str": [str(level), f"{level}", f"{level:>7}", "%s" % level, json.dumps(level), "".join([level])],
    "equal": [level == "ERROR", {"ERROR": 1}.get(level), isinstance(level, str), level in LEVELS],
    "order": [level.at_least(other) for other in ("DEBUG", "WARNING", "ERROR", "CRITICAL")],
}))
"""
EXPECTED = {
    "str": ["ERROR", "ERROR", "  ERROR", "ERROR", '"ERROR"', "ERROR"],
    "equal": [True, 1, True, True],
    "order": [True, True, True, False],
}


def seen(hide):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    argv = [sys.executable, "-c", f"hide = {hide}\n{SCRIPT}"]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_with_what_3_10_has():
    assert seen(hide=True) == EXPECTED


def test_with_what_is_here():
    assert seen(hide=False) == EXPECTED


def test_3_10_is_still_supported():
    wanted = re.search(r'^requires-python\s*=\s*"(.*)"', Path("pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert wanted is not None
    assert wanted[1].replace(" ", "") == ">=3.10"
