"""What is told of names that revised code replaces in what the oracle uses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pytest_crab.types import Ending

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Bench

TEST = "def test_it():\n    bad.later()\n"
LATER = "def later():\n    pass\n"
#: By the label: what the oracle imports, and what the project does.
REPLACED = {
    "random.randint": ("import random", "import random\nrandom.randint = lambda *_: 3\n"),
    "math.isclose": ("import math", "import math\nmath.isclose = lambda *_, **__: True\n"),
    "math.fsum": ("import statistics", "import math\nmath.fsum = max\n"),
    "random.Random.random": ("from random import randint", "import random\nrandom.Random.random = lambda self: 0\n"),
    "random.Random.choice": (
        "import random as r", "import random\nrandom.Random.choice.__code__ = (lambda self, seq: 0).__code__\n",
    ),
    "statistics.sum": ("import statistics", "import statistics\nstatistics.sum = lambda *_: 1\n"),
    "posixpath.exists": ("import os", "import os\nos.path.exists = print\n"),
    "json.loads": ("import json", "import json\njson.loads = print\n"),
    "csv": ("import csv", "import sys, types\nsys.modules['csv'] = types.ModuleType('csv')\n"),
    "unittest.mock.patch": ("from unittest import mock", "import unittest.mock as m\nm.patch = print\n"),
    "oracle.isclose": (
        "from math import isclose", "import sys\ndef later():\n    sys.modules['test_c0'].isclose = print\n",
    ),
    "oracle.sum": ("import math", "import sys\ndef later():\n    sys.modules['test_c0'].sum = lambda *_: 1\n"),
    "oracle.helper": (
        "def helper():\n    return 1", "import sys\ndef later():\n    sys.modules['test_c0'].helper = lambda: 0\n",
    ),
    "import:colorsys": ("import colorsys", None),
    "builtins.all": ("import pytest", "import builtins\nbuiltins.all = lambda values: True\n"),
    "pytest.approx": ("import pytest", "import pytest\npytest.approx.__defaults__ = (9, 9, True)\n"),
    "_pytest.fixtures.dir": (
        "import pytest", "import _pytest.fixtures as f\nf.dir.__defaults__ = (lambda holder: [], (), (), type)\n",
    ),
    "_pytest.python.Function.repr_failure": (
        "import pytest", "import _pytest.python as p\np.Function.repr_failure = lambda *_, **__: 'ok'\n",
    ),
    f"{pytest.approx.__module__}.abs": (
        "import pytest", "import pytest, sys\nsys.modules[pytest.approx.__module__].abs = lambda x: 0\n",
    ),
    "pytest": (
        "import pytest",
        """\
import pytest, sys, types
own = types.ModuleType("pytest")
vars(own).update(vars(pytest))
sys.modules["pytest"] = own
""",
    ),
    "unittest": ("", "import unittest as u\nclass Own(type(u)):\n    pass\nu.__class__ = Own\n"),
    "math": ("import math", "import math\nclass Own(type(math)):\n    pass\nmath.__class__ = Own\n"),
    "json.dumps": ("import json", "import json\njson.dumps.__kwdefaults__['sort_keys'] = True\n"),
    "fractions.Fraction.__add__": (
        "from fractions import Fraction",
        """\
import fractions
for cell in fractions.Fraction.__add__.__closure__:
    cell.cell_contents = lambda one, other: 5
