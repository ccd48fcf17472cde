from __future__ import annotations

from pathlib import Path

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instances
from pytest_crab.instances.pull_requests import copy_subjects, read_subject, subject_of, write_subject

SET = Path(__file__).parents[2] / "instances" / "quickstart"


def test_a_subject_is_read_as_it_was_written(tmp_path: Path) -> None:
    (instance,) = load_instances(SET / "router-17-middleware")
    subject = subject_of(instance, "the diff")
    write_subject(tmp_path, subject)
    assert read_subject(tmp_path, instance.id) == subject
    assert subject.diff == "the diff"
    assert [comment.id for comment in subject.comments] == [comment.id for comment in instance.with_oracles]


def test_no_oracle_is_shown(tmp_path: Path) -> None:
    instances = load_instances(SET)
    for instance in instances:
        write_subject(tmp_path, subject_of(instance, ""))
    text = "".join(path.read_text() for path in tmp_path.rglob("*.json"))
    oracles = [comment.required_oracle.file for instance in instances for comment in instance.with_oracles]
    assert len(oracles) == 39
    assert all(comment.body.split("\n")[0] in text for comment in instances[0].comments)
    assert not [file for file in oracles if file in text or Path(file).name in text]
    assert "def test_" not in text


def test_copies_are_of_the_reports_own_files(tmp_path: Path) -> None:
    secret, report, other, into = (tmp_path / name for name in ("secret.json", "report", "other", "into"))
    secret.write_text("a key")
    (report / "instances").mkdir(parents=True)
    (report / "instances" / "one.json").write_text("{}")
    (report / "instances" / "two.json").symlink_to(secret)
    (report / "instances" / "home").symlink_to(tmp_path)
    other.mkdir()
    (other / "instances").symlink_to(tmp_path)
    into.mkdir()
    for each in (report, other, tmp_path / "none"):
        copy_subjects(each, into)
    assert [path.name for path in into.rglob("*") if path.is_file()] == ["one.json"]


def test_what_is_not_there_and_what_is_damaged(tmp_path: Path) -> None:
    assert read_subject(tmp_path, "one") is None
    assert read_subject(tmp_path, "../one") is None
    (tmp_path / "instances").mkdir()
    (tmp_path / "instances" / "one.json").write_text('{"schema": 1')
    with pytest.raises(BadInput, match=r"one\.json"):
        read_subject(tmp_path, "one")
