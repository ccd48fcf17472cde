"""The tests notice a resize() that counts the items instead of adding up their sizes."""

import os
import subprocess
import sys
from pathlib import Path

import cachetools

MUTANT = '''
import cachetools


def resize(self, maxsize):
    if maxsize < 0:
        raise ValueError(maxsize)
    {measure}
    while measure(self) > maxsize:
        self.popitem()
    self._Cache__maxsize = maxsize


cachetools.Cache.resize = resize
for kind in vars(cachetools).values():
    if isinstance(kind, type) and kind is not cachetools.Cache and "resize" in vars(kind):
        del kind.resize
'''
SIZES = "measure = lambda cache: cache.currsize"
ITEMS = "measure = len"


def run_tests(folder, measure):
    source = str(Path(cachetools.__file__).parents[1])
    if measure:
        (folder / "mutant.py").write_text(MUTANT.format(measure=measure))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", "."]
    command += ["-p", "mutant"] if measure else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), source]), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return subprocess.run([*command, "tests"], env=environment, capture_output=True, text=True, timeout=50)


def test_the_tests_pass(tmp_path):
    done = run_tests(tmp_path, None)
    assert done.returncode == 0, done.stdout[-2000:]


def test_they_pass_with_another_right_resize(tmp_path):
    done = run_tests(tmp_path, SIZES)
    assert done.returncode == 0, done.stdout[-2000:]


def test_they_fail_if_items_are_counted(tmp_path):
    done = run_tests(tmp_path, ITEMS)
    assert done.returncode == 1, "no test tells sizes from numbers of items"
