"""Attacks by somebody who had read the harness: those of the forty that said most; see hostile/white_box.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hostile import white_box
from test_channel import play

from pytest_crab.ecosystems.node.inside import runner as node_runner
from pytest_crab.harness.inside import supervisor
from pytest_crab.protocols import CLIENT_LIMITS, FileChange
from pytest_crab.runtimes import tree_diff
from pytest_crab.types import Ending, Isolation

if TYPE_CHECKING:
    from conftest import Place

local = pytest.mark.parametrize(
    "place", [pytest.param("local", marks=pytest.mark.bubblewrap)], indirect=True, scope="session"
)
confining = pytest.mark.parametrize(
    "place",
    [pytest.param("local", marks=pytest.mark.bubblewrap), pytest.param("docker", marks=pytest.mark.docker)],
    indirect=True,
    scope="session",
)
RED = "def test_it():\n    import forge\n    assert not forge.done\n"


def live(text: str) -> bool:
    """Whether a text does what it is after where no sandbox and no harness is in its way."""
    done = subprocess.run([sys.executable, "-c", f"{text}\nprint('done', done)"], capture_output=True, check=True)
    return done.stdout.endswith(b"done True\n")


@local
@pytest.mark.parametrize("name", white_box.TEXTS)
def test_a_text_reaches_nothing_of_the_machine(confined: Place, name: str) -> None:
    text = white_box.TEXTS[name]
    assert live(text), "the attack shows nothing"
    run = play(confined, RED, Isolation.NONE, {"forge.py": text})
    assert (run.ending, [test.outcome for test in run.tests]) == (Ending.COMPLETED, ["passed"]), run.detail


@local
def test_no_signal_ends_process_1(confined: Place) -> None:
    heeding = "import signal, time; signal.signal(2, signal.default_int_handler); time.sleep(60)"
    twin = [sys.executable, "-c", heeding]  # where the suite runs in the background the signal is ignored
    with subprocess.Popen(twin, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        time.sleep(0.5)
        process.send_signal(2)
        assert process.wait(30) != 0
    run = play(confined, RED, Isolation.NONE, {"forge.py": white_box.SIGNALS})
    assert (run.ending, [test.outcome for test in run.tests]) == (Ending.COMPLETED, ["failed"]), run.detail


@local
def test_a_report_without_end_is_read_for_as_long_as_the_run_may_take(confined: Place) -> None:
    run = play(confined, RED, Isolation.NONE, {"forge.py": white_box.ENDLESS}, seconds=2)
    assert (run.ending, run.detail) == (Ending.TIMEOUT, None)


@confining
@pytest.mark.parametrize("text", white_box.GUESTS.values(), ids=white_box.GUESTS)
def test_what_a_guest_of_the_projects_end_does_is_the_outcome_of_the_oracle(confined: Place, text: str) -> None:
    called = "import os, subprocess\ndef test_it():\n    call = [os.environ['CRAB_PYTHON'], '-c']\n"
    called += "    subprocess.call([*call, 'import forge'])\n    assert not subprocess.call([*call, 'pass'])\n"
    run = play(confined, called, Isolation.PROCESS, {"forge.py": white_box.MEET + text})
    assert (run.ending, [test.outcome for test in run.tests]) == (Ending.COMPLETED, ["passed"]), run.detail


@confining
def test_nobody_but_the_harness_answers_the_commands_of_an_oracle(confined: Place) -> None:
    called = "import os, subprocess\ndef test_it():\n    call = [os.environ['CRAB_PYTHON'], '-c']\n"
    called += "    subprocess.call([*call, 'import forge'])\n"
    called += "    assert subprocess.call([*call, 'raise SystemExit(3)']) == 0\n"
    run = play(confined, called, Isolation.PROCESS, {"forge.py": white_box.TAKEN})
    assert (run.ending, [test.outcome for test in run.tests]) == (Ending.COMPLETED, ["failed"]), run.detail


@local
@pytest.mark.parametrize("name", white_box.REPLACING)
def test_what_decides_what_a_library_does_is_told(confined: Place, name: str, tmp_path: Path) -> None:
    oracle, text = white_box.REPLACING[name]
    for file, content in {"forge.py": text, "test_c0.py": oracle}.items():
        (tmp_path / file).write_text(content)
    twin = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--assert=plain", "test_c0.py"]
    environment = {"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(twin, cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, f"the attack shows nothing: {done.stdout.decode()}"
    honest = play(confined, oracle, Isolation.NONE, {"forge.py": ""})
    assert ([test.outcome for test in honest.tests], honest.altered) == (["failed"], ())
    assert play(confined, oracle, Isolation.NONE, {"forge.py": text}).altered


@pytest.mark.parametrize("runner", ["jest", "node"])
@pytest.mark.parametrize("text", ["\n" * (1 << 20), " at /tree/" * (1 << 17), " " * (1 << 20)])
def test_the_text_of_a_failure_takes_no_time(text: str, runner: str) -> None:
    spec = {"runner": runner, "root": "/tree", "file": "a.test.js", "name": "x", "wires": {}}
    host = SimpleNamespace(**vars(supervisor), quote=lambda *_: None)
    began = time.process_time()
    node_runner.report(host, spec, [(["a"], "failed", text)])  # type: ignore[no-untyped-call]
    assert time.process_time() - began < 2


@local
def test_a_link_to_a_name_that_is_no_text_is_recorded_as_it_is(confined: Place) -> None:
    snapshot = confined.snapshot
    assert snapshot is not None
    with confined.runtime.workspace(confined.image, snapshot, limits=CLIENT_LIMITS) as workspace:
        done = workspace.run(["sh", "-c", r"ln -s $(printf '\377') link"], seconds=60)
        assert done.exit_code == 0
        diff = workspace.diff()
    kept = json.loads(json.dumps(diff))  # as the store keeps it
    assert snapshot.read(snapshot.apply(kept), "link") == b"\xff"


@pytest.mark.parametrize("path", [".git/config", "below/.GIT/hooks/pre-commit"])
def test_nothing_of_gits_own_is_put_into_a_clone(tmp_path: Path, path: str) -> None:
    mark = tmp_path / "mark"
    content = f"[core]\n\tfsmonitor = touch {mark} #\n".encode()
    careless = tmp_path / "careless"
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    subprocess.run(["git", "init", "-q", str(careless)], check=True, env=environment)
    (careless / ".git" / "config").write_bytes(content)
    subprocess.run(["git", "-C", str(careless), "status"], check=False, capture_output=True, env=environment)
    assert mark.exists(), "the attack shows nothing"
    with pytest.raises(ValueError, match="git's own"):
        tree_diff.put(tmp_path, [FileChange(path=path, mode="100644", content=content)])
