"""What comes out of a workspace is looked at before it is believed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.ecosystems import leftover_patterns
from pytest_crab.errors import DiffRejected, EngineError
from pytest_crab.harness import channel
from pytest_crab.harness.inside import channel as inside
from pytest_crab.protocols import FileChange
from pytest_crab.runtimes import tree_diff
from pytest_crab.runtimes.inside import delta

KEY = bytes(range(32))


def _sent(*messages: bytes, last: bytes | None = b"") -> bytes:
    """What the script would print."""
    framed = [inside.frame(KEY, number, message) for number, message in enumerate(messages)]
    end = [] if last is None else [inside.frame(KEY, len(messages), last, last=True)]
    return b"".join([*framed, *end])


#: What is left out where nothing is tracked.
WITHOUT = {"expression": leftover_patterns().expression, "marks": list(leftover_patterns().marks), "tracked": []}


def _told(
    before: Path, after: Path, most: int = tree_diff.MOST, without: dict[str, Any] = WITHOUT
) -> tuple[list[FileChange], list[str]]:
    """What the script tells of two folders, run as it is in a sandbox."""
    argv = [sys.executable, "-I", "-S", "-c", channel.program(tree_diff.SCRIPT), str(before), str(after), str(most)]
    done = subprocess.run(argv, input=KEY + json.dumps(without).encode(), capture_output=True, check=True)
    left: list[str] = []
    return list(tree_diff.read_changes(KEY, done.stdout, left)), left


def test_what_the_script_did_not_send_is_not_believed() -> None:
    forged = inside.frame(bytes(32), 0, b'["forged.py", "file"]\n')
    for printed in (b"", b"garbage" * 1000, forged, _sent(last=None), _sent() + forged, forged + _sent()):
        with pytest.raises(EngineError, match="did not come out whole"):
            list(tree_diff.read_changes(KEY, printed, []))


def test_a_tree_that_is_refused_says_why() -> None:
    with pytest.raises(DiffRejected, match="over 100 deep"):
        list(tree_diff.read_changes(KEY, _sent(last=b"the folders lie over 100 deep"), []))


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "away").symlink_to(outside)
    (folder / "file").symlink_to(outside / "file")
    changes = [
        FileChange(path="away/file", mode="100644", content=b"theirs"),
        FileChange(path="file", mode="100644", content=b"theirs"),
    ]
    tree_diff.put(folder, changes)
    assert (outside / "file").read_text() == "mine"
    assert (folder / "away/file").read_bytes() == (folder / "file").read_bytes() == b"theirs"


def test_nothing_is_removed_through_a_link(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    (outside / "deep").mkdir(parents=True)
    (outside / "file").write_text("mine")
    (outside / "deep/file").write_text("mine")
    (folder / "inner").mkdir(parents=True)
    (folder / "away").symlink_to(outside)
    (folder / "inner/away").symlink_to("../away/deep")
    (folder / "gone").symlink_to(outside / "file")
    names = ("away/file", "away/deep/file", "inner/away/file", "gone", "never/there", "gone/file")
    tree_diff.put(folder, [FileChange(path=name, mode="100644", content=None) for name in names])
    assert (outside / "file").read_text() == (outside / "deep/file").read_text() == "mine"
    assert sorted(path.name for path in folder.iterdir()) == ["away", "inner"]


@pytest.mark.parametrize("path", ["../outside", "/outside", "a/../../outside", "", "a//b", "."])
@pytest.mark.parametrize("content", [None, b"theirs"])
def test_no_path_leads_out_of_the_folder(tmp_path: Path, path: str, content: bytes | None) -> None:
    (tmp_path / "outside").write_text("mine")
    (tmp_path / "folder" / "a").mkdir(parents=True)
    with pytest.raises(ValueError, match="no path below"):
        tree_diff.put(tmp_path / "folder", [FileChange(path=path, mode="100644", content=content)])
    assert (tmp_path / "outside").read_text() == "mine"


def test_a_folder_that_becomes_a_link_while_the_way_is_gone_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking at a folder and using it, a process that outlived its sandbox may exchange it."""
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    (outside / "file").write_text("mine")
    (folder / "a").mkdir(parents=True)
    (folder / "a/file").write_text("theirs")
    real = os.open

    def exchanging(path: str, flags: int, *rest: int, **more: int) -> int:
        descriptor = real(path, flags, *rest, **more)
        if path == "a":
            (folder / "a").rename(folder / "b")
            (folder / "a").symlink_to(outside)
        return descriptor

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", exchanging)
        tree_diff.put(folder, [FileChange(path="a/file", mode="100644", content=None)])
    assert (outside / "file").read_text() == "mine"
    assert not (folder / "b/file").exists()


def test_a_file_may_become_a_folder_and_back(tmp_path: Path) -> None:
    before, after, copy = (tmp_path / name for name in ("before", "after", "copy"))
    for folder in (before, copy):
        (folder / "b").mkdir(parents=True)
        (folder / "a").write_text("file")
        (folder / "b/inner").write_text("inner")
    (after / "a").mkdir(parents=True)
    (after / "a/inner").write_text("inner")
    (after / "b").write_text("file")
    tree_diff.put(copy, tree_diff.between(before, after, [], WITHOUT))
    assert list(delta.delta(str(copy), str(after), tree_diff.MOST, delta.Leftovers(**WITHOUT))) == []


def test_the_script_and_the_host_tell_the_same(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        (folder / ".git").mkdir(parents=True)
        (folder / "same").write_text("same")
        (folder / "gone").write_text("gone")
    (after / "gone").unlink()
    (after / ".git/config").write_text("changed")
    (after / "new ü").write_bytes(bytes(range(256)))
    (after / "link").symlink_to("nowhere")
    (after / "same").chmod(0o755)
    (after / "sub/.git").mkdir(parents=True)
    (after / "sub/.git/config").write_text("new")
    told, _ = _told(before, after)
    assert told == list(tree_diff.between(before, after, [], WITHOUT))
    assert [change.path for change in told] == ["gone", "link", "new ü", "same"]


def test_what_builds_and_test_runs_leave_is_not_told(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for name in ("own/node_modules/kept.js", "own/node_modules/gone.js", "data/env/pyvenv.cfg", "gone.so"):
        (before / name).parent.mkdir(parents=True, exist_ok=True)
        (before / name).write_text("old")
    for name in ("own/node_modules/kept.js", "own/node_modules/left.js", "data/env/pyvenv.cfg", "data/env/new.py"):
        (after / name).parent.mkdir(parents=True, exist_ok=True)
        (after / name).write_text("new")
    for name in (".venv/a.py", "a/__pycache__/b.pyc", "venv/pyvenv.cfg", "venv/a.py", "node_modules/" * 150 + "a.js"):
        (after / name).parent.mkdir(parents=True, exist_ok=True)
        (after / name).write_text("left")
    tracked = ["own/node_modules/kept.js", "own/node_modules/gone.js", "data/env/pyvenv.cfg"]
    without = {**WITHOUT, "tracked": tracked}
    told, left = _told(before, after, without=without)
    assert {change.path: change.content for change in told} == {
        "own/node_modules/kept.js": b"new",
        "own/node_modules/gone.js": None,
        "data/env/pyvenv.cfg": b"new",
        "data/env/new.py": b"new",
    }
    assert left == []
    assert told == list(tree_diff.between(before, after, [], without))


def test_pipes_and_sockets_are_no_content(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    os.mkfifo(tmp_path / "after/pipe")
