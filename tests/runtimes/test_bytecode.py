"""The bytecode that the build of a tree makes, and what oracle runs take of it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crab import harness
from pytest_crab.ecosystems.interpreters import running_version
from pytest_crab.protocols import ORACLE_LIMITS, FileChange
from pytest_crab.types import Environment, Instance, Oracle, PullRequestFacts

if TYPE_CHECKING:
    from conftest import Place

SOURCE = "VALUE = 'source'\ndef own():\n    pass\n"
FILES = {
    "tree/taken.py": SOURCE,
    "tree/pack/__init__.py": f"{SOURCE}# {'long ' * (1 << 16)}\n",
    "tree/warns.py": f"{SOURCE}TEXT = '\\d'\n",
    "tree/broken.py": "def (\n",
    "head.diff": "--- a/warns.py\n+++ b/warns.py\n@@ -4 +4,2 @@\n TEXT = '\\d'\n+A = 1\n",
    "reference.diff": "--- a/warns.py\n+++ b/warns.py\n@@ -4,2 +4,2 @@\n TEXT = '\\d'\n-A = 1\n+A = 2\n",
}
#: Bytecode would be written now, were there a place for it.
ORACLE = """
import sys
sys.dont_write_bytecode = False
import taken, pack, warns

def test_modules():
    assert [module.VALUE for module in (taken, pack, warns)] == {values}

def test_names():
    assert taken.own.__code__.co_filename == taken.__file__ == "/workspace/taken.py"
"""


@pytest.fixture
def place(
    tmp_path: Path, prepared: Callable[[str, Instance], Place], tree_instance: Callable[..., Instance],
    tree_comment: Callable[..., Any],
) -> Place:  # fmt: skip
    """The tree of FILES in a sandbox by bubblewrap."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    environment = Environment(dockerfile="python", python=running_version())
    pull_request = PullRequestFacts(number=1, title=str(tmp_path))
    comment = tree_comment("c0", "warns.py", lines=(1, 1), body="2")
    instance = tree_instance(tmp_path, tmp_path.name, comment, environment=environment, pull_request=pull_request)
    return prepared("local", instance)


def judged(place: Place, *asked: tuple[str, Sequence[str]], **states: Sequence[FileChange]) -> list[dict[str, str]]:
    """Run the oracle for each state and its expected values in one sandbox; outcomes by test."""
    oracle = Oracle(file="oracles/test_c0.py")
    runs = [
        harness.OracleRun(
            id=f"{number}", state=state, seconds=60, oracle=oracle, source=ORACLE.format(values=list(values))
        )
        for number, (state, values) in enumerate(asked)
    ]
    job = harness.Job(image=place.image, environment=place.instance.required_environment, states=states, runs=runs)
    done = place.runtime.execute(place.image, harness.commands(job), limits=ORACLE_LIMITS, seconds=job.seconds)
    report = harness.parse(job, done)
    assert report.problems == ()
    return [{test.id.rpartition("::")[2]: test.outcome for test in run.tests} for run in report.runs]


def test_bytecode_is_taken_where_it_is_that_of_the_source(place: Place) -> None:
    made = Path(place.image.reference) / "bytecode"
    names = sorted(str(path.relative_to(made)) for path in made.rglob("*.pyc"))
    assert names == ["pack/__init__.pyc", "taken.pyc"]  # not what warns or is broken

    # Other code under the digest of the source shows which of the two is taken.
    loading = importlib._bootstrap_external  # type: ignore[attr-defined]
    digest = (made / "taken.pyc").read_bytes()[8:16]
    code = compile(SOURCE.replace("source", "bytecode"), "x.py", "exec")
    (made / "taken.pyc").write_bytes(loading._code_to_hash_pyc(code, digest))

    taken, revised = ("bytecode", "source", "source"), ("another", "source", "source")
    change = FileChange(path="taken.py", mode="100644", content=SOURCE.replace("'source'", "'another'").encode())
    outcomes = judged(place, ("head", taken), ("new", revised), ("head", taken), head=(), new=(change,))
    assert outcomes == [{"test_modules": "passed", "test_names": "passed"}] * 3
