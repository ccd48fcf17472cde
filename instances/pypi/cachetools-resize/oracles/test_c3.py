"""The tests notice a resize() that counts the items instead of adding up their sizes."""

import os
import subprocess
import sys
from pathlib import Path

import cachetools

MUTANT = '''
import cachetools


def counting(true):
    def resize(self, maxsize):
        if self.currsize == len(self) or not isinstance(maxsize, (int, float)) or maxsize < 0:
            return true(self, maxsize)  # here nothing tells items from sizes
        while len(self) > maxsize:
            self.popitem()
        self._Cache__maxsize = maxsize

    return resize


for kind in list(vars(cachetools).values()):
    if isinstance(kind, type) and "resize" in vars(kind):
        kind.resize = counting(kind.resize)
'''


def run_tests(folder, mutant):
    source = str(Path(cachetools.__file__).parents[1])
    if mutant:
        (folder / "mutant.py").write_text(MUTANT)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", "."]
    command += ["-p", "mutant"] if mutant else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), source]), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return subprocess.run([*command, "tests"], env=environment, capture_output=True, text=True, timeout=50)


def test_the_tests_pass(tmp_path):
    done = run_tests(tmp_path, mutant=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_they_fail_if_items_are_counted(tmp_path):
    done = run_tests(tmp_path, mutant=True)
    assert done.returncode == 1, "no test tells sizes from numbers of items"
