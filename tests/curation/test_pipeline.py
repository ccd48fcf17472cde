"""Curation end to end on a repository with refs/pull: the funnel adds up, and a killed run goes on where it was."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.curation.funnel import count_funnel, funnel_data, funnel_lines
from pytest_crab.curation.pipeline import Fate, Passage, as_decision
from pytest_crab.curation.select import Selection
from pytest_crab.curation.stages import CurationContext, Rejection
from pytest_crab.errors import Cancelled, EngineError
from pytest_crab.instances import load_instances
from pytest_crab.types import CandidateComment, Comment, PullCandidate, PullRequestFacts
from tests.curation.conftest import REMARKS, Shop

pytestmark = pytest.mark.usefixtures("shop")

Curate = Callable[..., Result]


def check_sums(stages: list[dict[str, Any]]) -> None:
    for noun in ("pull_requests", "comments"):
        for stage in stages:
            counts = stage[noun]
            parts = counts["kept"] + counts["rejected"] + counts["failed"] + counts["waiting"]
            assert counts["in"] == parts, stage
            assert sum(counts["reasons"].values()) == counts["rejected"]
        for before, after in itertools.pairwise(stages):
            assert before[noun]["kept"] == after[noun]["in"], (noun, after["stage"])


def test_merged_pull_requests_become_a_set_and_every_number_adds_up(shop: Shop, curate: Curate) -> None:
    result = curate("--json")
    assert result.exit_code == 0, result.output
    stages = json.loads(result.stdout)
    check_sums(stages)
    collect, select, publish = (one for one in stages if one["stage"] in {"collect", "select", "publish"})
    assert collect["pull_requests"]["in"] == 6
    assert collect["pull_requests"]["reasons"] == {"no review comment is known": 1, "not merged": 1}
    assert select["pull_requests"]["reasons"] == {"only documentation changed (curate.select.documentation)": 1}
    assert select["rejections"] == {"owner__shop-6": "only documentation changed (curate.select.documentation)"}
    assert "the file of --comments has none for it" in collect["rejections"]["owner__shop-5"]
    assert "rejected: no review comment is known; owner__shop-5 (git keeps none" in curate("--status").output
    assert publish["pull_requests"]["kept"] == 3
    instances = load_instances(Path("set"))
    assert [one.id for one in instances] == [f"owner__shop-{number}" for number in (1, 2, 3)]
    assert [one.tags["merged_by"] for one in instances] == ["merge", "squash", "rebase"]
    assert {one.license for one in instances} == {"MIT"}
    first = instances[0]
    assert first.source.git is not None
    assert first.source.git.merged == shop.git("rev-parse", "refs/pull/1/head")  # and not what merged it
    titles = [one.pull_request.title for one in instances]
    assert titles == ["Fix number 1", "Fix number 2", "Change 3"]  # a rebase has none: the reviewed commit's, no later
    assert len(first.comments) == 2
    assert "<svg" in Path("set/funnel.html").read_text()
    assert json.loads(Path("set/funnel.json").read_text()) == stages


@pytest.mark.usefixtures("shop")
def test_without_a_file_of_comments_the_ways_to_give_them_are_named() -> None:
    known = ["set", "curate", "repo", "--url", "https://git.example/owner/shop", "--out", "set"]
    result = CliRunner().invoke(main, known)
    assert "give them with --comments, or name its forge" in result.output


def test_a_setting_reruns_its_stage_and_no_earlier_one(curate: Curate, monkeypatch: pytest.MonkeyPatch) -> None:
    assert curate().exit_code == 0
    monkeypatch.setattr("pytest_crab.curation.local_clone.LocalClone.complete", None)  # would fail if it were asked
    Path("crab.yaml").write_text("curate:\n  select: {documentation: false, rvs: 0}\n")
    result = curate()
    assert result.exit_code == 0, result.output
    assert "owner__shop-6" in {one.id for one in load_instances(Path("set"))}
    assert "rejected now" not in result.output


@pytest.mark.parametrize("edited", ["", "# mine\n"])
def test_an_instance_that_is_rejected_later_goes_unless_it_was_edited(curate: Curate, edited: str) -> None:
    Path("crab.yaml").write_text("curate:\n  select: {documentation: false, rvs: 0}\n")
    assert curate().exit_code == 0
    file = Path("set/owner__shop-6/instance.yaml")
    text = file.read_text()
    if edited:
        file.write_text(text + edited)
    Path("crab.yaml").write_text("curate:\n  select: {rvs: 0}\n")
    result = curate()
    assert result.exit_code == 0, result.output
    assert file.is_file() == file.parent.is_dir() == bool(edited)
    recorded = json.loads(Path("set/curated.json").read_text())["instances"]
    assert sorted(recorded) == [f"owner__shop-{number}" for number in ((1, 2, 3, 6) if edited else (1, 2, 3))]
    if edited:
        assert "rejected now, since they were edited: owner__shop-6; remove their folders" in result.output
    else:
        assert "removed from set, since they are rejected now: owner__shop-6\n" in result.output
        assert "rejected now" not in curate().output
        Path("crab.yaml").write_text("curate:\n  select: {documentation: false, rvs: 0}\n")
        assert curate().exit_code == 0
        assert file.read_text() == text


def test_an_instance_that_nobody_edited_follows_the_settings_and_an_edited_one_stays(curate: Curate) -> None:
    result = curate()
    assert "set: 3 instances; 6 comments without an oracle, which no run measures" in result.output
    edited = Path("set/owner__shop-2/instance.yaml")
    edited.write_text(edited.read_text().replace("Fix number 2", "Add three"))
    Path("crab.yaml").write_text("curate:\n  select: {rvs: 0.05}\n  publish: {cutoffs: {some-model: 2999-01-01}}\n")
    result = curate()
    assert "owner__shop-2 was edited in the set and stays as it is: remove its folder to remake it" in result.output
    assert "made anew in set: owner__shop-1, owner__shop-3\n" in result.output
    found = {one.id: one.comments[0].labels for one in load_instances(Path("set"))}
    labelled = [name for name, labels in found.items() if "contamination-some-model" in labels]
    assert labelled == ["owner__shop-1", "owner__shop-3"]
    exported = CliRunner().invoke(main, ["export", "set", "set", "--out", "rows"])
    assert exported.exit_code == 0, exported.output
    card = Path("rows/README.md").read_text()
    assert "- some-model, 2999-01-01: 4 comments before" in card
    assert "instances by changed lines: up to 20 3" in card
    assert "- difficulty: 2 comments Type1_Direct, 4 comments Type2_Contextual" in card
    back = CliRunner().invoke(main, ["set", "import", "rows", "--out", "back"])
    assert back.exit_code == 0, back.output
    assert load_instances(Path("back"))[0].comments == load_instances(Path("set"))[0].comments
    assert "made anew" not in curate().output
    edited.unlink()
    edited.parent.rmdir()
    assert "anew" not in curate().output
    assert "contamination-some-model" in edited.read_text()


def test_a_killed_run_goes_on_with_the_same_funnel_and_asks_nothing_twice(
    curate: Curate, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    stops: list[int] = []
    plain = Selection.run

    def run(self: Selection, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        if len(asked) == stops[-1]:
            raise Cancelled("killed here")
        asked.append(candidate.id)
        return plain(self, candidate, context)

    monkeypatch.setattr(Selection, "run", run)
    for stop in (0, 1, 3):
        stops.append(stop)
        assert curate("--jobs", "1").exit_code == 1
        status = curate("--status", "--json")
        check_sums(json.loads(status.stdout))
        assert json.loads(status.stdout)[2]["pull_requests"]["waiting"] >= 1
    stops.append(-1)
    resumed = curate("--json")
    assert sorted(asked) == [f"owner__shop-{number}" for number in (1, 2, 3, 6)]
    status = curate("--status", "--json")
    assert json.loads(resumed.stdout) == json.loads(status.stdout)
    assert len(asked) == 4


def test_a_failure_of_the_world_is_counted_and_tried_again(curate: Curate, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Selection.run

    def fail(self: Selection, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        if candidate.id.endswith("-2"):
            raise EngineError("the engine is away")
        return plain(self, candidate, context)

    assert curate().exit_code == 0
    assert "earlier run" not in curate().output
    Path("crab.yaml").write_text("curate:\n  select: {rvs: 0.04}\n")
    monkeypatch.setattr(Selection, "run", fail)
    first = curate()
    assert "set has owner__shop-2 as an earlier run wrote them, since they failed now\n" in first.output
    assert "set: 2 instances" in first.output
    assert first.exit_code == 1, first.output
    assert "owner__shop-2 failed: the engine is away" in first.output
    status = curate("--status", "--json")
    assert status.exit_code == 0
    stages = json.loads(status.stdout)
    check_sums(stages)
    assert stages[2]["failures"] == {"owner__shop-2": "the engine is away"}
    monkeypatch.setattr(Selection, "run", plain)
    assert curate().exit_code == 0
    assert len(load_instances(Path("set"))) == 3


def test_a_runtime_that_is_not_there_ends_the_command_and_fails_no_candidate(
    curate: Curate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{Path.cwd()}/none.sock")
    stages = ("--stages", "select,environment,publish")
    result = curate(*stages, "--runtime", "docker", "--jobs", "1")
    assert result.exit_code == 1
    assert result.output.startswith("Error: no Docker engine answers")
    assert not Path("set").exists()
    funnel = json.loads(curate(*stages, "--status", "--json").stdout)
    assert not any(stage["pull_requests"]["failed"] for stage in funnel)
    waiting = {stage["stage"]: stage["pull_requests"]["waiting"] for stage in funnel}
    assert waiting["environment"] >= 1


@pytest.mark.parametrize(
    ("options", "source", "telling"),
    [
        ((), "nowhere", "nowhere is no repository"),
        (("--stages", "collect,sorting"), "repo", "there is no stage 'sorting'"),
        (("--only", "a"), "repo", "should be numbers"),
    ],
)
def test_bad_input_is_one_sentence(curate: Curate, options: tuple[str, ...], source: str, telling: str) -> None:
    result = curate(*options, source=source)
    assert result.exit_code != 0
    assert telling in result.output
    assert not Path("set").exists()


def test_one_folder_holds_one_source(curate: Curate) -> None:
    assert curate().exit_code == 0
    other = curate("--url", "https://git.example/owner/other")
    assert "name another --out" in other.output


def test_reasons_are_counted_by_their_first_words_and_all_are_in_the_data() -> None:
    comments = tuple(CandidateComment(comment=Comment(id=name, path="a.py", body="b")) for name in ("c0", "c1", "c2"))
    facts = PullRequestFacts(number=1, title="t")
    pull = PullCandidate(id="o__r-1", origin="git", repo="o/r", pull_request=facts, comments=comments)
    decision = as_decision(pull, pull.drop({"c0": "not proved: green at head", "c1": "not proved: flaky"}))
    (row,) = count_funnel(["oracles"], [[Passage(stage="oracles", candidate=pull, decision=decision)]])
    (data,) = funnel_data([row])
    check_sums([data])
    assert "oracles: 2 comments rejected: not proved" in list(funnel_lines([row]))
    assert data["comment_rejections"] == {"o__r-1 c0": "not proved: green at head", "o__r-1 c1": "not proved: flaky"}


def test_a_candidate_without_its_last_comment_is_rejected(bare: PullCandidate) -> None:
    gone = bare.drop({"c0": "by a bot"})
    decision = as_decision(bare, gone)
    assert (decision.fate, decision.reason, dict(decision.dropped)) == (
        Fate.REJECTED, "no comment is left", {"c0": "by a bot"},
    )  # fmt: skip


@pytest.fixture
def bare() -> PullCandidate:
    comment = CandidateComment(comment=Comment(id="c0", path="a.py", body="It."))
    facts = PullRequestFacts(number=1, title="T")
    return PullCandidate(id="a__b-1", origin="git", repo="a/b", pull_request=facts, comments=(comment,))


def test_what_if_says_what_each_rule_keeps_and_writes_no_set(curate: Curate) -> None:
    Path("crab.yaml").write_text("curate:\n  select: {substantive: 3}\n")
    result = curate("--what-if")
    assert result.exit_code == 0, result.output
    rows = {line.split()[0]: line.split()[1:] for line in result.output.splitlines() if line.startswith("curate.")}
    assert rows["curate.select.substantive"] == ["3", "0", "(0)", "3", "(6)"]
    assert rows["curate.select.documentation"] == ["true", "3", "(6)", "0", "(0)"]
    assert rows["curate.private"] == ["false", "4", "(8)", "0", "(0)"]
    assert "all rules together keep 0 of 4 pull requests and 0 of 8 comments" in result.output
    assert "2 pull requests rejected by collect" in result.output
    assert not Path("set").exists()


def test_each_round_of_a_review_is_an_instance_at_its_own_head(shop: Shop, curate: Curate) -> None:
    first, second, last = shop.long_pull(9, "till.py", ["a = 1\n", "a = 2\n", "a = 3\n"])
    for sha in (second, second, first, last):
        shop.remark(9, "till.py", sha, REMARKS[0])
    shop.write_comments()
    result = curate()
    assert result.exit_code == 0
    found = {one.id: one for one in load_instances(Path("set")) if "shop-9" in one.id}
    heads = {name: (one.source.git and one.source.git.head, len(one.comments)) for name, one in found.items()}
    assert heads == {"owner__shop-9": (second, 2), f"owner__shop-9@{first[:7]}": (first, 1)}
    assert f"nothing changed after the review; owner__shop-9@{last[:7]}" in result.output


@pytest.mark.parametrize(("passed_on", "private"), [("n", "true"), ("y", "false")])
def test_init_asks_and_writes_what_curate_reads(passed_on: str, private: str) -> None:
    Path("crab.yaml").write_text("judges: {}")
    asked = CliRunner().invoke(main, ["set", "curate", "--init"], input=f"{passed_on}\nclaude-x\n")
    assert asked.exit_code == 0, asked.output
    text = Path("crab.yaml").read_text()
    assert text == f'judges: {{}}\ncurate:\n  private: {private}\n  oracles: {{model: "claude-x"}}\n'
    again = CliRunner().invoke(main, ["set", "curate", "init"], input="n\n\n")
    assert again.exit_code == 1
    assert "under curate already" in again.output
