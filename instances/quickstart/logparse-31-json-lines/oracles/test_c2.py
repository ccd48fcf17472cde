import json
import os
import subprocess
import sys

SCRIPT = """
import json, sys
import pytest
import logparse

true, mode, codes = logparse.at_least, "", {}
MORE = ["loses the last", "keeps that level only", "keeps one too many", "keeps another one too many"]


def at_least(records, level):
    if mode == "keeps all":
        return iter(list(records))
    if mode == "keeps none":
        return iter(())
    if mode == "keeps the others":
        right = list(true(records := list(records), level))
        return iter([record for record in records if record not in right])
    if mode == "keeps one too few":
        return iter(list(true(records, level))[1:])
    if mode == "loses the last":
        return iter(list(true(records, level))[:-1])
    if mode == "keeps that level only":
        return iter([record for record in true(records, level) if record.level == level])
    if mode == "keeps one too many":
        right = list(true(records := list(records), level))
        return iter([*right, *[record for record in records if record not in right][:1]])
    if mode == "keeps another one too many":
        right = list(true(records := list(records), level))
        return iter([*right, *[record for record in records if record not in right][-1:]])
    return true(records, level)


for module in [module for name, module in sys.modules.items() if name.split(".")[0] == "logparse"]:
    for name in [name for name, value in vars(module).items() if value is true]:
        setattr(module, name, at_least)
for mode in ("as it is", "keeps all", "keeps none", "keeps the others", "keeps one too few", *MORE):
    codes[mode] = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "tests"]))
print(json.dumps(codes))
"""


def test_the_suite_notices_a_wrong_filter():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=25)
    assert done.returncode == 0, done.stdout + done.stderr
    codes = json.loads(done.stdout.splitlines()[-1])
    assert codes.pop("as it is") == 0
    assert set(codes.values()) == {1}, codes
