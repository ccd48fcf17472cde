"""The build of an environment: in each state's own tree, before anything runs there."""

from __future__ import annotations

import pytest

from pytest_crab import harness, verdict
from pytest_crab.protocols import FileChange
from pytest_crab.types import Ending, Reason
from tests.harness.conftest import Bench, changed, proof, told

TEST = "test_c0.py::test_made"
ORACLE = "def test_made():\n    with open('made.txt') as file:\n        assert file.read() == 'good'\n"


@pytest.fixture
def built(bench: Bench) -> Bench:
    bench.write("source.txt", "bad")
    bench.build = ("test -f source.txt || { echo error: there is no source; exit 3; }", "cat source.txt > made.txt")
    return bench


def test_every_state_is_built_for_every_run(built: Bench) -> None:
    runs = [built.oracle(ORACLE, name="a"), built.oracle(ORACLE, name="b", state="fixed")]
    command = harness.CommandRun(id="c", state="fixed", seconds=30, command=("grep", "-q", "good", "made.txt"))
    report = built.report([*runs, command], fixed=[changed("source.txt", "good")])
    assert [told(run) for run in report.runs[:2]] == [{TEST: "failed"}, {TEST: "passed"}]
    assert report.runs[2].exit_code == 0


def test_a_state_that_does_not_build_is_missed_in_the_words_of_the_build(built: Bench) -> None:
    gone = FileChange(path="source.txt", mode="100644", content=None)
    (run,) = built.report([built.oracle(ORACLE, state="gone")], gone=[gone]).runs
    assert (run.ending, run.tests) == (Ending.UNINSTALLED, ())
    judgement = verdict.judge(proof(TEST), run)
    assert judgement.reason is Reason.INSTALL
    assert "there is no source" in (judgement.detail or "")


def test_what_a_build_leaves_beside_the_tree_is_gone(bench: Bench) -> None:
    bench.build = ("for place in home tmp oracle; do touch $HOME/../$place/left; done; cp -a $HOME/.. made",)
    source = (
        "import glob, os\ndef test_made():\n    assert len(glob.glob('made/*/left')) == 3\n"
        "    assert glob.glob(os.environ['HOME'] + '/../*/left') == []\n"
    )
    assert told(bench.report([bench.oracle(source)]).runs[0]) == {TEST: "passed"}


def test_a_build_takes_its_runs_time(built: Bench) -> None:
    built.build = ("sleep 60",)
    (run,) = built.report([built.oracle(ORACLE, seconds=1)]).runs
    assert run.ending is Ending.TIMEOUT
