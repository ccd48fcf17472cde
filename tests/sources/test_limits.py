"""What git may use of the host for files that a contestant or a set has made."""

from __future__ import annotations

import base64
import random
import resource
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.errors import DiffRejected, SourceError
from pytest_crab.sources import fetcher_for, folders, git_cli
from pytest_crab.sources.snapshot import GitSnapshot
from pytest_crab.types import Instance

#: Whoever compares these with a long row of a tries every way to part it; newer versions of git see through the first.
SLOW = "*a" * 40 + "*b\n" + "**/a*/" * 20 + "**/b"
ROW = "a" * 80
DEEP = "/".join("a" * 80)


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_cli, "PROCESSOR_SECONDS", 1)
    monkeypatch.setattr(git_cli, "MEMORY_MIB", 256)


def plant(folder: Path, name: str, patterns: str) -> None:
    (folder / DEEP).mkdir(parents=True)
    (folder / name).write_text(f"{patterns}\n")
    for file in (folder / ROW, folder / DEEP / "file"):
        file.write_text("x")


def used() -> float:
    """Seconds of the processor that children of this process have used so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_patterns_without_end_are_not_matched(snapshot: GitSnapshot, checkout: Path, limits: None) -> None:
    for name in "xyz":
        plant(checkout / name, ".gitignore", SLOW)
    before = used()
    tree = snapshot.record(checkout)
    assert used() - before < 1
    assert f"x/{DEEP}/file" in {change.path for change in snapshot.changes(tree)}


def test_attributes_without_end_are_the_sets_own(instance: Instance, tmp_path: Path, limits: None) -> None:
    plant(tmp_path / "set" / "project", ".gitattributes", "".join(f"{line} text\n" for line in SLOW.splitlines()))
    before = used()
    try:
        fetcher_for(instance).fetch(instance, tmp_path / "cache").clone(tmp_path / "checkout")
    except SourceError as error:
        assert "processor" in str(error)  # noqa: PT017 - a git that reads no attributes has no trouble
    else:
        assert (tmp_path / "checkout" / ROW).read_text() == "x"
    assert used() - before < 4


def test_a_diff_that_unpacks_without_end_does_not_apply(snapshot: GitSnapshot, limits: None) -> None:
    size = 1 << 30
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)) + packer.flush()
    lines = [packed[start : start + 52] for start in range(0, len(packed), 52)]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    rows = "\n".join(f"{letters[len(line) - 1]}{base64.b85encode(line, pad=True).decode()}" for line in lines)
    diff = (
        f"diff --git a/big b/big\nnew file mode 100644\nindex {'0' * 40}..{'1' * 40}\nGIT binary patch\n"
        f"literal {size}\n{rows}\n\nliteral 0\nHcmV?d00001\n\n"
    )
    with pytest.raises(DiffRejected, match=r"Out of memory.* 256 MiB"):
        snapshot.apply(diff)


def test_a_tree_that_takes_too_much_memory_to_compare_is_no_diff(
    snapshot: GitSnapshot, checkout: Path, limits: None
) -> None:
    (checkout / "shop.py").write_text("\n" * (12 << 20))
    tree = snapshot.record(checkout)
    with pytest.raises(DiffRejected, match=r"diff-tree .*256 MiB"):
        snapshot.diff(tree)


def test_a_machine_that_is_too_slow_is_not_the_revisions_fault(
    snapshot: GitSnapshot, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "new.py").write_text("x")
    monkeypatch.setattr(git_cli, "_CLOCK_SECONDS", 0.001)
    with pytest.raises(git_cli.GitSlow, match="it took longer"):
        snapshot.record(checkout)


@contextmanager
def no_room() -> Iterator[None]:
    """Let this process and its children write no file of more than a MiB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_git_that_fails_is_the_machines_fault_only_where_nothing_can_be_written(
    snapshot: GitSnapshot, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of the revision stand in what git says of a failure, so that decides nothing."""
    closed = checkout / "No space left on device" / "Out of memory, malloc failed"
    closed.mkdir(parents=True)
    (closed / "new.py").write_text("x")
    hash_object: Callable[..., Any] = folders._hash_files

    def hashing(git: git_cli.Git, folder: Path, entries: Any) -> Any:
        (closed / "new.py").unlink()  # so that it can no longer be read, whoever asks
        return hash_object(git, folder, entries)

    monkeypatch.setattr(folders, "_hash_files", hashing)
    with pytest.raises(DiffRejected, match="No space left on device"):
        snapshot.record(checkout)
    monkeypatch.undo()
    (closed / "new.py").write_bytes(random.randbytes(2 << 20))
    with no_room(), pytest.raises(SourceError, match="cannot be written"):
        snapshot.record(checkout)


def test_a_tree_that_git_cannot_compare_is_the_revisions_fault_unless_its_objects_are_gone(
    snapshot: GitSnapshot, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkout / "Out of memory").write_text("x" * 99)
    tree = snapshot.record(checkout)
    run: Callable[..., bytes] = git_cli.run

    def failing(words: Any, **options: Any) -> bytes:
        return run([*words, "--no-such-option"] if "diff-tree" in words else words, **options)

    with monkeypatch.context() as patch:
        patch.setattr(git_cli, "run", failing)
        with pytest.raises(DiffRejected, match="cannot be written as a diff"):
            snapshot.diff(tree)
    lost = snapshot.private.line("rev-parse", f"{tree}:Out of memory")
    (snapshot.private.folder / "objects" / lost[:2] / lost[2:]).unlink()
    with pytest.raises(SourceError, match="is damaged"):
        snapshot.diff(tree)


def test_many_links_are_one_command(snapshot: GitSnapshot, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[str] = []
    run: Callable[..., bytes] = git_cli.run

    def counting(words: Any, **options: Any) -> bytes:
        commands.extend(word for word in words if word == "hash-object")
        return run(words, **options)

    monkeypatch.setattr(git_cli, "run", counting)
    for number in range(50):
        (checkout / f"link-{number}").symlink_to(f"somewhere-{number}")
    tree = snapshot.record(checkout)
    assert commands == ["hash-object"]
    found = {change.path: change.content for change in snapshot.changes(tree)}
    assert found == {f"link-{number}": f"somewhere-{number}".encode() for number in range(50)}
