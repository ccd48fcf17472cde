"""The lock of a set."""

from __future__ import annotations

import dataclasses
import json
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instances, lock
from pytest_crab.types import OraclePart

Write = Callable[..., Path]


def differences(folder: Path) -> list[str]:
    return list(lock.differences(folder, load_instances(folder), whole=True))


@pytest.fixture
def folder(write_instance: Write, tmp_path: Path) -> Path:
    write_instance("a")
    write_instance("b")
    folder = tmp_path / "set"
    lock.write_lock(folder, load_instances(folder))
    return folder


def test_a_set_is_as_its_lock_says(folder: Path) -> None:
    assert differences(folder) == []


def test_the_text_is_decided_by_the_set(folder: Path) -> None:
    before = (folder / lock.FILE).read_bytes()
    lock.write_lock(folder, reversed(load_instances(folder)))
    assert (folder / lock.FILE).read_bytes() == before


@pytest.mark.parametrize(
    ("name", "telling"),
    [
        ("a/oracles/test_c0.py", "a differs in oracles/test_c0.py"),
        ("a/head.diff", "a differs in head.diff"),
        ("a/instance.yaml", "a differs in instance"),
    ],
)
def test_a_changed_file_is_named(folder: Path, name: str, telling: str) -> None:
    with (folder / name).open("a") as file:
        file.write("\n")
    (sentence,) = differences(folder)
    assert sentence.startswith(f"{telling};")


@pytest.mark.parametrize("setting", ["autocrlf=input", "autocrlf=true", "eol=crlf"])
def test_git_leaves_the_line_ends_of_a_set(folder: Path, tmp_path: Path, setting: str) -> None:
    def git(*words: str) -> None:
        own = ["-c", f"core.{setting}", "-c", "user.name=a", "-c", "user.email=a@a.invalid"]
        subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)

    (folder / "a" / "oracles" / "test_c0.py").write_bytes(b"def test():\r\n    assert False\n")
    lock.write_lock(folder, load_instances(folder))
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "set")
    git("clone", "-q", ".", str(tmp_path / "clone"))
    assert differences(tmp_path / "clone") == []
    (folder / ".gitattributes").unlink()
    (folder / "a" / "oracles" / "test_c0.py").write_bytes(b"def test():\n    assert False\n")
    (sentence,) = differences(folder)
    assert "git may have changed its line ends" in sentence


