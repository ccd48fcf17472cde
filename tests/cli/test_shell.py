"""The shell command: the workspace at head or reference, commands in it, and the diffs that it keeps."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_crab import serialization
from pytest_crab.cli import main
from pytest_crab.runtimes import bubblewrap
from pytest_crab.testing.trials import trial_of
from pytest_crab.types import Provenance, Revision

INSTANCE = """\
schema: 1
id: shop-1
provenance: authored
repo: owner/shop
license: MIT
pull_request: {number: 7, title: Add a cart}
source:
  tree: {path: tree, head: head.diff, reference: reference.diff}
environment: {dockerfile: python, paths: [lib]}
comments:
  - {id: c0, path: lib/shop.py, body: This should say two., category: functional}
"""
CHANGE = "--- a/lib/shop.py\n+++ b/lib/shop.py\n@@ -1 +1 @@\n-TWO = {}\n+TWO = {}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = Path("set", "shop-1")
    (folder / "tree" / "lib").mkdir(parents=True)
    (folder / "tree" / "lib" / "shop.py").write_text("TWO = 0\n")
    (folder / "head.diff").write_text(CHANGE.format(0, 3))
    (folder / "reference.diff").write_text(CHANGE.format(3, 2))
    (folder / "instance.yaml").write_text(INSTANCE)
    return folder


def run(*arguments: str, runtime: str = "local", stdin: str | None = None) -> Result:
    argv = ["set", "shell", "shop-1", f"--runtime={runtime}", *arguments]
    return CliRunner().invoke(main, argv, catch_exceptions=False, input=stdin)


ASK = 'python -c "import shop; print(shop.TWO)"; git log --oneline | wc -l; exit 3'


@pytest.mark.bubblewrap
def test_commands_run_at_head_or_reference_and_give_their_status() -> None:
    head, reference = run("-c", ASK), run("--at=reference", stdin=ASK)
    assert (head.output.split(), head.exit_code) == (["3", "2"], 3)
    assert (reference.output.split(), reference.exit_code) == (["2", "2"], 3)


def test_a_set_from_outside_runs_nothing_where_there_is_no_sandbox(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "problem", lambda: "there is none in this test")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    place = os.path.relpath(tmp_path / folder)
    result = CliRunner().invoke(main, ["set", "shell", place, "--runtime=local", "-c", "touch ran"])
    assert result.exit_code == 1
    assert f"{tmp_path / folder} comes from outside this folder, and its code would run without" in result.output
    monkeypatch.chdir(tmp_path / folder.parent)
    result = CliRunner().invoke(main, ["set", "shell", folder.name, "--runtime=local", "-c", "echo ran"])
    assert (result.exit_code, result.output) == (0, "ran\n")


@pytest.mark.bubblewrap
def test_the_runtime_is_that_of_runs_where_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAB_RUNTIME", "elsewhere")
    refused = CliRunner().invoke(main, ["set", "shell", "shop-1", "-c", "true"])
    assert refused.exit_code == 2
    assert "CRAB_RUNTIME" in refused.output
    assert run("-c", "true").exit_code == 0, "the option comes first"


@pytest.mark.docker
def test_docker_has_the_same_at_the_reference() -> None:
    result = run("--at=reference", "-c", 'python -c "import shop; print(shop.TWO)"', runtime="docker")
    assert (result.output, result.exit_code) == ("2\n", 0)


@pytest.mark.bubblewrap
def test_what_was_changed_is_kept_once_as_a_diff_from_head(folder: Path) -> None:
    change = "echo 'TWO = 1 + 1' > lib/shop.py"
    result = run("-c", change, "--save=checks/c0-other.diff")
    assert result.output == "set/shop-1/checks/c0-other.diff: written\n"
    assert "-TWO = 3\n+TWO = 1 + 1\n" in (folder / "checks" / "c0-other.diff").read_text()
    again = run("-c", change, "--save=checks/c0-other.diff")
    assert again.exit_code == 2
    assert "is there already" in again.output
    nothing = run("-c", "true", "--save=checks/c0-none.diff")
    assert nothing.exit_code == 1
    assert "nothing was changed, so c0-none.diff is not written" in nothing.output
    outside = run("-c", change, "--save=../c0.diff")
    assert "it should be a .diff in the instance's folder" in outside.output


def test_a_place_that_cannot_be_written_is_told_before_there_is_work(folder: Path) -> None:
    (folder / "notes").write_text("")
    result = run("-c", "touch made", "--save=notes/c0.diff")
    assert result.exit_code == 1
    assert "notes" in result.output
    assert not Path(".crab").exists()


@pytest.mark.bubblewrap
def test_a_command_that_takes_too_long_is_ended() -> None:
    result = run("-c", "sleep 60", "--seconds=1")
    assert result.exit_code == 1
    assert "the command was ended, since it took too long" in result.output


@pytest.mark.bubblewrap
def test_on_a_terminal_it_is_a_shell_with_a_terminal_of_its_own() -> None:
    ours, theirs = pty.openpty()
    argv = [
        sys.executable,
        "-c",
        "from pytest_crab.cli import main; main()",
        "set",
        "shell",
        "shop-1",
        "--runtime=local",
    ]
    process = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "dumb"})
    os.close(theirs)
    said, told = b"", b"cat lib/shop.py; [ -t 0 ] && echo on-a-$((1))-terminal; exit 4\n"
    with process:
        while True:  # not until the process ends: what it said last is to be read too
            try:
                said += os.read(ours, 4096)
            except OSError:
                break  # the other end is closed
            if told and b"shop-1$ " in said:
                os.write(ours, told)
                told = b""
    os.close(ours)
    assert process.returncode == 4, said
    assert b"TWO = 3" in said
    assert b"on-a-1-terminal" in said


def write_record(folder: Path, *revisions: Revision | None) -> None:
    """A report of trials of shop-1 by the reviewer ``near``, as a run leaves it."""
    trials = [
        trial_of(
            instance="shop-1", repo="owner/shop", provenance=Provenance.AUTHORED, reviewer="near", agent="simulated",
            runtime="local", repeat=number, revision=revision, results=(), error="the reviewer hung",
            versions={"instance": "0" * 16},
        )
        for number, revision in enumerate(revisions, 1)
    ]  # fmt: skip
    folder.mkdir(parents=True)
    (folder / "trials.jsonl").write_text("".join(json.dumps(serialization.dump(trial)) + "\n" for trial in trials))


def run_trial(name: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["set", "shell", name, "--runtime=local", *arguments], catch_exceptions=False)


@pytest.mark.bubblewrap
def test_what_a_trial_left_is_made_again_from_its_record() -> None:
    write_record(Path(".crab", "report"), Revision(diff=CHANGE.format(3, 5)))
    result = run_trial("shop-1::near", "-c", 'python -c "import shop; print(shop.TWO)"')
    assert (result.stdout, result.exit_code) == ("5\n", 0)
    assert result.stderr.startswith("shop-1 was changed since this trial")


def test_a_trial_without_a_tree_of_its_own_says_why() -> None:
    write_record(Path("report"), None, Revision(diff=CHANGE.format(8, 5)))
    where = "--report=report"
    nothing = run_trial("shop-1::near[1]", where)
    assert (nothing.exit_code, "no revision: the reviewer hung" in nothing.output) == (1, True), nothing.output
    assert "the revision of shop-1::near[2] does not apply" in run_trial("shop-1::near[2]", where).output
    assert "no revision: the reviewer hung" in run_trial("shop-1::near", where).output
    assert "name one of them: shop-1::near, shop-1::near[2]" in run_trial("shop-1::", where).output
    assert "leave out --at" in run_trial("shop-1::near[2]", where, "--at=head").output
    unknown = run_trial("shop-1::far", where).output
    assert "shop-1::far is not among the 2 trials of report/trials.jsonl" in unknown
    assert "there is shop-1::near" in unknown
