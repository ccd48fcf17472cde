import json
import os
import subprocess
import sys

SCRIPT = """
import json
import pytest
from router import Router

true, codes = Router.url_for, {}
WRONG = {
    "as it is": lambda path: path,
    "without the prefix": lambda path: "/" + path.split("/", 2)[2],
    "another prefix": lambda path: "/other" + path,
}
for mode, wrong in WRONG.items():
    def url_for(self, name, wrong=wrong, **values):
        path = true(self, name, **values)
        return wrong(path) if "." in name else path

    Router.url_for = url_for
    codes[mode] = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "tests"]))
print(json.dumps(codes))
"""


def test_the_suite_notices_a_wrong_path():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=25)
    assert done.returncode == 0, done.stdout + done.stderr
    codes = json.loads(done.stdout.splitlines()[-1])
    assert codes == {"as it is": 0, "without the prefix": 1, "another prefix": 1}
