"""GitLab as a source: its merge requests and discussions become candidates like those of GitHub."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pytest_crab.instances import load_instances
from scripted_forge import ForgeAnswer, ScriptedForge
from tests.curation.conftest import REMARKS, Shop

Curate = Callable[..., Result]

API = "/api/v4/projects/group%2Fteam%2Fshop"
WEB = "https://gitlab.example/group/team/shop"


def note(number: int, body: str, position: dict[str, Any] | None, user: str = "ann", **changes: Any) -> dict[str, Any]:
    """A note as the API of discussions has it."""
    return {
        "id": number, "type": "DiffNote" if position else None, "body": body, "attachment": None,
        "author": {"id": 1, "username": user, "name": user, "state": "active"}, "system": False,
        "created_at": "2026-10-02T00:00:00.000Z", "noteable_type": "MergeRequest", "noteable_iid": 1,
        **({"position": position} if position else {}), "resolvable": bool(position), **changes,
    }  # fmt: skip


@pytest.fixture
def documents(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a GitLab server says of one merge request; its code is in a mirror."""
    first, second, last = shop.long_pull(1_000, "till.py", ["a = 1\n", "a = 1\nb = 2\n", "a = 1\nb = 3\n"])
    Path("mirror/team").mkdir(parents=True)
    shop.folder.rename("mirror/team/shop")
    shop.folder = Path("mirror/team/shop").absolute()
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(Path("mirror").absolute()))
    monkeypatch.delenv("GITLAB_TOKEN", raising=False)
    base = shop.git("rev-parse", f"{first}~1")
    merged = shop.git("rev-parse", "main")
    place = {
        "base_sha": base, "start_sha": base, "head_sha": second, "old_path": "till.py", "new_path": "till.py",
        "position_type": "text", "old_line": None, "new_line": 2,
        "line_range": {"start": {"line_code": "x", "type": "new", "old_line": None, "new_line": 1}, "end": {}},
    }  # fmt: skip
    request = {
        "id": 71, "iid": 1, "project_id": 3, "title": "Add a till", "description": "It counts.", "state": "merged",
        "created_at": "2026-10-01T00:00:00.000Z", "updated_at": "2026-10-03T00:00:00.000Z",
        "merged_at": "2026-10-03T00:00:00.000Z", "target_branch": "main", "source_branch": "till",
        "author": {"id": 2, "username": "dev"}, "source_project_id": 3, "target_project_id": 3, "labels": ["bug"],
        "sha": last, "merge_commit_sha": None, "squash_commit_sha": merged, "web_url": f"{WEB}/-/merge_requests/1",
    }  # fmt: skip
    refs = {"base_sha": base, "head_sha": last, "start_sha": base}
    return {
        API: {"id": 3, "path_with_namespace": "group/team/shop", "visibility": "internal", "web_url": WEB},
        f"{API}/merge_requests": [request],
        f"{API}/merge_requests/1": {**request, "diff_refs": refs},
        f"{API}/merge_requests/1/discussions": [
            {"id": "a", "individual_note": True, "notes": [note(1, "added 1 commit", None, system=True)]},
            {"id": "b", "individual_note": True, "notes": [note(2, "In all, should this not be a class?", None)]},
            {"id": "c", "individual_note": False, "notes": [
                note(3, REMARKS[0], place), note(4, "Done.", place, "dev"), note(5, "Should `b` not be 4?", place),
            ]},
        ],
        f"{API}/merge_requests/1/reviewers": [{"user": {"username": "ann"}, "state": "requested_changes"}],
        f"{API}/repository/merge_base": {"id": base},
    }  # fmt: skip


def test_merge_requests_with_their_discussions(documents: dict[str, Any], curate: Curate) -> None:
    with ScriptedForge(documents=documents, page=1) as forge:
        source = f"{forge.url}/group/team/shop"
        refused = json.loads(curate("--json", source=source).stdout)[1]["pull_requests"]["reasons"]
        assert refused == {"the repository is not public (curate.private)": 1}
        Path("crab.yaml").write_text("curate: {private: true}\n")
        result = curate(source=source)
    assert result.exit_code == 0, result.output
    (instance,) = load_instances(Path("set"))
    assert (instance.id, instance.repo, instance.pull_request.title) == ("team__shop-1", "team/shop", "Add a till")
    assert instance.pull_request.url == f"{WEB}/-/merge_requests/1"
    assert instance.source.git is not None
    position = documents[f"{API}/merge_requests/1/discussions"][2]["notes"][0]["position"]
    assert (instance.source.git.url, instance.source.git.head) == (WEB, position["head_sha"])
    assert instance.source.git.merged == documents[f"{API}/merge_requests/1"]["sha"]
    comments = [(one.id, one.path, one.lines, one.body) for one in instance.comments]
    assert comments == [("r3", "till.py", (1, 2), REMARKS[0]), ("r5", "till.py", (1, 2), "Should `b` not be 4?")]


@pytest.mark.parametrize(
    ("status", "telling"), [(404, "has no group/team/shop"), (401, "GITLAB_TOKEN"), (429, "rate limit"), (500, "500")]
)
@pytest.mark.usefixtures("shop")
def test_what_gitlab_refuses_is_one_sentence(curate: Curate, status: int, telling: str) -> None:
    with ScriptedForge(script=[ForgeAnswer(status, {"message": "No"})] * 9) as forge:
        refused = curate(source=f"{forge.url}/group/team/shop")
    assert refused.exit_code == 1
    assert telling in refused.output
    assert refused.output.count("\n") == 1
