"""What reaches out of a sandbox over the tree that it leaves: files of this machine, and its memory."""

from __future__ import annotations

import errno
import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from hostile.ledger import write_instance
from hostile.shape import Kind, Refusal

from pytest_crab import errors
from pytest_crab.ecosystems import leftover_patterns
from pytest_crab.harness import channel
from pytest_crab.instances import load_instance
from pytest_crab.instances.files import pristine
from pytest_crab.protocols import FileChange
from pytest_crab.runtimes import tree_diff
from pytest_crab.runtimes.run_lock import remove_folder
from pytest_crab.sources import consistency, fetcher_for, folders, revision_limits
from pytest_crab.sources.git_cli import GitError, create
from pytest_crab.sources.snapshot import apply

REFUSED, APPLY = "the instance is refused", "missed (does not apply)"
MIB = 1 << 20
NOTHING_TRACKED = {"expression": leftover_patterns().expression, "marks": leftover_patterns().marks, "tracked": ()}


# --- files of the host -----------------------------------------------------------------------------------------------


def linked(folder: Path) -> Path:
    """A clone of a head that brings a link to a folder of the host, in which a file lies."""
    (folder / "clone").mkdir()
    (folder / "host").mkdir()
    (folder / "host" / "victim").write_text("mine")
    (folder / "clone" / "lnk").symlink_to(folder / "host")
    return folder / "clone"


def putting(content: bytes | None) -> Callable[[Path], str]:
    def attempt(folder: Path) -> str:
        tree_diff.put(linked(folder), [FileChange(path="lnk/victim", mode="100644", content=content)])
        return f"the host's file says {(folder / 'host' / 'victim').read_text()}"

    return attempt


