"""The sources of candidates: fixed bugs by blame (CR-Bench's algorithm 1), sets, and clones that changed meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pytest_crab.curation.discussion import NO_FIX
from pytest_crab.instances import load_instances
from pytest_crab.sources.pull_refs import PullRefs
from tests.curation.conftest import REMARKS, URL, Shop

Curate = Callable[..., Result]


def funnel(result: Result, *, status: int = 0) -> dict[str, Any]:
    assert result.exit_code == status, result.output
    return {stage["stage"]: stage for stage in json.loads(result.stdout)}


def fix(shop: Shop, name: str, old: str, new: str) -> str:
    """The patch of a fix in a file, against the main line as it is."""
    path = shop.folder / name
    path.write_text(path.read_text().replace(old, new))
    patch = shop.git("diff")
    shop.git("checkout", "--quiet", "--", ".")
    return patch + "\n"


@pytest.mark.usefixtures("shop")
def test_a_stage_that_is_left_out_lets_candidates_wait(curate: Curate) -> None:
    found = funnel(curate("--json", "--stages", "collect"))
    assert list(found) == ["collect"]
    assert not list(Path("set").glob("*/instance.yaml"))


def test_the_pull_request_of_a_bug_is_found_by_blame(
    shop: Shop, curate: Curate, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = shop.git("rev-parse", "main")
    shop.folder.rename(shop.folder.parent / "shop.git")
    moved = Shop(shop.folder.parent / "shop.git")
    Path("owner").mkdir()
    moved.folder.rename("owner/shop")
    moved = Shop(Path("owner/shop").absolute())
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(Path.cwd()))
    both = fix(moved, "shop.py", "two = 2\nthree = 3\n", "")
    patches = {
        "merged": fix(moved, "shop.py", "two = 2", "two = 22"),
        "squashed": fix(moved, "shop.py", "three = 3", "three = 33"),
        "rebased": fix(moved, "cart.py", "cart = []", "cart = {}"),
        "two": both,
        "direct": fix(moved, "shop.py", "one = 1", "one = 11"),
        "nothing": fix(moved, "shop.py", "three = 3", "three = 3\nfour = 4"),
    }
    rows = [
        {"instance_id": name, "repo": "owner/shop", "base_commit": head, "patch": patch, "problem_statement": "A bug."}
        for name, patch in patches.items()
    ]
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    Path("crab.yaml").write_text("curate: {select: {substantive: 0, rvs: 0}}\n")
    found = funnel(curate("--json", source="rows.jsonl"))
    assert found["collect"]["pull_requests"]["reasons"] == {
        "the fix removes no line": 1,
        "no pull request brought the bug": 1,
        "several pull requests brought the bug": 1,
    }
    instances = {one.id: one for one in load_instances(Path("set"))}
    assert {name: one.pull_request.number for name, one in instances.items()} == {
        "merged": 1, "squashed": 2, "rebased": 3,
    }  # fmt: skip
    (comment,) = instances["merged"].comments
    assert (comment.path, comment.lines, comment.body) == ("shop.py", (2, 2), "A bug.")
    assert not (Path("set") / "merged" / "fix.diff").exists()  # it is the answer, and somebody else's


def test_rows_without_a_mirror_fail_with_what_to_do(
    tmp_path: Path, curate: Curate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CRAB_GIT_MIRROR", raising=False)
    patch = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-one\n+two\n"
    row = {"instance_id": "a", "repo": "o/n", "base_commit": "1" * 40, "patch": patch, "problem_statement": "A bug."}
    Path("rows.jsonl").write_text(json.dumps(row) + "\n")
    found = funnel(curate("--json", source="rows.jsonl"), status=1)
    assert found["collect"]["pull_requests"]["failed"] == 1
    assert "git clone --mirror https://github.com/o/n" in found["collect"]["failures"]["a"]


def test_a_set_is_curated_again(shop: Shop, curate: Curate, monkeypatch: pytest.MonkeyPatch) -> None:
    assert curate().exit_code == 0
    Path("owner").mkdir()
    shop.folder.rename("owner/shop")
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(Path.cwd()))
    found = funnel(curate("--json", "--out", "again", source="set"))
    assert found["publish"]["pull_requests"]["kept"] == 3
    again, first = (load_instances(Path(name)) for name in ("again", "set"))
    assert [one.comments for one in again] == [one.comments for one in first]
    assert [one.source for one in again] == [one.source for one in first]


def test_a_force_pushed_head_is_a_rejection_that_says_so(shop: Shop, curate: Curate) -> None:
    shop.comments = [{**row, "original_commit_id": "e" * 40} for row in shop.comments if "/1" in row["html_url"]]
    shop.write_comments()
    found = funnel(curate("--json"))
    assert found["collect"]["pull_requests"]["reasons"]["the reviewed commit is gone"] == 1
    assert "force-pushed" in Path(".crab").joinpath(*_decision("force-pushed")).read_text()


def test_a_fast_forward_says_that_its_beginning_is_not_known(shop: Shop, curate: Curate) -> None:
    shop.pull(8, "open", fee_py="fee = 0\n")
    shop.git("merge", "--quiet", "--ff-only", "topic-8")
    shop.write_comments()
    rejections = funnel(curate("--json"))["collect"]["rejections"]
    assert "merged without a merge commit: " in rejections["owner__shop-8"]
    assert "nothing says where its commits begin" in rejections["owner__shop-8"]


def test_a_main_line_that_was_rewritten_after_the_merge_is_told_from_no_merge(shop: Shop, curate: Curate) -> None:
    shop.pull(8, "squash", fee_py="fee = 0\n")
    shop.write_comments()
    shop.git("checkout", "--quiet", "--orphan", "again")
    shop.commit("All that was before")
    merged = shop.commit("Fix number 8 (#8)")
    shop.git("branch", "--quiet", "-M", "again", "main")
    told = funnel(curate("--json"))["collect"]["rejections"]["owner__shop-8"]
    assert told.startswith("the main line was rewritten after the merge: ")
    assert merged[:12] in told


def test_a_pull_request_from_before_a_rewrite_begins_where_the_main_line_has_a_copy(shop: Shop, curate: Curate) -> None:
    base = shop.git("rev-parse", "HEAD")
    first, *_, last = shop.long_pull(9, "till.py", ["a = 1\n", "a = 2\n"], "Fix number 9 (#9)")
    shop.remark(9, "till.py", first, REMARKS[0])
    shop.write_comments()
    shop.git("filter-branch", "--force", "--msg-filter", "cat; echo; echo Rewritten.", "--", "main")
    shop.git("update-ref", "-d", "refs/original/refs/heads/main")
    assert shop.git("rev-list", "--max-parents=0", "main") != shop.git("rev-list", "--max-parents=0", last)
    assert curate("--only", "9").exit_code == 0
    (instance,) = load_instances(Path("set"))
    assert instance.source.git is not None
    assert (instance.source.git.base, instance.source.git.head, instance.source.git.merged) == (base, first, last)
    assert instance.tags["merged_by"] == "rewritten"
    assert instance.pull_request.title == "Fix number 9"


def test_a_description_tells_nothing_of_the_review(shop: Shop, curate: Curate) -> None:
    body = "Adds a.\n\n* Step 0 of 9\n\n* Step 1 of 9\n\n* Apply review comment https://git.example/owner/shop/pull/9#discussion_r1"
    first, *_ = shop.long_pull(9, "till.py", ["a = 1\n", "a = 2\n"], f"Fix number 9 (#9)\n\n{body}")
    shop.remark(9, "till.py", first, REMARKS[0])
    shop.write_comments()
    assert curate("--only", "9").exit_code == 0
    (instance,) = load_instances(Path("set"))
    assert instance.pull_request.body == "Adds a.\n\n* Step 0 of 9"


def test_a_squash_that_names_no_number_is_found_by_its_files(shop: Shop, curate: Curate) -> None:
    first, _, last = shop.long_pull(9, "till.py", ["a = 1\n", "a = 2\n", "a = 3\nb = 4\n"], "The till is right again")
    for at, body in enumerate(REMARKS):
        shop.remark(9, "till.py", first, body, at)
    shop.write_comments()
    assert curate("--only", "9").exit_code == 0
    (instance,) = load_instances(Path("set"))
    assert instance.source.git is not None
    assert (instance.source.git.head, instance.source.git.merged) == (first, last)
    assert (instance.tags["merged_by"], instance.pull_request.title) == ("squash", "Step 0 of 9")


def test_a_fix_with_work_of_others_says_so(shop: Shop, curate: Curate) -> None:
    first, _, last = shop.long_pull(9, "till.py", ["a = 1\n", "a = 2\n", "a = 3\n"], updated=True)
    shop.remark(9, "till.py", first, REMARKS[0])
    shop.write_comments()
    assert curate("--only", "1,9").exit_code == 0
    plain, mixed = load_instances(Path("set"))
    assert mixed.source.git is not None
    assert mixed.source.git.merged == last
    assert mixed.tags["fix_of_others"] == "other.py"
    assert "fix_of_others" not in plain.tags


def test_work_of_others_in_the_same_file_is_no_fix(shop: Shop, curate: Curate) -> None:
    """It comes by a merge of the main line after the last change, or lies below the squashed commit."""
    till = shop.folder / "till.py"
    shop.commit("Start", till_py="".join(f"till_{number} = 0\n" for number in range(20)))

    for number in (8, 9):
        shop.git("branch", f"topic-{number}")

    def changed(branch: str, old: str, new: str) -> str:
        shop.git("checkout", "--quiet", branch)
        return shop.commit(new, till_py=till.read_text().replace(f"{old}\n", f"{new}\n"))

    reviewed = {
        8: changed("topic-8", "till_1 = 0", "till_1 = 1"),
        9: changed("topic-9", "till_15 = 0", "till_15 = 1"),
    }
    answer = changed("topic-8", "till_1 = 1", "till_1 = 2")
    changed("main", "till_8 = 0", "till_8 = 1")
    shop.git("checkout", "--quiet", "topic-8")
    shop.git("merge", "--quiet", "--no-edit", "main")
    shop.git("checkout", "--quiet", "main")
    for number, sha in reviewed.items():
        shop.git("update-ref", f"refs/pull/{number}/head", f"topic-{number}")
        shop.git("merge", "--quiet", "--squash", f"topic-{number}")
        shop.git("commit", "--quiet", "-m", f"Fix number {number} (#{number})")
        shop.remark(number, "till.py", sha, REMARKS[0])
    shop.write_comments()
    result = curate("--only", "8,9")
    (instance,) = load_instances(Path("set"))
    assert instance.source.git is not None
    assert (instance.pull_request.number, instance.source.git.merged) == (8, answer)
    assert "fix_of_others" not in instance.tags
    assert NO_FIX in result.output


def _decision(words: str) -> tuple[str, ...]:
    (path,) = [path for path in Path(".crab/steps/curation").glob("*/*.json") if words in path.read_text()]
    return path.relative_to(".crab").parts


def test_binary_files_and_submodules_are_changes_like_others(shop: Shop, curate: Curate) -> None:
    other = shop.git("rev-parse", "HEAD")
    shop.git("checkout", "--quiet", "-b", "topic-9")
    (shop.folder / "logo.png").write_bytes(bytes(range(256)))
    shop.git("update-index", "--add", "--cacheinfo", f"160000,{other},vendor")
    reviewed = shop.commit("Add", till9_py="till = 1\n")
    shop.commit("Answer", till9_py="till = 2\n")
    shop.git("update-ref", "refs/pull/9/head", "HEAD")
    shop.git("checkout", "--quiet", "--force", "main")
    shop.git("merge", "--quiet", "--no-ff", "topic-9", "-m", "Merge pull request #9 from dev/topic\n\nFix a crash")
    row = shop.comments[0]
    shop.comments = [
        {**row, "id": at, "pull_request_url": "/pulls/9", "path": "till9.py", "original_commit_id": reviewed, "body": b}
        for at, b in enumerate(REMARKS)
    ]
    shop.write_comments()
    found = funnel(curate("--json"))
    assert found["publish"]["pull_requests"]["kept"] == 1
    (instance,) = load_instances(Path("set"))
    assert (instance.id, instance.tags["size"]) == ("owner__shop-9", "XS")


def test_later_pull_requests_are_added_and_ids_stay(shop: Shop, curate: Curate) -> None:
    assert curate().exit_code == 0
    before = {path: path.read_text() for path in Path("set").glob("*/instance.yaml")}
    shop.pull(7, "merge", fee_py="fee = 0\n")
    shop.write_comments()
    tomorrow = "2999-01-01"
    assert curate("--since", tomorrow).exit_code == 0
    assert {path: path.read_text() for path in Path("set").glob("*/instance.yaml")} == before
    assert curate("--since", "2000-01-01").exit_code == 0
    after = {path: path.read_text() for path in Path("set").glob("*/instance.yaml")}
    assert after.keys() - before.keys() == {Path("set/owner__shop-7/instance.yaml")}
    assert {path: after[path] for path in before} == before


def test_a_clone_without_pull_requests_says_how_to_fetch_them(shop: Shop, curate: Curate) -> None:
    for number in PullRefs(shop.folder).heads():
        shop.git("update-ref", "-d", f"refs/pull/{number}/head")
    result = curate()
    assert result.exit_code == 1
    assert "git fetch origin" in result.output


def test_comments_on_pull_requests_that_are_not_there_are_named(shop: Shop, curate: Curate) -> None:
    for number in (98, 99):
        shop.comments.append({**shop.comments[0], "id": number, "pull_request_url": f"{URL}/pulls/{number}"})
    shop.write_comments()
    result = curate()
    assert result.exit_code == 0, result.output
    assert "comments.jsonl has comments on pull requests that repo has no refs of: 98, 99\n" in result.stderr
    assert "no refs" not in result.stdout


def test_comments_that_are_none_are_all_named(shop: Shop, curate: Curate) -> None:
    Path("comments.jsonl").write_text('{"pull": 1, "path": "a.py"}\n{"path": "a.py", "body": "It."}\n')
    result = curate()
    assert result.exit_code == 1
    assert "comment 1: path and body should be texts" in result.output
    assert "comment 2: pull is missing" in result.output
    row = {"pull": 1, "path": "shop.py", "body": "It.", "original_commit_id": shop.git("rev-parse", "--short", "HEAD")}
    Path("comments.jsonl").write_text(json.dumps(row))
    assert "; it should be a full sha of 40 digits" in curate().output
