"""GitHub as a source: PyGithub asks a scripted forge, and the code comes from a mirror."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.instances import load_instances
from scripted_forge import ForgeAnswer, ScriptedForge
from tests.curation.conftest import URL, Shop

Curate = Callable[..., Result]


@pytest.fixture
def forge(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedForge]:
    """A forge that has the shop's pull requests, and a mirror with its code."""
    Path("mirror/owner").mkdir(parents=True)
    shop.folder.rename("mirror/owner/shop")
    shop.folder = Path("mirror/owner/shop").absolute()
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(Path("mirror").absolute()))
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with ScriptedForge() as forge:
        monkeypatch.setenv("GITHUB_API_URL", forge.url)
        yield forge


def listed(shop: Shop, number: int, **changes: Any) -> dict[str, Any]:
    merge = shop.git("log", "--format=%H", f"--grep=#{number}\\b", "main").partition("\n")[0]
    return {
        "number": number, "title": f"Fix number {number}", "body": "It\r\nis.", "updated_at": "2026-11-02T00:00:00Z",
        "merged_at": "2026-11-01T00:00:00Z", "merge_commit_sha": merge, "user": {"login": "dev"},
        "labels": [{"name": "bug"}], "html_url": f"{URL}/pull/{number}", "created_at": "2026-10-01T00:00:00Z",
        "head": {"sha": shop.git("rev-parse", f"refs/pull/{number}/head"), "repo": {"id": 1}},
        "base": {"ref": "develop", "sha": shop.git("rev-parse", "main~5"), "repo": {"private": False, "html_url": URL}},
        **changes,
    }  # fmt: skip


def answers(shop: Shop, number: int) -> list[ForgeAnswer]:
    """The answers on one pull request, in the order in which they are asked for."""
    comments = [row for row in shop.comments if row["pull_request_url"].endswith(f"/{number}")]
    reviewed = comments[0]["original_commit_id"]
    return [
        ForgeAnswer(200, {"merge_base_commit": {"sha": shop.git("rev-parse", f"{reviewed}~1")}}),
        ForgeAnswer(200, [{"user": {"login": "person0"}, "state": "CHANGES_REQUESTED"}]),
    ]


def stages(result: Result, *, status: int = 0) -> dict[str, Any]:
    assert result.exit_code == status, result.output
    return {one["stage"]: one for one in json.loads(result.stdout)}


def test_merged_pull_requests_with_their_reviews(shop: Shop, forge: ScriptedForge, curate: Curate) -> None:
    unmerged = listed(shop, 4, merged_at=None, merge_commit_sha=None)
    both = [ForgeAnswer(200, [listed(shop, 1), unmerged]), ForgeAnswer(200, shop.comments)]
    forge.script = [*both, *answers(shop, 1)]
    found = stages(curate("--json", "--jobs", "1", source="owner/shop"))
    assert found["collect"]["pull_requests"]["reasons"] == {"not merged": 1}
    (instance,) = load_instances(Path("set"))
    assert (instance.id, instance.license, len(instance.comments)) == ("owner__shop-1", "MIT", 2)
    assert instance.source.git is not None
    assert instance.source.git.merged == shop.git("rev-parse", "refs/pull/1/head")
    assert instance.pull_request.body == "It\nis."
    assert instance.pull_request.base_branch == "develop"
    assert (instance.source.git.url, instance.pull_request.url) == (URL, f"{URL}/pull/1")
    assert "doubts" not in instance.tags  # the forge tells all
    asked = len(forge.requests)
    assert asked == 4
    forge.script = [*both]
    assert stages(curate("--json", source="https://github.com/owner/shop")) == found
    assert len(forge.requests) == asked + 2  # the lists alone


def test_a_deleted_fork_is_a_doubt(shop: Shop, forge: ScriptedForge, curate: Curate) -> None:
    gone = listed(shop, 2)
    gone["head"]["repo"] = None
    gone["base"]["ref"] = "f\u00fcr/HEAD"
    forge.script = [ForgeAnswer(200, [gone]), ForgeAnswer(200, shop.comments), *answers(shop, 2)]
    stages(curate("--json", source="owner/shop"))
    (instance,) = load_instances(Path("set"))
    assert instance.tags["doubts"] == "its fork is deleted"
    assert instance.pull_request.base_branch == "main"  # its own name is none that every tool can take


def test_a_force_pushed_head_is_rejected(shop: Shop, forge: ScriptedForge, curate: Curate) -> None:
    base, reviews = answers(shop, 1)
    comments = ForgeAnswer(200, [{**row, "original_commit_id": "e" * 40} for row in shop.comments])
    forge.script = [ForgeAnswer(200, [listed(shop, 1)]), comments, base, reviews]
    found = stages(curate("--json", source="owner/shop"))
    assert found["collect"]["pull_requests"]["reasons"] == {"the reviewed commit is gone": 1}
    forge.script = [ForgeAnswer(200, [listed(shop, 1)]), comments, ForgeAnswer(404, {"message": "Not Found"})]
    gone = stages(curate("--json", "--store", "fresh", source="owner/shop"))["collect"]["rejections"]
    assert f"GitHub has no commit {'e' * 40}: its branch was force-pushed" in gone["owner__shop-1"]


