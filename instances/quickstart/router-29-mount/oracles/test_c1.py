import json
import os
import subprocess
import sys

SCRIPT = """
import json
import pytest
from router import Router
from router.pattern import Pattern

true, mount, build, prefixes, caught = Router.url_for, Router.mount, Pattern.build, set(), {}
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


def mounted(self, prefix, other, **options):
    prefixes.add(prefix)
    return mount(self, prefix, other, **options)


def without(self, values):
    path = build(self, values)
    return next((path[len(prefix):] for prefix in prefixes if self.source.startswith(prefix + "/")), path)


def modes():
    for mode, wrong in WRONG.items():
        def url_for(self, name, wrong=wrong, **values):
            path = true(self, name, **values)
            return wrong(name, path) if "." in name else path

        Router.url_for = url_for
        yield mode
    Router.url_for, Router.mount, Pattern.build = true, mounted, without
    yield "built without the prefix"


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


def test_the_suite_notices_a_wrong_path():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=25)
    assert done.returncode == 0, done.stdout + done.stderr
    code, caught = json.loads(done.stdout.splitlines()[-1])
    assert code == 1
    assert caught.pop("as it is") is False
    assert all(caught.values()), caught
