from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_crab.atomic import SHARED, publish_folder, write_atomically


def test_a_file_is_private_unless_it_is_shared(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_atomically(tmp_path / "own", b"1")
        write_atomically(tmp_path / "all", [b"1", b"2"], SHARED)
    finally:
        os.umask(before)
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "all").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "all").read_bytes() == b"12"


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    def chunks() -> object:
        yield b"half"
        raise RuntimeError

    write_atomically(tmp_path / "file", b"old")
    with pytest.raises(RuntimeError):
        write_atomically(tmp_path / "file", chunks())  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("untouched")
    (tmp_path / "file").symlink_to("target")
    write_atomically(tmp_path / "file", b"new")
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / "target").read_text() == "untouched"


def test_a_folder_that_another_was_faster_with_stays(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    assert publish_folder(tmp_path / "first", tmp_path / "place")
    assert not publish_folder(tmp_path / "second", tmp_path / "place")
    assert (tmp_path / "place" / "file").read_text() == "first"
    with pytest.raises(FileNotFoundError):
        publish_folder(tmp_path / "gone", tmp_path / "other")
