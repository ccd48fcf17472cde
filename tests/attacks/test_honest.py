"""What is refused is refused for what is hostile in it: the same things without that are taken."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from hostile import bombs, paths, texts, traces

from pytest_crab.clients.prompting import shown_diff
from pytest_crab.instances import load_instance
from pytest_crab.parsing.review_output import read_review
from pytest_crab.protocols import FileChange
from pytest_crab.runtimes import tree_diff
from pytest_crab.yaml_reader import read_document


def test_the_instance_is_sound(tmp_path: Path) -> None:
    assert load_instance(paths.write_instance(tmp_path)).id == "shop-7"


def test_a_diff_inside_the_tree_applies(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="the diff was taken"):
        paths.applying(("pkg/out", "100755", "#!/bin/sh"), ("link", "120000", "shop.py"))(tmp_path)


def test_an_archive_with_one_folder_is_unpacked(tmp_path: Path) -> None:
    members = [("top/a", tarfile.REGTYPE, "x"), ("top/b/c", tarfile.REGTYPE, "x")]
    with pytest.raises(AssertionError, match="the archive was taken"):
        paths.unpacking(*members)(tmp_path)


def test_a_file_in_a_folder_is_put_into_a_tree(tmp_path: Path) -> None:
    tree_diff.put(tmp_path, [FileChange(path="a/b", mode="100644", content=b"x")])
    assert (tmp_path / "a" / "b").read_text() == "x"


def test_an_archive_within_the_limits_of_the_bombs_is_unpacked(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="the archive was taken"):
        bombs.unpacking([1 << 19, *[0] * 50])(tmp_path)


def test_a_plain_file_and_a_plain_review_are_read(tmp_path: Path) -> None:
    (tmp_path / "instance.yaml").write_text("a: [x, [y]]\n")
    assert read_document(tmp_path / "instance.yaml") == {"a": ["x", ["y"]]}
    problems: list[str] = []
    review = read_review(json.dumps({"schema": 1, "findings": [{"path": "a/b.py", "body": "x"}] * 900}), problems)
    assert review is not None
    assert (len(review.findings), problems) == (900, [])


def test_a_workspace_as_it_should_be_leaks_nothing(tmp_path: Path) -> None:
    of_this_machine = ("there is a package cache in /root", "there is a package cache in /home")
    assert [said for said in traces.looked(traces.workspace(tmp_path)) if not said.startswith(of_this_machine)] == []


def test_a_diff_of_code_is_shown_whole() -> None:
    assert shown_diff(texts.DIFF) == texts.DIFF