def removing(folder: Path) -> bool:
    """The naive way: what the archive says is gone is removed by its name."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("d/lnk/victim"))
    made.seek(0)
    clone = linked(folder)
    with tarfile.open(fileobj=made) as tar:
        for name in tar.getnames():
            (clone / name.removeprefix("d/")).unlink()
    return not (folder / "host" / "victim").exists()


def overwriting(folder: Path) -> bool:
    """The naive way: a file is written by its name."""
    (linked(folder) / "lnk" / "victim").write_text("theirs")
    return (folder / "host" / "victim").read_text() == "theirs"


def beside_the_reader(folder: Path) -> str:
    try:
        list(tree_diff.read_changes(channel.new_key(), b'\0\0\0\0\1["lnk/victim", null]\n' + bytes(64), []))
    except errors.EngineError as error:
        return str(error)
    raise AssertionError("the forged tree was taken")


def leading_out(folder: Path) -> Path:
    place = write_instance(folder / "ledger")
    (folder / "victim").write_text("mine")
    (place / "tree" / "lnk").symlink_to("../../victim")
    return place


def checking(folder: Path) -> str:
    instance = load_instance(leading_out(folder))
    return "\n".join(consistency.faults(instance, fetcher_for(instance).fetch(instance, folder / "cache")))


def reading_on(folder: Path) -> bool:
    """The naive way: a tool that the project brings reads what it finds in the tree."""
    return (leading_out(folder) / "tree" / "lnk").read_text() == "mine"


# --- its memory and time ---------------------------------------------------------------------------------------------


def sparse(folder: Path, count: int) -> None:
    for number in range(count):
        with (folder / f"file{number}").open("wb") as file:
            file.truncate(63 * MIB)


def recording(folder: Path) -> str:
    tree = folder / "tree"
    tree.mkdir()
    git = create(folder / "git")
    base = folders.write(git, tree, pristine(tree))
    sparse(tree, 16)
    return rejected(lambda: folders.record(git, tree, base))


def rejected(make: Callable[[], object]) -> str:
    try:
        make()
    except errors.DiffRejected as error:
        return str(error)
    raise AssertionError("it was taken")


#: A machine's words for its own failure, as the name of a folder.
FULL = os.strerror(errno.ENOSPC)


def vanishing(folder: Path) -> tuple[Any, Path, str]:
    """A tree with a file that git cannot read once it comes to it, in a folder that is called like a full disk."""
    tree = folder / "tree"
    tree.mkdir()
    git = create(folder / "git")
    base = folders.write(git, tree, pristine(tree))
    (tree / FULL).mkdir()
    (tree / FULL / "new.py").write_text("NEW = 1\n")
    return git, tree, base


def feigning(folder: Path) -> str:
    git, tree, base = vanishing(folder)
    walk = folders._walk

    def walking_and_removing(*arguments: Any) -> Any:
        yield from walk(*arguments)
        (tree / FULL / "new.py").unlink()

    with mock.patch.object(folders, "_walk", walking_and_removing):
        return rejected(lambda: folders.record(git, tree, base))


def believed(folder: Path) -> bool:
    """The naive way: where git speaks of a full disk, the disk is full."""
    git, tree, _ = vanishing(folder)
    (tree / FULL / "new.py").unlink()
    try:
        git.run("hash-object", f"{FULL}/new.py", cwd=tree)
    except GitError as error:
        return FULL in error.words
    return False


def holding(folder: Path) -> bool:
    """The naive way: all that is new is read, though the disk holds next to nothing of it."""
    sparse(folder, 2)
    files = [path for path in folder.iterdir() if path.is_file()]
    stored = sum(path.stat().st_blocks * 512 for path in files)
    return sum(len(path.read_bytes()) for path in files) > 1000 * max(stored, 1)


COPY = "diff --git a/big b/copy{0}\nsimilarity index 100%\ncopy from big\ncopy to copy{0}\n"


def copied(folder: Path, count: int) -> tuple[Any, str, str]:
    tree = folder / "tree"
    tree.mkdir()
    (tree / "big").write_bytes(bytes(5 * MIB))
    git = create(folder / "git")
    base = folders.write(git, tree, pristine(tree))
    return git, base, apply(git, "".join(COPY.format(number) for number in range(count)), base)


def copying(folder: Path) -> str:
    return rejected(lambda: revision_limits.require_modest(*copied(folder, 12)))


def growing(folder: Path) -> bool:
    """The naive way: whatever git takes is taken."""
    git, _, tree = copied(folder, 12)
    sizes = git.run("ls-tree", "-r", "-l", tree).split()[3::5]
    return sum(map(int, sizes)) > 12 * len(COPY) * 1000


def deep(folder: Path) -> Path:
    (folder / "before").mkdir()
    (folder / "after").mkdir()
    here = os.open(folder / "after", os.O_RDONLY)
    for _ in range(5000):
        os.mkdir("d", dir_fd=here)
        above, here = here, os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(above)
    os.close(here)
    return folder / "after"


def sinking(folder: Path) -> str:
    after = deep(folder)
    try:
        return rejected(lambda: list(tree_diff.between(folder / "before", after, [], NOTHING_TRACKED)))
    finally:
        remove_folder(after)


def walking(folder: Path) -> bool:
    """The naive way: a walk that calls itself for each folder within one."""

    def walk(path: str) -> int:
        return sum(walk(f"{path}/{name}") for name in os.listdir(path))

    after = deep(folder)
    try:
        walk(str(after))
    except (RecursionError, OSError):
        return True
    finally:
        remove_folder(after)
    return False


def host(name: str, attempt: Any, twin: Any, said: str, becomes: str, plant: Any = None) -> Refusal:
    return Refusal(kind=Kind.HOST, name=name, attempt=attempt, twin=twin, said=said, becomes=becomes, plant=plant)


def resource(name: str, attempt: Any, twin: Any, said: str) -> Refusal:
    return Refusal(kind=Kind.RESOURCES, name=name, attempt=attempt, twin=twin, said=said, becomes=APPLY)


REFUSALS = [
    host("a tree whose removals lead through a link of head", putting(None), removing, "says mine", "unknown (broken)"),
    host("a tree whose files lead through a link of head", putting(b"theirs"), overwriting, "says mine",
         "unknown (broken)"),
    host("a tree that is written beside what reads it", beside_the_reader, removing, "did not come out whole",
         "unknown (broken)"),
    host("a tree of an instance with links that lead out", checking, reading_on, "leads out of the tree", REFUSED,
         leading_out),
    resource("sixteen sparse files that are each small enough", recording, holding, "a revision may change 48"),
    resource("a diff that copies a file of head again and again", copying, growing, "a revision may change 48"),
    host("a folder whose name is the words for a full disk", feigning, believed, "revision cannot be recorded", APPLY),
    resource("folders within one another without end", sinking, walking, "over 100 deep"),
]  # fmt: skip
