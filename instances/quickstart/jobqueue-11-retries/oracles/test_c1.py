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

init, codes = jobqueue.Worker.__init__, {}
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
for mode, changed in waits.items():
    def patched(self, *args, changed=changed, **options):
        init(self, *args, **{**options, "backoff": changed(options.get("backoff") or default)})

    jobqueue.Worker.__init__ = patched
    codes[mode] = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "tests"]))
print(json.dumps(codes))
"""


def test_the_suite_notices_wrong_waits():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=25)
    assert done.returncode == 0, done.stdout + done.stderr
    codes = json.loads(done.stdout.splitlines()[-1])
    assert codes.pop("as it is") == 0
    assert set(codes.values()) == {1}, codes
