"""What a snapshot promises, on a small tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crab import diffs
from pytest_crab.errors import DiffRejected, EngineError, SourceError
from pytest_crab.protocols import FileChange
from pytest_crab.sources import drop, fetcher_for, folders
from pytest_crab.sources.snapshot import GitSnapshot
from pytest_crab.types import Instance

NEW = "diff --git a/{0} b/{0}\nnew file mode {1}\n--- /dev/null\n+++ b/{0}\n@@ -0,0 +1 @@\n+x\n"


def test_the_pull_request_is_base_to_head(snapshot: GitSnapshot) -> None:
    lines = snapshot.pull_request_diff().splitlines()
    assert lines[0] == "diff --git a/shop.py b/shop.py"
    assert lines[-3:] == [" one", "-two", "+too"]


def test_renames_are_shown_as_renames(instance: Instance, tmp_path: Path) -> None:
    rename = "diff --git a/kept.log b/moved.log\nsimilarity index 100%\nrename from kept.log\nrename to moved.log\n"
    Path(instance.folder, "head.diff").write_text(rename)
    Path(instance.folder, "reference.diff").write_text(NEW.format("x", "100644"))
    diff = fetcher_for(instance).fetch(instance, tmp_path / "cache").pull_request_diff()
    assert diff == rename


def test_a_tree_is_changes_and_a_diff_away_from_head(snapshot: GitSnapshot) -> None:
    tree = snapshot.reference_tree
    assert snapshot.changes(tree) == (FileChange(path="shop.py", mode="100644", content=b"one\nthree\n"),)
    assert snapshot.apply(snapshot.diff(tree)) == tree
    assert snapshot.changes(snapshot.head_tree) == ()
    assert snapshot.diff(snapshot.head_tree) == ""


def test_an_empty_diff_changes_nothing(snapshot: GitSnapshot) -> None:
    assert snapshot.apply("") == snapshot.head_tree
    assert snapshot.apply("\n", onto=snapshot.reference_tree) == snapshot.reference_tree


def test_a_final_newline_may_be_missing(snapshot: GitSnapshot) -> None:
    diff = snapshot.diff(snapshot.reference_tree)
    assert snapshot.apply(diff.rstrip("\n")) == snapshot.reference_tree


def test_files_are_read_out_of_trees(snapshot: GitSnapshot) -> None:
    assert snapshot.read(snapshot.head_tree, "shop.py") == b"one\ntoo\n"
    assert snapshot.read(snapshot.base, "shop.py") == b"one\ntwo\n"
    for missing in ("none.py", "pkg", "../shop.py", "", "/etc/passwd", "shop.py/x", "*.py", ":/shop.py"):
        assert snapshot.read(snapshot.head_tree, missing) is None


def test_files_below_a_place_are_read_over_links(instance: Instance, tmp_path: Path) -> None:
    own = Path(instance.folder).parent / "project"
    (own / "real" / "deep").mkdir(parents=True)
    (own / "real" / "deep" / "a.md").write_text("a")
    links = {"to-folder": "real", "to-file": "real/deep/a.md", "real/around": "../real", "real/up": "deep/../deep"}
    dead = {"outside": "../..", "absolute": "/etc/passwd", "to-self": "to-self", "dead": "nowhere"}
    for name, target in {**links, **dead}.items():
        (own / name).symlink_to(target)
    snapshot = fetcher_for(instance).fetch(instance, tmp_path / "cache")
    below = {f"real/{name}/a.md": b"a" for name in ("deep", "up")}
    assert snapshot.files_at(snapshot.base, "real") == below
    assert snapshot.files_at(snapshot.base, "to-folder") == {f"to-folder/{path[5:]}": b"a" for path in below}
    assert snapshot.files_at(snapshot.base, "to-file") == {"to-file": b"a"}
    for name in (*dead, "real/nowhere", "../real"):
        assert snapshot.files_at(snapshot.base, name) == {}


@pytest.mark.parametrize(
    ("diff", "words"),
    [
        ("nonsense", "No valid patches|unrecognized input"),
        (NEW.format(".git/hooks/post-checkout", "100755"), "invalid path"),
        (NEW.format("pkg/.GIT/config", "100644"), "invalid path"),
        (NEW.format("../out", "100644"), "invalid path"),
        (NEW.format("/out", "100644"), "invalid path"),
        (NEW.format("shop.py", "100644"), "already exists"),
        (
            "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n one\n-2\n+3\n",
            "patch failed",
        ),
        ("diff --git a/no.py b/no.py\n--- a/no.py\n+++ b/no.py\n@@ -1 +1 @@\n-2\n+3\n", "does not exist in index"),
        (NEW.format("x", "100644").replace("+x", "+\ud800"), "no file can hold"),
    ],
)
def test_what_does_not_apply_is_rejected_in_gits_words(snapshot: GitSnapshot, diff: str, words: str) -> None:
    with pytest.raises(DiffRejected, match=words):
        snapshot.apply(diff)


def test_a_diff_cannot_write_through_a_link(snapshot: GitSnapshot, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = snapshot.apply(NEW.format("link", "120000").replace("+x\n", f"+{outside}\n\\ No newline at end of file\n"))
    assert snapshot.changes(link) == (FileChange(path="link", mode="120000", content=os.fsencode(outside)),)
    with pytest.raises(DiffRejected, match="beyond a symbolic link"):
        snapshot.apply(NEW.format("link/file", "100644"), onto=link)
    assert list(outside.iterdir()) == []


def test_a_clone_holds_two_commits_and_nothing_else(
    snapshot: GitSnapshot, checkout: Path, git: Callable[..., str]
) -> None:
    assert git(checkout, "rev-list", "HEAD", "--parents").split() == [snapshot.head, snapshot.base, snapshot.base]
    assert set(git(checkout, "rev-list", "--all").split()) == {snapshot.head, snapshot.base}
    assert git(checkout, "log", "--format=%an <%ae> %ad|%cd|%s", "--date=iso").splitlines() == [
        f"pytest-crab <pytest-crab@example.invalid> 2000-01-01 00:00:00 +0000|2000-01-01 00:00:00 +0000|{name}"
        for name in ("head", "base")
    ]
    reachable = git(checkout, "rev-list", "--objects", "--no-object-names", "--all").split()
    stored = git(checkout, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    assert sorted(reachable) == stored
    assert git(checkout, "status", "--porcelain", "--ignored") == ""
    assert git(checkout, "remote") == git(checkout, "reflog") == git(checkout, "stash", "list") == ""
    assert set(git(checkout, "for-each-ref", "--format=%(refname)").split()) == snapshot.refs
    assert not (checkout / ".git" / "hooks").exists()
    assert not (checkout / ".git" / "objects" / "info" / "alternates").exists()
    assert snapshot.reference_tree not in stored


@pytest.mark.parametrize(
    "own", ["main", "develop", "release/3.x", "main/next", "pull-request", "pull-request/a", "master"]
)
def test_the_base_has_the_names_that_tools_ask_for(
    own: str, snapshot: GitSnapshot, tmp_path: Path, git: Callable[..., str]
) -> None:
    named = replace(snapshot, base_branch=own)
    named.clone(tmp_path / "clone")

    def say(*words: str) -> str:
        return git(tmp_path / "clone", *words)

    usual = [name for name in ("main", "master") if not own.startswith(f"{name}/")]
    for name in (own, *usual):
        for base in (name, f"origin/{name}"):
            assert say("diff", f"{base}...HEAD") == say("diff", snapshot.base, snapshot.head) != ""
            assert say("merge-base", base, "HEAD") == snapshot.base
            assert say("rev-list", f"{base}..HEAD") == snapshot.head
    assert say("diff", "origin/HEAD...HEAD") != ""
    assert say("rev-parse", "--abbrev-ref", "origin/HEAD") == f"origin/{own}"
    branch = say("rev-parse", "--abbrev-ref", "HEAD")
    assert branch.startswith("pull-request")
    assert branch != own
    assert set(say("for-each-ref", "--format=%(refname)").split()) == named.refs
    assert say("remote") == ""
    assert say("fsck", "--full", "--strict") == ""


def test_a_clone_shares_no_inode_with_the_cache(snapshot: GitSnapshot, checkout: Path) -> None:
    kept = {path.stat().st_ino for path in snapshot.folder.rglob("*") if path.is_file()}
    assert not kept & {path.stat().st_ino for path in checkout.rglob("*") if path.is_file()}


def test_a_checkout_is_the_trees_bytes_whatever_its_attributes_say(instance: Instance, tmp_path: Path) -> None:
    project = tmp_path / "set" / "project"
    (project / ".gitattributes").write_text(
        "* text eol=crlf ident\n*.py working-tree-encoding=UTF-16 filter=evil -diff\n"
    )
    (project / "id.txt").write_bytes(b"$Id$\r\nmixed\n")
    snapshot = fetcher_for(instance).fetch(instance, tmp_path / "cache")
    snapshot.clone(tmp_path / "checkout")
    assert (tmp_path / "checkout" / "id.txt").read_bytes() == b"$Id$\r\nmixed\n"
    assert (tmp_path / "checkout" / "shop.py").read_bytes() == b"one\ntoo\n"
    assert snapshot.record(tmp_path / "checkout") == snapshot.head_tree
    assert "+too" in snapshot.pull_request_diff()


def test_an_untouched_checkout_is_head(snapshot: GitSnapshot, checkout: Path) -> None:
    assert snapshot.record(checkout) == snapshot.head_tree


def test_a_checkout_is_recorded_as_it_is(snapshot: GitSnapshot, checkout: Path) -> None:
    (checkout / "shop.py").write_text("one\nthree\n")
    (checkout / "kept.log").write_text("tracked, though ignored\n")
    (checkout / "pkg" / "run.sh").unlink()
    (checkout / "other.log").write_text("new, though ignored\n")
    (checkout / "pkg" / "__pycache__").mkdir()
    (checkout / "pkg" / "__pycache__" / "x.pyc").write_text("left by Python\n")
    (checkout / "new").mkdir()
    (checkout / "new" / 'we"ird\n\\nä').write_text("x")
    (checkout / "new" / "tool").write_text("x")
    (checkout / "new" / "tool").chmod(0o700)
    (checkout / "link").symlink_to("/etc/passwd")
    (checkout / "folder-link").symlink_to("/etc")
    tree = snapshot.record(checkout)
    assert snapshot.changes(tree) == (
        FileChange(path="folder-link", mode="120000", content=b"/etc"),
        FileChange(path="kept.log", mode="100644", content=b"tracked, though ignored\n"),
        FileChange(path="link", mode="120000", content=b"/etc/passwd"),
        FileChange(path="new/tool", mode="100755", content=b"x"),
        FileChange(path='new/we"ird\n\\nä', mode="100644", content=b"x"),
        FileChange(path="other.log", mode="100644", content=b"new, though ignored\n"),
        FileChange(path="pkg/run.sh", mode="100755", content=None),
        FileChange(path="shop.py", mode="100644", content=b"one\nthree\n"),
    )
    assert snapshot.apply(snapshot.diff(tree)) == tree


def test_bytes_of_any_kind_survive_the_diff(snapshot: GitSnapshot, checkout: Path) -> None:
    contents = {
        "binary": bytes(range(256)),
        "latin.txt": b"caf\xe9\n",
        "carriage.txt": b"a\r\nb\rc\n",
        "bare": b"no end",
        "empty": b"",
        "unicode.txt": "a\u2028b\u0085c\x0c\n".encode(),
    }
    for name, content in contents.items():
        (checkout / name).write_bytes(content)
    (checkout / os.fsdecode(b"name-\xff")).write_text("x")
    tree = snapshot.record(checkout)
    diff = snapshot.diff(tree)
    assert json.loads(json.dumps(diff)) == diff
    assert diffs.counts(diff)[0] == 6
    assert snapshot.apply(diff) == tree
    for name, content in contents.items():
        assert snapshot.read(tree, name) == content


def test_a_file_that_became_a_folder_and_back(snapshot: GitSnapshot, checkout: Path) -> None:
    (checkout / "shop.py").unlink()
    (checkout / "shop.py").mkdir()
    (checkout / "shop.py" / "inner").write_text("x")
    (checkout / "pkg" / "run.sh").unlink()
    (checkout / "pkg").rmdir()
    (checkout / "pkg").write_text("x")
    tree = snapshot.record(checkout)
    assert [(change.path, change.content) for change in snapshot.changes(tree)] == [
        ("pkg", b"x"),
        ("pkg/run.sh", None),
        ("shop.py", None),
        ("shop.py/inner", b"x"),
    ]
    assert snapshot.apply(snapshot.diff(tree)) == tree


def test_a_checkouts_own_git_is_neither_trusted_nor_read(snapshot: GitSnapshot, checkout: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {trap}\ncat\n")
    hook.chmod(0o755)
    config = (
        f"[core]\n\tfsmonitor = {hook}\n\thooksPath = {tmp_path}\n\texcludesFile = {tmp_path}/all\n"
        f'\tsshCommand = {hook}\n[filter "evil"]\n\tclean = {hook}\n\tprocess = {hook}\n'
    )
    (tmp_path / "all").write_text("*\n")
    (checkout / ".git" / "config").write_text(config)
    (checkout / ".git" / "index").write_bytes(b"damaged")
    (checkout / ".git" / "info" / "exclude").write_text("*\n")
    (checkout / ".gitattributes").write_text("* filter=evil\n")
    nested = checkout / "vendor" / ".git"
    nested.mkdir(parents=True)
    (nested / "config").write_text(config)
    (nested / "HEAD").write_text("ref: refs/heads/main\n")
    (checkout / "vendor" / "file.py").write_text("x")
    (checkout / "worktree").mkdir()
    (checkout / "worktree" / ".git").write_text(f"gitdir: {tmp_path}\n")
    tree = snapshot.record(checkout)
    assert [change.path for change in snapshot.changes(tree)] == [".gitattributes", "vendor/file.py"]
    assert not trap.exists()


def test_what_is_no_file_is_left_out(snapshot: GitSnapshot, checkout: Path) -> None:
    os.mkfifo(checkout / "pipe")
    assert snapshot.record(checkout) == snapshot.head_tree


def test_a_huge_file_is_refused(snapshot: GitSnapshot, checkout: Path) -> None:
    with (checkout / "huge").open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(DiffRejected, match="huge has 64 MiB"):
        snapshot.record(checkout)


def test_too_many_files_are_refused_before_all_are_listed(
    snapshot: GitSnapshot, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MOST_FILES", 20)
    listed = []
    listing = folders._scan_folders
    monkeypatch.setattr(folders, "_scan_folders", lambda *way: (listed.append(one) or one for one in listing(*way)))
    (checkout / "node_modules").mkdir()
    for number in range(100):
        (checkout / f"{number}.pyc").touch()
        (checkout / "node_modules" / str(number)).mkdir()
    assert snapshot.record(checkout) == snapshot.head_tree
    for number in range(100):
        (checkout / f"{number}.txt").touch()
    listed.clear()
    with pytest.raises(DiffRejected, match="over 20 files and folders"):
        snapshot.record(checkout)
    assert len(listed) < 150


@pytest.mark.parametrize(
    ("folder", "mark"),
    [
        *(
            (name, None)
            for name in ("__pycache__", "pkg/__pycache__", ".venv", ".tox", "node_modules", "a/node_modules")
        ),
        *((name, None) for name in ("src/shop.egg-info", ".pytest_cache", "build/temp.linux-x86_64-cpython-311")),
        *(("env", "pyvenv.cfg"), ("pkg/new", "pyvenv.cfg"), ("coverage", "lcov.info")),
    ],
)
def test_what_builds_and_test_runs_leave_is_left_out_whatever_its_size(
    folder: str, mark: str | None, snapshot: GitSnapshot, checkout: Path
) -> None:
    (checkout / folder / "lib").mkdir(parents=True)
    if mark is not None:
        (checkout / folder / mark).write_text("")
    with (checkout / folder / "lib" / "huge").open("wb") as file:
        file.truncate((64 << 20) + 1)
    (checkout / folder / "code.py").write_text("x")
    assert snapshot.record(checkout) == snapshot.head_tree


def test_a_new_file_that_gitignore_covers_is_of_the_tree(snapshot: GitSnapshot, checkout: Path) -> None:
    (checkout / ".gitignore").write_text("*\n")
    (checkout / "build").mkdir()
    (checkout / "build" / "new.py").write_text("x")
    tree = snapshot.record(checkout)
    assert [change.path for change in snapshot.changes(tree)] == [".gitignore", "build/new.py"]


def test_what_is_tracked_stays_though_it_looks_like_leftovers(instance: Instance, tmp_path: Path) -> None:
    project = tmp_path / "set" / "project"
    for name in ("node_modules/own/a.js", "data/env/pyvenv.cfg", "data/env/kept.txt", "lib.so"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("old\n")
    snapshot = fetcher_for(instance).fetch(instance, tmp_path / "cache")
    checkout = tmp_path / "checkout"
    snapshot.clone(checkout)
    assert snapshot.record(checkout) == snapshot.head_tree
    (checkout / "node_modules/own/a.js").write_text("new\n")
    (checkout / "data/env/new.txt").write_text("new\n")
    (checkout / "lib.so").unlink()
    (checkout / "node_modules/own/b.js").write_text("left\n")
    tree = snapshot.record(checkout)
    changes = {change.path: change.content for change in snapshot.changes(tree)}
    assert changes == {"node_modules/own/a.js": b"new\n", "data/env/new.txt": b"new\n", "lib.so": None}


def test_a_checkout_that_is_gone_is_a_sentence(snapshot: GitSnapshot, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="nowhere is gone, so the revision cannot be recorded"):
        snapshot.record(tmp_path / "nowhere")


@pytest.mark.parametrize("part", ["", "private.git/HEAD"])
def test_a_store_that_is_removed_meanwhile_is_named_and_nobodys_doing(
    part: str, snapshot: GitSnapshot, checkout: Path
) -> None:
    gone = snapshot.folder / part
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    diff = NEW.format("x", "100644")
    for ask in (lambda: snapshot.record(checkout), lambda: snapshot.apply(diff), lambda: snapshot.diff(snapshot.head)):
        with pytest.raises(SourceError, match=f"since {snapshot.folder}/private.git is gone: run again"):
            ask()


def cut(pack: Path) -> None:
    pack.write_bytes(pack.read_bytes()[:-30])


def turn(pack: Path) -> None:
    content = bytearray(pack.read_bytes())
    content[-28] ^= 0xFF  # the last object, a file's content
    pack.write_bytes(content)


def writable_pack(snapshot: GitSnapshot, part: str) -> Path:
    (pack,) = (snapshot.folder / part / "objects" / "pack").glob("*.pack")
    pack.chmod(0o600)
    return pack


@pytest.mark.parametrize(("part", "harm"), [("public.git", cut), ("public.git", Path.unlink), ("private.git", turn)])
def test_damage_is_found(part: str, harm: Callable[[Path], None], snapshot: GitSnapshot) -> None:
    assert snapshot.damage() is None
    harm(writable_pack(snapshot, part))
    assert snapshot.damage() is not None


def test_damage_is_not_taken_for_a_diff_that_does_not_apply(snapshot: GitSnapshot) -> None:
    good = snapshot.diff(snapshot.reference_tree)
    turn(writable_pack(snapshot, "public.git"))
    with pytest.raises(SourceError, match=f"what is kept of the trees in {snapshot.folder} is damaged"):
        snapshot.apply(good)


def test_what_git_dislikes_is_no_damage_and_no_excuse(snapshot: GitSnapshot) -> None:
    hostile = NEW.format(".gitmodules", "100644").replace(
        "@@ -0,0 +1 @@\n+x", '@@ -0,0 +1,2 @@\n+[submodule "x"]\n+\turl = -x'
    )
    snapshot.apply(hostile)
    assert snapshot.damage() is None
    absent = "object packfile is corrupt"
    with pytest.raises(DiffRejected, match=absent):
        snapshot.apply(f"diff --git a/{absent} b/{absent}\n--- a/{absent}\n+++ b/{absent}\n@@ -1 +1 @@\n-2\n+3\n")


def test_a_dropped_snapshot_is_made_anew_beside_the_old_one(
    snapshot: GitSnapshot, instance: Instance, tmp_path: Path
) -> None:
    cut(writable_pack(snapshot, "public.git"))
    for _ in range(2):  # two trials that see the same damage drop it once
        drop(instance, tmp_path / "cache", snapshot)
    renewed = fetcher_for(instance).fetch(instance, tmp_path / "cache")
    assert isinstance(renewed, GitSnapshot)
    assert renewed == replace(snapshot, folder=snapshot.folder.with_name(f"{snapshot.folder.name}-1"))
    assert renewed.damage() is None
    assert snapshot.folder.is_dir()
    drop(instance, tmp_path / "cache", snapshot)
    assert fetcher_for(instance).fetch(instance, tmp_path / "cache") == renewed


def test_this_processs_git_variables_do_not_matter(
    snapshot: GitSnapshot, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_EXTERNAL_DIFF"):
        monkeypatch.setenv(name, "/nonexistent")
    assert snapshot.record(checkout) == snapshot.head_tree
    assert snapshot.pull_request_diff()


def test_submodules_stay_as_they_were(
    instance: Instance, tmp_path: Path, upstream: object, git: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mirror" / "owner" / "shop"
    base = git(folder, "rev-parse", "HEAD")
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{base},vendor/sub")
    git(folder, "commit", "--quiet", "-m", "submodule")
    head = git(folder, "rev-parse", "HEAD")
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(tmp_path / "mirror"))
    changed = upstream.instance(instance, base=base, head=head, merged=base)  # type: ignore[attr-defined]
    snapshot = fetcher_for(changed).fetch(changed, tmp_path / "cache")
    assert snapshot.changes(snapshot.reference_tree) == ()
    checkout = tmp_path / "checkout"
    snapshot.clone(checkout)
    assert snapshot.record(checkout) == snapshot.head_tree
    (checkout / "vendor" / "sub" / "file").write_text("x")
    assert snapshot.record(checkout) == snapshot.head_tree
    (checkout / "vendor" / "sub" / "file").unlink()
    (checkout / "vendor" / "sub").rmdir()
    (checkout / "vendor").rmdir()
    (checkout / "shop.py").write_text("one\n")
    tree = snapshot.record(checkout)
    assert [change.path for change in snapshot.changes(tree)] == ["shop.py"]
    assert snapshot.apply(snapshot.diff(tree)) == tree


def test_a_stored_snapshot_is_sound(snapshot: GitSnapshot) -> None:
    for name in ("public.git", "private.git"):
        argv = ["git", f"--git-dir={snapshot.folder / name}", "fsck", "--strict", "--no-dangling"]
        checked = subprocess.run(argv, check=False, capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
