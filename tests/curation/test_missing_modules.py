"""What keeps an oracle from running, as it is seen in a real sandbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_crab.agents import AGENTS
from pytest_crab.curation.missing_modules import Diagnosis, diagnose
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.store import FileStore
from pytest_crab.trial import Crew, CrewSpec, RunContext
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Category, Comment, Environment, Instance, Oracle

pytestmark = pytest.mark.bubblewrap

CHANGE = "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-{}\n+{}\n"


@pytest.fixture
def see(
    tmp_path: Path, tree_instance: Callable[..., Instance], tree_comment: Callable[..., Comment]
) -> Iterator[Callable[[str, str], Diagnosis]]:
    """What is seen of an oracle where the reference makes shop.py one line of this."""
    run, store = RunFolder(), FileStore(tmp_path / "store")
    runtime = BubblewrapRuntime(RuntimeSettings(), cache=store.cache)
    run_context = RunContext(runtime=runtime, store=store, cache=store.cache, run=run, resume=run.id)
    crew = Crew.build(
        CrewSpec(
            reviewer="none",
            reviewer_spec=REVIEWERS.spec("none", {}, tmp_path),
            agent="simulated",
            agent_spec=AGENTS.spec("simulated", {}, tmp_path),
        )
    )

    def diagnosed(line: str, oracle: str) -> Diagnosis:
        folder = tmp_path / "set" / "shop-7"
        (folder / "tree").mkdir(parents=True)
        (folder / "tree" / "shop.py").write_text("A = 0\n")
        (folder / "head.diff").write_text(CHANGE.format("A = 0", "A = 1"))
        (folder / "reference.diff").write_text(CHANGE.format("A = 1", line))
        (folder / "test_c0.py").write_text(oracle)
        known = {"body": "x", "category": Category.DESIGN, "oracle": Oracle(file="test_c0.py")}
        comment = tree_comment("c0", "shop.py", **known)
        environment = Environment(dockerfile="python", timeout=30)
        instance = tree_instance(folder, "shop-7", comment, repo="owner/shop", environment=environment)
        return diagnose(TrialContext(instance, crew, run_context, lambda _: None), comment)

    yield diagnosed
    runtime.close()
    run.close()


def test_modules_that_failures_name_whoever_asked_for_them(see: Callable[[str, str], Diagnosis]) -> None:
    oracle = "def test_a():\n    import shop\ndef test_b():\n    import gone_b.inner\n"
    seen = see("import gone_a", oracle)
    assert seen.missing == ("gone_a", "gone_b")
    assert "gone_b" not in seen.vain


def test_modules_that_the_tree_looked_for_in_vain(see: Callable[[str, str], Diagnosis]) -> None:
    line = "import importlib.util as u; B = u.find_spec('gone_c')"
    seen = see(line, "import importlib.util as u\ndef test_a():\n    import shop\n    u.find_spec('d')\n    shop.x\n")
    assert (seen.missing, seen.vain) == ((), ("gone_c",))
    assert seen.kinds == {"AttributeError"}


def test_an_error_that_hides_another_tells_both(see: Callable[[str, str], Diagnosis]) -> None:
    oracle = (
        "def test_a():\n    try:\n        import shop\n    except ImportError as e:\n        raise KeyError from e\n"
    )
    seen = see("import gone_d", oracle)
    assert seen.missing == ("gone_d",)
    assert seen.kinds == {"KeyError", "ModuleNotFoundError"}


def test_a_circle_of_imports_is_told(see: Callable[[str, str], Diagnosis]) -> None:
    assert "circular import" in see("import shop; B = shop.C", "def test_a():\n    import shop\n").kinds


def test_what_each_failed_test_says_on_one_line_and_cut(see: Callable[[str, str], Diagnosis]) -> None:
    mute = "class Mute(Exception):\n    def __str__(self):\n        raise ValueError\n"
    oracle = (
        f"import shop\n{mute}def test_a():\n    assert shop.A == 1\ndef test_b():\n    raise KeyError('x' * 300, 1)\n"
        "def test_c():\n    raise ValueError('one\\n  two')\ndef test_d():\n    pass\ndef test_e():\n    raise Mute\n"
    )
    said = see("A = 2", oracle).said
    assert said["test_c0.py::test_a"][1].startswith("assert 2 == 1")
    assert (said["test_c0.py::test_b"][0], len(said["test_c0.py::test_b"][1])) == ("KeyError", 200)
    assert said["test_c0.py::test_c"] == ("ValueError", "one two")
    assert said["test_c0.py::test_e"] == ("Mute", "")
    assert len(said) == 4


def test_a_process_that_ends_early_tells_nothing(see: Callable[[str, str], Diagnosis]) -> None:
    assert see("import os; os._exit(3)", "def test_a():\n    import shop\n") == Diagnosis()


def test_the_network_is_not_there_and_its_absence_is_seen(see: Callable[[str, str], Diagnosis]) -> None:
    oracle = "import urllib.request\ndef test_a():\n    urllib.request.urlopen('http://example.org', timeout=5)\n"
    assert "URLError" in see("A = 2", oracle).kinds


def test_a_report_that_the_oracle_forges_is_none(see: Callable[[str, str], Diagnosis]) -> None:
    forged = (
        "import contextlib, os\nfor fd in range(3, 20):\n    with contextlib.suppress(OSError):\n"
        "        os.write(fd, b'[' * 50_000)\nos._exit(0)\n"
    )
    assert see("A = 2", forged) == Diagnosis()
