"""What a run that writes a set says of it in the set's lock."""

from __future__ import annotations

import dataclasses
import errno
from pathlib import Path

import pytest

from pytest_crab.curation.publish import record_audits, remove_rejected, write_set
from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instance, load_instances, lock
from pytest_crab.instances.files import folder_digest
from pytest_crab.types import (
    CandidateComment,
    Comment,
    Environment,
    GitSource,
    Kind,
    Oracle,
    PullCandidate,
    PullRequestFacts,
)


def candidate(number: int, title: str = "Prices") -> PullCandidate:
    """A candidate whose oracle has a check, and was audited with it."""
    comment = Comment(
        id="c0",
        path="shop.py",
        body="From ten on?",
        kind=Kind.BEHAVIORAL,
        oracle=Oracle(file="oracles/test_c0.py"),
        rejects=("checks/near.diff",),
    )
    sha = f"{number}" * 40
    return PullCandidate(
        id=f"shop-{number}",
        origin="git",
        repo="owner/shop",
        pull_request=PullRequestFacts(number=number, title=title, body=""),
        license="MIT",
        source=GitSource(url="https://git.example/owner/shop", base=sha, head=sha, merged=sha),
        environment=Environment(dockerfile="python"),
        comments=(CandidateComment(comment=comment, audited=3),),
        files={"oracles/test_c0.py": "def test_edge():\n    assert 1\n", "checks/near.diff": "a diff\n"},
    )


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A set of two instances that one run wrote, with their audits."""
    publish(tmp_path / "set", candidate(1), candidate(2))
    return tmp_path / "set"


def publish(out: Path, *published: PullCandidate) -> list[str]:
    return [*write_set(out, published), *record_audits(out, published)]


def told(out: Path) -> list[str]:
    return list(lock.differences(out, load_instances(out), whole=True))


def test_a_new_set_is_as_its_lock_says_and_audited(out: Path) -> None:
    assert told(out) == []
    assert lock.count_unaudited(load_instances(out)) == {}
    assert lock.certified_runs(load_instance(out / "shop-1")) == 3


def test_what_a_person_edited_differs_from_the_lock_after_the_next_run_too(out: Path) -> None:
    with (out / "shop-1" / "oracles" / "test_c0.py").open("a") as file:
        file.write("# by hand\n")
    publish(out, candidate(1), candidate(2, "Other prices"), candidate(3))
    (sentence,) = told(out)
    assert sentence.startswith("shop-1 differs in oracles/test_c0.py")
    assert [name for name in ("shop-2", "shop-3") if lock.certified_runs(load_instance(out / name))] == [
        "shop-2",
        "shop-3",
    ]


def test_an_instance_that_cannot_be_made_anew_stays(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, rename = folder_digest(out / "shop-1"), Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.parent.name.startswith(".new-"):
            raise OSError(errno.ENOSPC, "no space")
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", fail)
        with pytest.raises(BadInput, match="no space"):
            publish(out, candidate(1, "Other prices"))
    assert folder_digest(out / "shop-1") == before
    publish(out, candidate(1, "Other prices"))
    assert folder_digest(out / "shop-1") != before
    assert not list(out.glob(".*shop*"))


def test_an_instance_that_cannot_be_read_is_in_nobodys_way(out: Path) -> None:
    (out / "shop-1" / "instance.yaml").write_text("id: [\n")
    with pytest.raises(BadInput):
        load_instance(out / "shop-1")
    publish(out, candidate(1), candidate(2), candidate(3))
    assert lock.certified_runs(load_instance(out / "shop-3")) == 3


def test_a_lock_that_cannot_be_read_is_told_of(out: Path) -> None:
    (out / lock.FILE).write_text("no JSON")
    (sentence,) = publish(out, candidate(1), candidate(3))
    assert "set check --lock" in sentence
    assert (out / "shop-3").is_dir()
    removed, still = remove_rejected(out, ["shop-3"])
    assert "shop-3" in removed
    assert "set check --lock" in still


def test_the_lock_lists_no_instance_that_a_run_removed(out: Path) -> None:
    publish(out)
    list(remove_rejected(out, ["shop-1", "shop-2"]))
    assert list(lock.differences(out, [], whole=True)) == []
    assert (out / lock.FILE).is_file()


def test_a_set_without_audits_gets_no_lock(tmp_path: Path) -> None:
    (one,) = candidate(1).comments
    bare = dataclasses.replace(candidate(1), comments=(dataclasses.replace(one, audited=0),))
    publish(tmp_path / "set", bare)
    list(remove_rejected(tmp_path / "set", ["shop-1"]))
    assert not (tmp_path / "set" / lock.FILE).exists()
