"""The comment command, against a forge that holds comments as GitHub and GitLab do."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.results.files import write_trials
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import Provenance, Reason, Review
from scripted_forge import ForgeAnswer, ScriptedForge

TOKEN = "ghs_job_token_1"


def report(folder: Path, *reasons: Reason, reviewer: str = "mine") -> Path:
    """The report of a run of one instance."""
    folder.mkdir()
    results = tuple(comment_result(f"c{at}", reason) for at, reason in enumerate(reasons))
    trial = trial_of(
        results, instance="one", reviewer=reviewer, repo="o/n", provenance=Provenance.AUTHORED, agent="careful",
        runtime="local", review=Review(findings=()),
    )  # fmt: skip
    write_trials(folder / "trials.jsonl", [trial])
    return folder


class Desk:
    def __init__(self, forge: ScriptedForge, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.forge, self.folder, self._patch = forge, folder, monkeypatch
        self.event(head="owner/name")
        self.set(
            GITHUB_SERVER_URL=forge.url, GITHUB_API_URL=forge.url, GITHUB_REPOSITORY="owner/name", GITHUB_RUN_ID="42",
            GITHUB_EVENT_PATH=str(folder / "event.json"), GITHUB_TOKEN=TOKEN,
        )  # fmt: skip
        self.waits: list[float] = []
        monkeypatch.setattr(time, "sleep", self.waits.append)
        self.run_of = report(folder / "now", Reason.GREEN, Reason.FAILED)
        self.before = report(folder / "before", Reason.FAILED, Reason.GREEN)

    def set(self, **variables: str | None) -> None:
        for name, value in variables.items():
            if value is None:
                self._patch.delenv(name, raising=False)
            else:
                self._patch.setenv(name, value)

    def event(self, head: str) -> None:
        pull = {"number": 7, "head": {"sha": "a" * 40, "repo": {"full_name": head}}}
        (self.folder / "event.json").write_text(json.dumps({"pull_request": pull}))

    def comment(self, *arguments: str, place: Path | None = None) -> Result:
        return CliRunner().invoke(main, ["comment", str(place or self.run_of), *arguments], catch_exceptions=False)

    def written(self, *arguments: str) -> str:
        done = self.comment(*arguments)
        assert done.exit_code == 0, done.output
        return self.forge.notes[-1].body

    def refused(self, *arguments: str) -> str:
        done = self.comment(*arguments)
        assert done.exit_code == 1, (done.output, self.forge.requests)
        assert TOKEN not in done.output
        (line,) = done.output.splitlines()
        return line


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    for name in (
        "GITHUB_ACTIONS",
        "GH_TOKEN",
        "CI_PROJECT_PATH",
        "CI_MERGE_REQUEST_IID",
        "GITLAB_TOKEN",
        "CI_JOB_URL",
        "CI_MERGE_REQUEST_PROJECT_PATH",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    with ScriptedForge() as forge:
        yield Desk(forge, tmp_path, monkeypatch)


def test_one_comment_is_written_and_then_updated(desk: Desk) -> None:
    desk.forge.page = 2  # so that it is found again on a later page
    for number in range(3):
        desk.forge.write("someone", f"remark {number}")
    body = desk.written()
    assert "- **mine: 50.0% (1 of 2 oracles caught" in body
    assert f"[job and report]({desk.forge.url}/owner/name/actions/runs/42) · commit aaaaaaaaaa" in body
    assert "left as it was" in desk.comment().output
    done = desk.comment("--baseline", str(desk.before))
    assert f"comment updated: {desk.forge.url}/owner/name/pull/7#issuecomment-4" in done.output
    assert [(note.login, note.edits) for note in desk.forge.notes][3:] == [("github-actions[bot]", 1)]


def test_what_was_lost_and_gained_is_named(desk: Desk) -> None:
    body = desk.written("--baseline", str(desk.before))
    assert "<summary>mine: 1 lost and 1 gained against the baseline</summary>" in body
    rows = [line for line in body.splitlines() if line.startswith("| one::c")]
    assert [re.split(r" *\| *", row)[1:3] for row in rows] == [["one::c1", "lost"], ["one::c0", "gained"]]
    assert "nothing lost and nothing gained" in desk.written("--baseline", str(desk.run_of), "--name=again")


def test_names_have_comments_of_their_own(desk: Desk) -> None:
    desk.written()
    desk.written("--name=nightly --> <b>")
    assert len(desk.forge.notes) == 2
    assert desk.forge.notes[1].body.splitlines()[0] == "<!-- pytest-crab: nightly - -b- -->"


def test_a_comment_of_somebody_else_is_never_taken_for_ours(desk: Desk) -> None:
    planted = desk.forge.write("mallory", "<!-- pytest-crab: results -->\nall is well")
    desk.written()
    assert planted.edits == 0
    assert len(desk.forge.notes) == 2
    desk.forge.accounts["ghp_person"] = "ann"
    desk.set(GITHUB_TOKEN="ghp_person")
    desk.written()
    assert [note.login for note in desk.forge.notes] == ["mallory", "github-actions[bot]", "ann"]


def test_twins_of_two_jobs_become_one(desk: Desk) -> None:
    desk.written()
    desk.forge.write("github-actions[bot]", desk.forge.notes[0].body)
    desk.written()
    assert len(desk.forge.notes) == 1


def test_annotations_stand_at_the_files_of_what_was_lost(desk: Desk) -> None:
    example = Path(__file__).parents[2] / "instances" / "quickstart"
    name = next(one for one in sorted(example.iterdir()) if (one / "instance.yaml").is_file()).name
    lines = (example / name / "instance.yaml").read_text().splitlines()
    known = next(line.split(": ")[1] for line in lines if line.startswith("id: "))
    for folder in ("now", "before"):
        file = desk.folder / folder / "trials.jsonl"
        file.write_text(file.read_text().replace('"instance":"one"', f'"instance":"{known}"'))
    done = desk.comment("--baseline", str(desk.before), "--set", str(example), "--annotate")
    (line,) = [line for line in done.output.splitlines() if line.startswith("::")]
    assert re.fullmatch(rf"::warning file=\S*{name}/instance\.yaml,line=1,title=pytest-crab%3A lost by mine::.*", line)
    assert f"mine caught {known}::c1 in the baseline and does not now" in line
    assert "::warning" not in desk.comment("--baseline", str(desk.before)).output


def test_no_record_becomes_markup_a_mention_a_link_or_a_command(desk: Desk) -> None:
    name = "<b>@team</b> [x](https://evil.example) #7 owner/x#9 &#64;all\n::error::x"
    hostile = report(desk.folder / "hostile", Reason.FAILED, reviewer=name)
    before = report(desk.folder / "good", Reason.GREEN, reviewer=name)
    done = desk.comment("--baseline", str(before), "--annotate", place=hostile)
    assert done.exit_code == 0
    body = desk.forge.notes[-1].body
    assert not re.search(r"@\w|#\d|https?://evil|<b>|&#64;(?!8)", body.replace("&#8203;", "\u200b")), body
    assert not re.search(r"(?<!\\)&#64;", body)
    commands = [line for line in done.output.splitlines() if line.startswith("::")]
    assert [command.split(" ", 1)[0] for command in commands] == ["::warning"]
    assert "%3A%3Aerror%3A%3Ax" in commands[0][2:].split("::", 1)[0], "it does not end the properties either"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"GITHUB_TOKEN": None}, "Error: no token to comment on owner/name#7 with: set GITHUB_TOKEN, in GitHub Act"),
        ({"GITHUB_TOKEN": "two words"}, "Error: GITHUB_TOKEN holds something that is no token"),
        ({"GITHUB_TOKEN": "ghp_other"}, "Error: GitHub does not accept the token in GITHUB_TOKEN: it may have expired"),
        ({"GITHUB_REPOSITORY": "owner/none"}, "Error: GitHub has no owner/none#7, or does not show it to the token in"),
        ({"GITHUB_EVENT_PATH": None}, "Error: which pull request is meant?"),
        ({"GITHUB_API_URL": "http://127.0.0.1:9"}, "Error: GitHub cannot be reached at http://127.0.0.1:9: "),
    ],
)
def test_each_error_is_a_sentence(desk: Desk, change: dict[str, str | None], said: str) -> None:
    desk.set(**change)
    assert desk.refused().startswith(said)
    assert desk.forge.notes == []


def test_a_closed_pull_request_is_left_alone(desk: Desk) -> None:
    desk.forge.state = "closed"
    assert "owner/name#7 is closed" in desk.refused()


def test_a_token_that_may_only_read(desk: Desk) -> None:
    desk.forge.readers.add(TOKEN)
    assert "give the job the permission pull-requests: write" in desk.refused()
    desk.event(head="stranger/name")
    assert "may only read, as owner/name#7 comes from a fork" in desk.refused()


@pytest.mark.parametrize(
    "limited",
    [
        ForgeAnswer(403, {"message": "API rate limit exceeded"}, {"retry-after": "7"}),
        ForgeAnswer(429, {"message": "slow down"}, {"retry-after": "7"}),
    ],
)
def test_a_rate_limit_is_waited_for(desk: Desk, limited: ForgeAnswer) -> None:
    desk.forge.script = [limited, limited]
    desk.written()
    assert [wait >= 7 for wait in desk.waits] == [True, True]
    assert len(desk.forge.notes) == 1


def test_a_rate_limit_that_is_too_far_away_is_said(desk: Desk) -> None:
    reset = str(int(time.time()) + 1800)
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    desk.forge.script = [ForgeAnswer(403, {"message": "API rate limit exceeded"}, headers)]
    refused = desk.refused()
    assert ("rate limit" in refused, "30 min" in refused) == (True, True), refused
    assert desk.waits == []


def test_a_forge_that_breaks_while_it_writes_leaves_one_comment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = desk.forge.write
    broken = [True]

    def write(login: str, body: str) -> Any:
        note = real(login, body)
        if broken:
            broken.clear()
            raise ConnectionError  # the comment is there, and its answer never arrives
        return note

    monkeypatch.setattr(desk.forge, "write", write)
    desk.written()
    assert len(desk.forge.notes) == 1


def test_without_ci_the_address_says_it(desk: Desk) -> None:
    desk.set(GITHUB_EVENT_PATH=None, GITHUB_REPOSITORY=None, GITHUB_RUN_ID=None)
    desk.written("--pull-request", f"{desk.forge.url}/owner/name/pull/7")
    assert "is no pull request" in desk.refused("--pull-request", "https://github.com/owner/name")


def test_it_can_be_looked_at_first(desk: Desk) -> None:
    desk.set(GITHUB_TOKEN=None)
    assert "- **mine: 50.0%" in desk.comment("--print").output
    assert desk.forge.requests == []


def test_a_merge_request_of_gitlab_has_one_note(desk: Desk) -> None:
    pytest.importorskip("gitlab")
    forge = desk.forge
    forge.accounts["glpat-1"] = "crab-bot"
    desk.set(
        CI_PROJECT_PATH="owner/name", CI_MERGE_REQUEST_IID="7", CI_SERVER_URL=forge.url, GITLAB_TOKEN="glpat-1",
        GITHUB_RUN_ID=None, CI_JOB_URL=f"{forge.url}/owner/name/-/jobs/1",
    )  # fmt: skip
    forge.write("mallory", "<!-- pytest-crab: results -->")
    assert f"comment written: {forge.url}/owner/name/-/merge_requests/7#note_2" in desk.comment().output, forge.requests
    forge.script = [ForgeAnswer(429, {"message": "later"})]
    assert "comment updated" in desk.comment("--baseline", str(desk.before)).output
    assert [(note.login, note.edits) for note in forge.notes] == [("mallory", 0), ("crab-bot", 1)]
    assert len(desk.waits) == 1
    desk.set(GITLAB_TOKEN="glpat-2")
    assert "GitLab does not accept the token in GITLAB_TOKEN" in desk.refused()
    desk.set(GITLAB_TOKEN=None)
    assert "no token to comment on owner/name!7 with: set GITLAB_TOKEN to a token with the scope api" in desk.refused()
    desk.set(GITLAB_TOKEN="glpat-1")
    # The job of a merge request from a fork runs in the fork, and the note belongs to the target.
    desk.set(CI_PROJECT_PATH="contributor/name", CI_MERGE_REQUEST_PROJECT_PATH="owner/name")
    assert "comment updated" in desk.comment().output
    forge.state = "merged"
    assert "owner/name!7 is merged" in desk.refused()