""",
    ),
    "queue.Queue.__class_getitem__": (
        "import queue", "import queue\nvars(queue.Queue)['__class_getitem__'].__init__(lambda kind, item: 9)\n",
    ),
    "oracle.__builtins__": (
        "import math", "import sys\ndef later():\n    vars(sys.modules['test_c0'])['__builtins__'] = dict(sum=print)\n",
    ),
}  # fmt: skip
#: What a project may do, by what the oracle imports.
LEFT_ALONE = {
    "what the oracle does not use": ("import math", "import random\nrandom.randint = lambda *_: 3\n"),
    "hooks that Python documents": (
        "import logging, warnings",
        "import logging as log, time, warnings\nlog.Formatter.converter = time.gmtime\nwarnings.showwarning = print\n",
    ),
    "a class of loggers": ("import logging", "import logging as g\ng.setLoggerClass(type('Own', (g.Logger,), {}))\n"),
    "additions": ("import logging", "import logging\nlogging.Logger.trace = print\nlogging.trace = print\n"),
    "a module that does not exist here": ("try:\n    import winreg\nexcept ImportError:\n    pass", ""),
    "a name of the project's or of Python's": (
        "try:\n    from bad import isclose\nexcept ImportError:\n    from math import isclose", "isclose = print\n",
    ),
    "an own function that the oracle decorates": (
        "import bad\n@bad.decorated\ndef helper():\n    pass",
        "import functools\ndef decorated(function):\n    return lambda: function()\n",
    ),
    "values that are not called": ("from sys import stdout", "import io, sys\nsys.stdout = io.StringIO()\n"),
    "what comes by a star": ("from bad import *\ndef helper():\n    pass", "def sum(things):\n    return 0\n"),
    "what is put back": (
        "import random\nfrom unittest import mock",
        "from unittest import mock\ndef later():\n    with mock.patch('random.randint'):\n        pass\n",
    ),
}  # fmt: skip

#: Sets and registers what Python's library lets a program set and register.
REGISTERS = """\
import asyncio, atexit, calendar, codecs, copyreg, decimal, faulthandler, json, locale, logging, mimetypes
import multiprocessing, random, signal, socket, sqlite3, threading, time, uuid, warnings
logging.basicConfig()
logging.captureWarnings(True)
logging.addLevelName(5, "TRACE")
warnings.filterwarnings("ignore")
asyncio.set_event_loop_policy(None)
asyncio.new_event_loop().close()
multiprocessing.set_start_method("spawn")
calendar.setfirstweekday(6)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
atexit.register(print)
mimetypes.init()
mimetypes.add_type("text/x-shop", ".shop")
sqlite3.register_adapter(set, str)
copyreg.pickle(threading.local, repr)
codecs.register(lambda name: None)
socket.setdefaulttimeout(9)
decimal.getcontext().prec = 9
random.seed(9)
uuid.uuid1(), uuid.uuid4(), time.strptime("1", "%d"), locale.localeconv(), json.dumps({})
threading.Thread(target=print).start()
"""
USES = "\n".join(line for line in REGISTERS.splitlines() if line.startswith("import "))


def altered(bench: Bench, imports: str, text: str) -> tuple[str, ...]:
    run = bench.run(f"import bad\n{imports}\n{TEST}", bad=LATER + text)
    assert (run.ending, run.tripwire) == (Ending.COMPLETED, True), run
    return run.altered


@pytest.mark.parametrize("label", REPLACED)
def test_what_the_project_replaces_in_what_the_oracle_uses_is_told(bench: Bench, label: str) -> None:
    imports, text = REPLACED[label]
    if text is None:
        bench.write("colorsys.py", "rgb_to_hsv = None\n")
    assert label in altered(bench, imports, text or "")


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_what_a_right_project_does_is_not_told(bench: Bench, case: str) -> None:
    assert altered(bench, *LEFT_ALONE[case]) == ()


def test_what_a_program_may_set_and_register_is_not_told(bench: Bench) -> None:
    assert altered(bench, USES, REGISTERS) == ()


def test_nothing_that_can_be_changed_unseen_says_where_fixtures_are(bench: Bench) -> None:
    source = "import _pytest.fixtures\ndef test_it():\n    assert not _pytest.fixtures.dir.__closure__\n"
    run = bench.run(f"{source}    hash(_pytest.fixtures.dir.__defaults__)\n", bad=LATER)
    assert [test.outcome for test in run.tests] == ["passed"]


@pytest.mark.parametrize("name", ["random", "queue"])
def test_a_module_that_is_called_like_one_of_pythons_stays_the_projects(bench: Bench, name: str) -> None:
    bench.write(f"{name}.py", "mine = True\n")
    told = altered(bench, "import sched, random", f"import {name}\nmine = getattr({name}, 'mine', False)\n")
    assert told == ()
    run = bench.run(f"import bad\ndef test_it():\n    assert bad.mine is {name == 'queue'}\n")
    assert [test.outcome for test in run.tests] == ["passed"]


USED = "from hypothesis import given, settings, strategies as st\n@given(st.integers())\ndef test_more(n):\n    pass"
PROFILE = """\
import hypothesis
hypothesis.settings.register_profile("quick", max_examples=1)
hypothesis.settings.load_profile("quick")
"""


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("", None),
        (PROFILE, "hypothesis.settings.max_examples"),
        ("import hypothesis\nhypothesis.given = lambda *_: lambda test: lambda: None\n", "hypothesis.given"),
        (
            "import hypothesis.core as c\nc.StateForActualGivenExecution.run_engine = lambda self: None\n",
            "hypothesis.core.StateForActualGivenExecution.run_engine",
        ),
    ],
)
def test_hypothesis_and_its_settings_are_compared(bench: Bench, text: str, label: str | None) -> None:
    told = altered(bench, USED, text)
    assert told == () if label is None else label in told


def test_code_of_the_project_in_another_library_is_told(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "near.py").write_text("def about(a, b):\n    return a == b\n")
    bench.site = (*bench.site, str(tmp_path / "site"))
    assert altered(bench, "import near", "") == ()
    assert altered(bench, "from near import about", "import near\nnear.about = lambda *_: True\n") == ("near.about",)


def test_it_is_the_same_for_other_interpreters(bench: Bench, interpreter: SimpleNamespace) -> None:
    bench.python, bench.site = interpreter.python, interpreter.site
    imports = f"{USES}\nimport math, re, subprocess, typing\nfrom unittest import mock"
    assert altered(bench, imports, REGISTERS) == ()
    told = altered(bench, imports, "import random\nrandom.randint = lambda *_: 3\n")
    assert told == ("random.randint",)
