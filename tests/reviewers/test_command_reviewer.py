from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from fake_checkout import FakeCheckout
from pytest_crab import reviewers
from pytest_crab.errors import BadInput, ReviewerError
from pytest_crab.reviewers.command import CommandReviewer
from pytest_crab.types import Finding, Review

SECRET = "sk-tell-nobody-0123456789"
EMPTY = '{"schema": 1, "findings": []}'


def make(folder: Path, script: str, **settings: Any) -> CommandReviewer:
    (folder / "reviewer.py").write_text("import json, os, sys\nrequest = json.load(sys.stdin)\n" + script)
    settings = {"command": [sys.executable, "reviewer.py"], "files": ["reviewer.py"], **settings}
    reviewer = reviewers.REVIEWERS.make("command", settings, folder)
    assert isinstance(reviewer, CommandReviewer)
    return reviewer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "house").mkdir()
    return tmp_path / "house"


def reviewed(checkout: FakeCheckout, reviewer: CommandReviewer) -> Review:
    return reviewer.review(checkout.pull_request(body="Please."), checkout)


def test_it_is_told_the_pull_request_and_nothing_else(folder: Path, checkout: FakeCheckout) -> None:
    script = """
assert os.getcwd() == os.path.realpath(request["root"]) and os.path.exists("calc.py")
print(json.dumps({"schema": 1, "findings": [{"body": json.dumps(request)}]}))
"""
    told = json.loads(reviewed(checkout, make(folder, script)).findings[0].body)
    pull_request = checkout.pull_request(body="Please.")
    assert told.pop("root") == checkout.workspaces[0].root
    assert told == {
        "schema": 1,
        "repo": pull_request.repo,
        "language": "python",
        "title": pull_request.title,
        "body": "Please.",
        "base": pull_request.base,
        "head": pull_request.head,
        "diff": pull_request.diff,
        "base_branch": "main",
    }


def test_no_findings_is_a_review(folder: Path, checkout: FakeCheckout) -> None:
    assert reviewed(checkout, make(folder, f"print({EMPTY!r})")) == Review()


def test_absolute_paths_below_the_checkout_become_relative(folder: Path, checkout: FakeCheckout) -> None:
    script = """
path = request["root"] + "/calc.py"
print(json.dumps({"schema": 1, "findings": [{"path": path, "start": 4, "body": "B"}], "usage": {"requests": 3}}))
"""
    review = reviewed(checkout, make(folder, script))
    assert review.findings == (Finding(path="calc.py", start=4, body="B"),)
    assert review.usage is not None
    assert review.usage.requests == 3


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            "sys.exit('Traceback\\nno model answers\\n')",
            "ended with exit code 1; its last line on stderr is 'no model answers'",
        ),
        (f"print({EMPTY!r}); sys.exit(3)", "ended with exit code 3; it printed nothing on stderr"),
        ("sys.exit(os.waitstatus_to_exitcode(os.system('no-such-linter')))", "folder under readable"),
        ("open('rules.json')", "sees of other files those alone that files and readable name"),
        ("os.kill(os.getpid(), 9)", "ended with exit code 137 (signal 9)"),
        ("print('LGTM')", "printed what is no answer: it holds no list of findings"),
        ("pass", "printed what is no answer: it is empty"),
        ("sys.stdout.buffer.write(b'\\xff')", "it is no UTF-8"),
        ('print(\'{"schema": 1, "findings": [{"path": "a.py", "from_line_no": 3, "body": "B"}]}\')', "from_line_no"),
        ("print(' ' * (17 << 20))", "printed more than is read"),
        ("sys.exit('\\x1b[31mred\\x07')", "'?[31mred?'"),
    ],
)
def test_a_failure_is_one_sentence(script: str, said: str, folder: Path, checkout: FakeCheckout) -> None:
    with pytest.raises(ReviewerError) as caught:
        reviewed(checkout, make(folder, script))
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"the command reviewer {sys.executable} ")
    assert "\n" not in str(caught.value)


def test_a_time_out_is_a_reviewer_error(folder: Path, checkout: FakeCheckout) -> None:
    script = "print('working', file=sys.stderr, flush=True)\nimport time; time.sleep(60)"
    with pytest.raises(ReviewerError, match=r"did not end within 6 seconds.*'working'"):
        reviewed(checkout, make(folder, script, timeout="6"))