def test_a_rate_limit_keeps_what_is_there_and_asks_no_more(shop: Shop, forge: ScriptedForge, curate: Curate) -> None:
    limit = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(time.time()) + 600)}
    forge.script = [
        ForgeAnswer(200, [listed(shop, 1), listed(shop, 2), listed(shop, 6)]),
        ForgeAnswer(200, shop.comments),
        *answers(shop, 1),
        ForgeAnswer(403, {"message": "API rate limit exceeded"}, limit),
    ]
    found = stages(curate("--json", "--jobs", "1", source="owner/shop"), status=1)["collect"]
    assert (found["pull_requests"]["kept"], found["pull_requests"]["failed"]) == (1, 2)
    assert "rate limit is used up: call this again in 10 min" in found["failures"]["owner__shop-2"]
    assert len(forge.requests) == 5  # the third was not asked for


def test_without_pygithub_the_extra_is_named(curate: Curate, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    del shop
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    refused = curate(source="owner/shop")
    assert refused.exit_code == 1
    assert refused.output == ("Error: GitHub is asked through PyGithub: install pytest-crab with its extra [comment]\n")


@pytest.mark.parametrize(
    ("status", "telling"), [(404, "a private one needs a token in GITHUB_TOKEN"), (500, "GitHub answered 500")]
)
def test_what_github_does_not_show_is_one_sentence(
    forge: ScriptedForge, curate: Curate, status: int, telling: str
) -> None:
    forge.script = [ForgeAnswer(status, {"message": "No"})]
    refused = curate(source="owner/shop")
    assert refused.exit_code == 1
    assert telling in refused.output
    assert not Path("set").exists()


def test_a_token_is_sent_and_never_told(
    shop: Shop, forge: ScriptedForge, curate: Curate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_planted_token")
    forge.script = [ForgeAnswer(404, {"message": "ghp_planted_token is no good"})]
    refused = curate(source="owner/shop")
    assert "give the token in GITHUB_TOKEN" in refused.output
    assert "ghp_planted" not in refused.output
    forge.script = [ForgeAnswer(401, {"message": "Bad credentials"})]
    assert "refuses the token in GITHUB_TOKEN" in curate(source="owner/shop").output


def test_a_server_that_does_not_answer_is_one_sentence(curate: Curate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    refused = curate(source="owner/shop")
    assert "http://127.0.0.1:9 ([Errno 111] Connection refused): call this again later" in refused.output


def test_the_server_of_a_company_is_asked_at_its_own_address_page_by_page(
    shop: Shop, forge: ScriptedForge, curate: Curate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_API_URL")
    first, second = listed(shop, 1), listed(shop, 2)
    place = "/api/v3/repos/owner/shop"
    forge.page = 1
    forge.documents = {f"{place}/pulls": [first, second], f"{place}/pulls/comments": shop.comments}
    for pull in (first, second):
        base, reviews = answers(shop, pull["number"])
        (head,) = {row["original_commit_id"] for row in shop.comments if row["id"] // 100 == pull["number"]}
        forge.documents[f"{place}/compare/{pull['base']['sha']}...{head}"] = base.data
        forge.documents[f"{place}/pulls/{pull['number']}/reviews"] = [*reviews.data, *reviews.data]
    stages(curate("--json", source=f"{forge.url}/owner/shop"))
    assert {one.id: len(one.comments) for one in load_instances(Path("set"))} == {
        "owner__shop-1": 2, "owner__shop-2": 2,
    }  # fmt: skip
    asked = forge.requests.count
    assert [asked(f"GET {place}/{name}") for name in ("pulls", "pulls/comments", "pulls/1/reviews")] == [2, 10, 2]


def test_single_pull_requests_are_asked_for_alone(shop: Shop, forge: ScriptedForge, curate: Curate) -> None:
    own = [row for row in shop.comments if row["pull_request_url"].endswith("/2")]
    forge.script = [ForgeAnswer(200, listed(shop, 2)), ForgeAnswer(200, own), *answers(shop, 2)]
    stages(curate("--json", "--only", "2", source="owner/shop"))
    assert forge.requests[:2] == ["GET /repos/owner/shop/pulls/2", "GET /repos/owner/shop/pulls/2/comments"]
    assert [one.id for one in load_instances(Path("set"))] == ["owner__shop-2"]


def test_a_folder_needs_no_further_settings(shop: Shop, forge: ScriptedForge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRAB_GIT_MIRROR")
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://git.example")
    shop.git("remote", "add", "origin", "git@git.example:owner/shop.git")
    forge.script = [ForgeAnswer(200, [listed(shop, 1)]), ForgeAnswer(200, shop.comments), *answers(shop, 1)]
    result = CliRunner().invoke(main, ["set", "curate", "mirror/owner/shop", "--out", "set", "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert [one.id for one in load_instances(Path("set"))] == ["owner__shop-1"]
    assert "CRAB_GIT_MIRROR" not in os.environ
