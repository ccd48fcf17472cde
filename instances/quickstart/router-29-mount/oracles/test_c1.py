import json
import os
import subprocess
import sys

SCRIPT = """
import json
import pytest
from router import Router
from router.pattern import Pattern

true, codes = Router.url_for, {}
WRONG = {
    "as it is": lambda name, path: path,
    "without the prefix": lambda name, path: "/" + path.split("/", 2)[2],
    "another prefix": lambda name, path: "/other" + path,
    "another end": lambda name, path: path + "x",
    "the prefix twice": lambda name, path: "/" + path.split("/", 2)[1] + path,
    "the prefix alone": lambda name, path: "/" + path.split("/", 2)[1],
    "the other of two": lambda name, path: "/" + path.split("/", 2)[2] if name == "api.users" else path,
    "one of two": lambda name, path: "/" + path.split("/", 2)[2] if name == "api.user" else path,
}
for mode, wrong in WRONG.items():
    def url_for(self, name, wrong=wrong, **values):
        path = true(self, name, **values)
        return wrong(name, path) if "." in name else path

    Router.url_for = url_for
    codes[mode] = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "tests"]))

Router.url_for, mount, build, prefixes = true, Router.mount, Pattern.build, set()


def mounted(self, prefix, other, **options):
    prefixes.add(prefix)
    return mount(self, prefix, other, **options)


def without(self, values):
    path = build(self, values)
    return next((path[len(prefix):] for prefix in prefixes if self.source.startswith(prefix + "/")), path)


Router.mount, Pattern.build = mounted, without
codes["built without the prefix"] = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "tests"]))
print(json.dumps(codes))
"""


def test_the_suite_notices_a_wrong_path():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=25)
    assert done.returncode == 0, done.stdout + done.stderr
    codes = json.loads(done.stdout.splitlines()[-1])
    assert codes.pop("as it is") == 0
    assert set(codes.values()) == {1}, codes