def test_it_gets_the_variables_that_are_passed_and_no_other(
    folder: Path, checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", SECRET)
    monkeypatch.setenv("OTHER_KEY", "other")
    reviewer = make(folder, f"print({EMPTY!r})", pass_env=["MODEL_KEY", "NOT_SET"], env={"MODE": "strict"})
    reviewed(checkout, reviewer)
    (variables,) = checkout.workspaces[0].environments
    assert variables.pop("PATH").split(":")[0] == str(Path(sys.executable).parent)
    assert variables == {"MODEL_KEY": SECRET, "MODE": "strict"}


@pytest.mark.parametrize(
    "script",
    [
        "sys.exit('401 for ' + os.environ['MODEL_KEY'])",
        "print(json.dumps({'schema': 1, 'findings': [{'body': 'B', 'source_file': 'a/' + os.environ['MODEL_KEY']}]}))",
    ],
)
def test_a_secret_is_in_no_error(
    script: str, folder: Path, checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", SECRET)
    with pytest.raises(ReviewerError) as caught:
        reviewed(checkout, make(folder, script, pass_env=["MODEL_KEY"]))
    assert SECRET not in str(caught.value)
    assert "[MODEL_KEY]" in str(caught.value)


@pytest.mark.parametrize(
    "end", ["sys.exit('late ' + os.environ['MODEL_KEY'])", "print('no answer')", "sys.stdout.buffer.write(b'\\xff')"]
)
def test_a_failure_leaves_both_streams_without_secrets(
    end: str, folder: Path, checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", SECRET)
    script = f"print('[bot] reviews', os.environ['MODEL_KEY'], flush=True)\nprint('loaded', file=sys.stderr)\n{end}"
    with pytest.raises(ReviewerError, match=r"its stdout starts with '\[bot\] reviews \[MODEL_KEY\]") as caught:
        reviewed(checkout, make(folder, script, pass_env=["MODEL_KEY"]))
    ((key, text),) = checkout.kept.items()
    assert f"transcript {key[:12]}" in str(caught.value)
    told = json.loads(text)
    assert told["stdout"].startswith("[bot] reviews [MODEL_KEY]")
    assert told["stderr"].startswith("loaded")
    assert SECRET not in text


def test_a_secret_is_in_no_finding(folder: Path, checkout: FakeCheckout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", SECRET)
    script = """
key = os.environ["MODEL_KEY"]
finding = {"body": "a " + key, "title": key, "rule": key, "severity": key}
print(json.dumps({"schema": 1, "findings": [finding], "version": key}))
"""
    review = reviewed(checkout, make(folder, script, pass_env=["MODEL_KEY"]))
    assert review == Review(
        findings=(Finding(body="a [MODEL_KEY]", title="[MODEL_KEY]", rule="[MODEL_KEY]", severity="[MODEL_KEY]"),),
        version="[MODEL_KEY]",
    )


def test_a_clone_sees_what_is_named_and_never_the_folder_itself(folder: Path, checkout: FakeCheckout) -> None:
    (folder / "prompts").mkdir()
    (folder / "cache").mkdir()
    (folder / "run").write_text(f"#!/bin/sh\ncat > /dev/null; test -d \"$1\" && echo '{EMPTY}'\n")
    (folder / "run").chmod(stat.S_IRWXU)
    reviewer = make(folder, "", command=["./run", "cache"], files=[], readable=["prompts"], writable=["cache"])
    reviewed(checkout, reviewer)
    (opening,) = checkout.openings
    assert opening.place == "clone"
    assert opening.network
    assert opening.readable == (folder / "prompts",)
    assert opening.libraries == (folder / "run",)
    assert opening.writable == (folder / "cache",)


def test_a_program_comes_with_the_libraries_of_its_prefix(folder: Path, checkout: FakeCheckout, tmp_path: Path) -> None:
    """A link from a virtual environment leads to another prefix, and both are needed."""
    for prefix in ("real", "venv"):
        (tmp_path / prefix / "bin").mkdir(parents=True)
        (tmp_path / prefix / "lib").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    (tmp_path / "real" / "bin" / "tool").write_text(f"#!/bin/sh\necho '{EMPTY}'\n")
    (tmp_path / "real" / "bin" / "tool").chmod(stat.S_IRWXU)
    (tmp_path / "venv" / "bin" / "tool").symlink_to("../../real/bin/tool")
    reviewed(checkout, make(folder, "", command=[str(tmp_path / "venv" / "bin" / "tool")], files=[]))
    names = {str(path.relative_to(tmp_path)) for path in checkout.openings[0].libraries}
    assert names == {
        "venv/bin",
        "venv/lib",
        "venv/pyvenv.cfg",
        "real/bin",
        "real/lib",
    }


def test_in_workspace_runs_there_without_anything_of_this_machine(folder: Path, checkout: FakeCheckout) -> None:
    reviewer = make(
        folder, "", **{"in": "workspace"}, files=[], command=["sh", "-c", f"cat >/dev/null; echo '{EMPTY}'"]
    )
    reviewed(checkout, reviewer)
    assert [opening.place for opening in checkout.openings] == ["workspace"]


def test_a_command_that_is_not_there_is_named(folder: Path, checkout: FakeCheckout) -> None:
    with pytest.raises(ReviewerError, match="there is no executable no-such-reviewer on PATH"):
        reviewed(checkout, make(folder, "", command=["no-such-reviewer"]))
    with pytest.raises(ReviewerError, match=r"there is no executable \./reviewer.py in "):
        reviewed(checkout, make(folder, "", command=["./reviewer.py"]))


def test_the_identity_follows_the_files(folder: Path) -> None:
    (folder / "lib").mkdir()
    (folder / "lib" / "a.py").write_text("1")
    reviewer = make(folder, "", files=["reviewer.py", "lib"])
    before = reviewer.identity()
    (folder / "lib" / "__pycache__").mkdir()
    (folder / "lib" / "__pycache__" / "a.pyc").touch()
    assert reviewer.identity() == before
    (folder / "lib" / "a.py").write_text("2")
    assert reviewer.identity() != before


def test_the_identity_follows_the_version(folder: Path, checkout: FakeCheckout) -> None:
    (folder / "version.txt").write_text("tool 1.0\n")
    reviewer = make(folder, f"print({EMPTY!r})", version=["cat", "version.txt"])
    identity = reviewer.identity()
    assert identity is not None
    assert identity["printed"] == "tool 1.0"
    assert reviewed(checkout, reviewer).version == "tool 1.0"


def test_a_version_command_that_fails_is_a_reviewer_error(folder: Path) -> None:
    for command in (["false"], ["true"], ["no-such-program"]):
        with pytest.raises(ReviewerError, match="gave no version"):
            make(folder, "", version=command).identity()


def test_nothing_is_known_about_a_command_without_a_fingerprint(folder: Path) -> None:
    assert make(folder, "", files=[]).identity() is None


def test_no_secret_is_in_the_identity(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", SECRET)
    assert SECRET not in json.dumps(make(folder, "", pass_env=["MODEL_KEY"]).identity())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"command": []}, "command should name an executable"),
        ({"timeout": "0"}, "timeout should be a number of seconds above 0"),
        ({"timeout": "nan"}, "timeout is 'nan'"),
        ({"pass_env": ["A B"]}, "'A B' is no name of an environment variable"),
        ({"pass_env": ["A"], "env": {"A": "1"}}, "A is in both env and pass_env"),
        ({"in": "docker"}, "in is 'docker'; it should be one of clone, workspace"),
        ({"in": "workspace"}, "files and writable cannot be bound"),
        ({"files": ["gone.py"]}, "files names gone.py, which does not exist"),
        ({"readable": ["/"]}, "readable names /, which holds more than a client may see"),
        ({"readable": ["~"]}, "readable names ~, which holds more"),
        ({"readable": ["."]}, "readable names ., which holds more"),
        ({"writable": [".."]}, "writable names .., which holds more"),
        ({"writable": ["reviewer.py"]}, "which is no folder"),
        ({"place": "clone"}, "place is not a known key"),
    ],
)
def test_a_bad_setting_is_named(settings: dict[str, Any], said: str, folder: Path) -> None:
    with pytest.raises(BadInput) as caught:
        make(folder, "", **settings)
    assert said in str(caught.value)
    assert str(caught.value).startswith("crab.yaml: reviewers.command: ")


def test_a_link_to_the_home_is_seen_through(folder: Path) -> None:
    (folder / "innocent").symlink_to(Path(os.path.expanduser("~")))  # noqa: PTH111 - what a shell would do
    with pytest.raises(BadInput, match="readable names innocent, which holds more"):
        make(folder, "", readable=["innocent"])


SARIF = {"runs": [{"results": [{"message": {"text": "Wrong."}, "locations": [
    {"physicalLocation": {"artifactLocation": {"uri": "calc.py"}, "region": {"startLine": 1}}}]}]}]}  # fmt: skip


def test_a_linter_prints_a_report_and_ends_with_one(folder: Path, checkout: FakeCheckout) -> None:
    script = f"print({json.dumps(SARIF)!r}); sys.exit(1)"
    review = reviewed(checkout, make(folder, script, format="sarif", exit_codes=[0, 1]))
    assert [(one.path, one.start, one.body) for one in review.findings] == [("calc.py", 1, "Wrong.")]
    with pytest.raises(ReviewerError, match="exit code 1"):
        reviewed(checkout, make(folder, script, format="sarif"))
    with pytest.raises(ReviewerError, match="no report in the format checkstyle"):
        reviewed(checkout, make(folder, script, format="checkstyle", exit_codes=[0, 1]))


def test_a_linter_that_fails_is_no_empty_review(folder: Path, checkout: FakeCheckout) -> None:
    settings = {"format": "github", "exit_codes": [0, 1]}
    assert reviewed(checkout, make(folder, "pass", **settings)).findings == ()
    with pytest.raises(ReviewerError, match="exit code 1 and has no finding"):
        reviewed(checkout, make(folder, "sys.exit(1)", **settings))
    with pytest.raises(BadInput, match="exit_codes"):
        make(folder, "pass", exit_codes=[137])
    with pytest.raises(BadInput, match="format"):
        make(folder, "pass", format="xml")
