import json
import os
import re
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import argparse, collections, dataclasses, datetime, enum, gzip, json, re, sys, types, typing

NEW = {
    "enum": "StrEnum ReprEnum EnumType EnumCheck FlagBoundary verify member nonmember property global_enum global_str",
    "typing": "Self assert_never assert_type reveal_type LiteralString Never NotRequired Required Unpack TypeVarTuple dataclass_transform",
    "datetime": "UTC",
}
if hide:  # what came with CPython 3.11 is away
    for name, new in NEW.items():
        old = types.ModuleType(name)
        vars(old).update({key: value for key, value in vars(sys.modules[name]).items() if key not in new.split()})
        sys.modules[name] = old
    version = collections.namedtuple("version_info", "major minor micro releaselevel serial")
    sys.version_info = version(3, 10, 14, "final", 0)
    sys.hexversion = 0x030A0EF0
    sys.modules["tomllib"] = None

import logparse
from logparse import Level
from logparse.cli import main
from logparse.applog import LEVELS

record = logparse.parse_app_line("2024-03-01T12:00:00Z ERROR shop: hello")
level = record.level
print(json.dumps({
    "str": [str(level), f"{level}", f"{level:>7}", "%s" % level, json.dumps(level), "".join([level])],
    "equal": [level == "ERROR", {"ERROR": 1}.get(level), isinstance(level, str), level in LEVELS],
    "order": [level.at_least(other) for other in ("DEBUG", "WARNING", "ERROR", "CRITICAL")],
    "each": [[str(each), f"{each}", f"{each:<9}|", json.dumps({each: each})] for each in Level],
    "from its text": [str(Level(text)) for text in LEVELS],
    "of another level": [parsed.level.at_least(parsed.level) and str(parsed.level) for parsed in map(logparse.parse_app_line, [f"2024-03-01T12:00:00Z {text} shop: hello" for text in LEVELS])],
}))
"""
ALL = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
EXPECTED = {
    "str": ["ERROR", "ERROR", "  ERROR", "ERROR", '"ERROR"', "ERROR"],
    "equal": [True, 1, True, True],
    "order": [True, True, True, False],
    "each": [[text, text, f"{text:<9}|", f'{{"{text}": "{text}"}}'] for text in ALL],
    "from its text": ALL,
    "of another level": ALL,
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
    assert ">=3.10" in wanted[1].replace(" ", "").split(",")
