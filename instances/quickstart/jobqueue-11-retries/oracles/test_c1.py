import json
import os
import subprocess
import sys

SCRIPT = """
import inspect
import json
import pytest
import jobqueue
from jobqueue.backoff import exponential

init, caught = jobqueue.Worker.__init__, {}
default = inspect.signature(init).parameters["backoff"].default or exponential
waits = {
    "as it is": lambda backoff: backoff,
    "no wait": lambda backoff: lambda attempts: 0.0,
    "always the same": lambda backoff: lambda attempts: 2.0,
    "always the first": lambda backoff: lambda attempts: backoff(1),
    "no first wait": lambda backoff: lambda attempts: backoff(attempts) if attempts > 1 else 0.0,
    "the first twice": lambda backoff: lambda attempts: backoff(max(1, attempts - 1)),
    "too late": lambda backoff: lambda attempts: backoff(attempts) * 2,
    "shorter each time": lambda backoff: lambda attempts: backoff(max(1, 4 - attempts)),
}


def modes():
    for mode, changed in waits.items():
        def patched(self, *args, changed=changed, **options):
            init(self, *args, **{**options, "backoff": changed(options.get("backoff") or default)})

        jobqueue.Worker.__init__ = patched
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


def test_the_suite_notices_wrong_waits():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=25)
    assert done.returncode == 0, done.stdout + done.stderr
    code, caught = json.loads(done.stdout.splitlines()[-1])
    assert code == 1
    assert caught.pop("as it is") is False
    assert all(caught.values()), caught