def test_writing_follows_no_link_that_came_with_the_set(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("precious")
    (folder / f".{lock.FILE}.aside").symlink_to(own)
    (folder / lock.FILE).unlink()
    (folder / lock.FILE).symlink_to(own)
    lock.write_lock(folder, load_instances(folder))
    assert own.read_text() == "precious"
    assert differences(folder) == []


def test_a_changed_environment_is_named(folder: Path) -> None:
    path = folder / "a" / "instance.yaml"
    path.write_text(path.read_text().replace("8.3.4", "8.3.5"))
    (sentence,) = differences(folder)
    assert sentence.startswith("a differs in environment, instance;")


def test_a_changed_tree_is_named_by_all_that_share_it(folder: Path) -> None:
    (folder / "projects" / "shop" / "shop.py").chmod(0o755)
    assert [sentence.split(";")[0] for sentence in differences(folder)] == [
        "a differs in source",
        "b differs in source",
    ]


def test_what_came_and_went_is_named(folder: Path, write_instance: Write) -> None:
    (folder / "a" / "instance.yaml").unlink()
    write_instance("c")
    assert [sentence.split(";")[0] for sentence in differences(folder)] == [
        "c is not in the lock",
        "a is in the lock and not in the set",
    ]


def test_without_a_lock_nothing_differs(folder: Path) -> None:
    (folder / lock.FILE).unlink()
    assert differences(folder) == []


@pytest.mark.parametrize(
    "content", ["", "[]", "[" * 100_000, '{"schema": 9, "instances": {}}', '{"schema": 1, "instances": {"a": 1}}']
)
def test_a_damaged_lock_is_a_sentence(folder: Path, content: str) -> None:
    (folder / lock.FILE).write_text(content)
    with pytest.raises(BadInput, match="not a lock of this version"):
        differences(folder)


#: How many runs proved the oracle.
RUNS = {"c0": 6}

CHECKED = """\
    accepts: [reference.diff]
    rejects: [head.diff]
"""


@pytest.fixture
def checked(write_instance: Write, tmp_path: Path) -> Path:
    """A locked set of two instances; the oracle of ``a`` has checks, and its audit is on record."""
    path = write_instance("a")
    write_instance("b")
    with path.open("a") as file:
        file.write(CHECKED)
    folder = tmp_path / "set"
    lock.write_lock(folder, load_instances(folder))
    assert lock.count_unaudited(load_instances(folder)) == {folder: 1}
    first, _ = load_instances(folder)
    assert lock.record_audits(folder, first, {"c0": True, "c1": True}, RUNS) == 1
    return folder


def test_an_audit_on_record_holds_until_what_decides_it_changes(checked: Path) -> None:
    assert lock.count_unaudited(load_instances(checked)) == {}
    assert differences(checked) == []
    (checked / "b" / "reference.diff").write_text((checked / "b" / "reference.diff").read_text() + "\n")
    assert lock.count_unaudited(load_instances(checked)) == {}
    with (checked / "a" / "oracles" / "test_c0.py").open("a") as file:
        file.write("# weaker\n")
    assert lock.count_unaudited(load_instances(checked)) == {checked: 1}


def test_an_oracle_without_parts_has_the_digest_of_one_that_knows_none(checked: Path) -> None:
    first, _ = load_instances(checked)
    (comment,) = first.with_oracles
    assert set(serialization.dump(comment.oracle)) == {"file", "runner", "isolation", "plugins"}
    parts = tuple(OraclePart(asks=word, tests=(f"test_{word}",)) for word in "ab")
    halves = dataclasses.replace(comment, oracle=dataclasses.replace(comment.required_oracle, parts=parts))
    other = dataclasses.replace(first, comments=(halves,))
    assert lock.audit_digests(other) != lock.audit_digests(first)


def test_a_new_lock_keeps_only_the_audits_that_hold(checked: Path) -> None:
    lock.write_lock(checked, load_instances(checked))
    assert lock.count_unaudited(load_instances(checked)) == {}
    with (checked / "a" / "head.diff").open("a") as file:
        file.write("\n")
    lock.write_lock(checked, load_instances(checked))
    assert lock.count_unaudited(load_instances(checked)) == {checked: 1}
    assert json.loads((checked / lock.FILE).read_text())["audits"] == {}


def test_an_oracle_that_failed_its_audit_is_taken_off_the_record(checked: Path) -> None:
    first, _ = load_instances(checked)
    assert lock.record_audits(checked, first, {"c0": False}, {}) == 0
    assert lock.count_unaudited(load_instances(checked)) == {checked: 1}


def test_an_oracle_that_was_not_looked_at_keeps_its_record(checked: Path) -> None:
    first, _ = load_instances(checked)
    assert lock.record_audits(checked, first, {}, {}) == 0
    assert lock.count_unaudited(load_instances(checked)) == {}


def test_audits_are_recorded_in_a_lock_only(checked: Path) -> None:
    (checked / lock.FILE).unlink()
    first, _ = load_instances(checked)
    assert lock.record_audits(checked, first, {"c0": True}, RUNS) == 0
    assert not (checked / lock.FILE).exists()


def test_a_damaged_lock_is_written_anew_without_its_audits(checked: Path) -> None:
    (checked / lock.FILE).write_text("{")
    with pytest.raises(BadInput, match="check --lock"):
        lock.count_unaudited(load_instances(checked))
    lock.write_lock(checked, load_instances(checked))
    assert lock.count_unaudited(load_instances(checked)) == {checked: 1}


def test_a_file_that_is_gone_since_the_set_was_loaded_is_named(checked: Path) -> None:
    instances = load_instances(checked)
    (checked / "a" / "oracles" / "test_c0.py").unlink()
    with pytest.raises(BadInput, match=r"oracles/test_c0\.py cannot be read"):
        lock.count_unaudited(instances)
    with pytest.raises(BadInput, match=r"oracles/test_c0\.py cannot be read"):
        lock.write_lock(checked, instances)


def test_oracles_are_certified_as_long_as_their_audit_holds(checked: Path) -> None:
    first, second = load_instances(checked)
    assert (lock.certified_runs(first), lock.certified_runs(second)) == (6, 0)
    (recorded,) = json.loads((checked / lock.FILE).read_text())["audits"]["a"].values()
    assert recorded["runs"] == 6
    assert platform.machine() in recorded["on"]
    with (checked / "a" / "reference.diff").open("a") as file:
        file.write("\n")
    assert lock.certified_runs(first) == 0


@pytest.mark.parametrize("content", [None, "{", '{"schema": 1, "instances": {}, "audits": {"a": {"c0": "digest"}}}'])
def test_a_lock_that_says_nothing_certifies_nothing(checked: Path, content: str | None) -> None:
    first, _ = load_instances(checked)
    (checked / lock.FILE).unlink() if content is None else (checked / lock.FILE).write_text(content)
    assert lock.certified_runs(first) == 0
