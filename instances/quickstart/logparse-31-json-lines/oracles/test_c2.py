import json
import os
import subprocess
import sys

SCRIPT = """
import json, sys
import pytest
import logparse

true, mode, caught = logparse.at_least, "", {}
MODES = ["as it is", "keeps all", "keeps none", "keeps the others", "keeps one too few", "loses the last",
         "keeps that level only", "keeps one too many", "keeps another one too many"]


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


def modes():
    global mode
    for mode in MODES:
        yield mode


class EachMode:
    def pytest_runtestloop(self, session):
        if session.testsfailed:
            return None
        for mode in modes():
            before = session.testsfailed
            for item, following in zip(session.items, [*session.items[1:], None]):
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            caught[mode] = session.testsfailed > before
        return True


options = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:unraisableexception", "tests"]
code = pytest.main(options, [EachMode()])
print(json.dumps([int(code), caught]))
"""


def test_the_suite_notices_a_wrong_filter():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=25)
    assert done.returncode == 0, done.stdout + done.stderr
    code, caught = json.loads(done.stdout.splitlines()[-1])
    assert code == 1
    assert caught.pop("as it is") is False
    assert all(caught.values()), caught
