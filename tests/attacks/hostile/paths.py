"""Diffs, archives, reviews and instance files that name places outside, and ids that are such names."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from hostile.record import Play
from hostile.shape import Kind, Refusal

from pytest_crab import errors
from pytest_crab.harness.inside import tree as inside
from pytest_crab.instances import load_instance
from pytest_crab.instances.files import pristine
from pytest_crab.parsing.review_output import read_review
from pytest_crab.protocols import FileChange
from pytest_crab.runtimes import tree_diff
from pytest_crab.sources import folders, sdist
from pytest_crab.sources.git_cli import create
from pytest_crab.sources.snapshot import apply
from pytest_crab.store import FileStore

#: Whoever believes every name in an archive; Pythons that have no filters do so unasked.
TRUSTING: dict[str, Any] = {"filter": "fully_trusted"} if hasattr(tarfile, "data_filter") else {}

INSTANCE: Mapping[str, Any] = {
    "schema": "1", "id": "shop-7", "provenance": "authored", "repo": "owner/shop", "license": "MIT",
    "pull_request": {"number": "7", "title": "Count"},
    "source": {"tree": {"path": "tree", "head": "head.diff", "reference": "reference.diff"}},
    "environment": {"dockerfile": "python"},
    "comments": [{
        "id": "c0", "path": "shop.py", "lines": ["1", "1"], "body": "Say two.", "category": "functional",
        "kind": "behavioral", "oracle": "test_c0.py",
    }],
}  # fmt: skip


def write_instance(folder: Path, **changes: Any) -> Path:
    """Write an instance whose file says something else at the top, its files and what a link may lead to."""
    place = folder / "set" / "shop-7"
    (place / "tree").mkdir(parents=True)
    for name in ("head.diff", "reference.diff", "test_c0.py", "tree/shop.py"):
        (place / name).write_text("")
    (folder / "secret.py").write_text("the answer")
    (folder / "set" / "test_secret.py").write_text("the answer")
    (place / "linked").symlink_to(folder)
    (place / "instance.yaml").write_text(yaml.safe_dump({**INSTANCE, **changes}))
    return place


def loading(**changes: Any) -> Callable[[Path], str]:
    def attempt(folder: Path) -> str:
        try:
            load_instance(write_instance(folder, **changes))
        except errors.BadInput as error:
            return str(error)
        raise AssertionError("the instance was taken")

    return attempt


def planting(**changes: Any) -> Callable[[Path], Path]:
    return lambda folder: write_instance(folder, **changes)


def reads_secret(named: Callable[[Mapping[str, Any]], str], **changes: Any) -> Callable[[Path], bool]:
    """The naive way: what the file names is joined to the instance's folder and read."""

    def twin(folder: Path) -> bool:
        place = write_instance(folder, **changes)
        data = yaml.safe_load((place / "instance.yaml").read_text())
        return (place / named(data)).read_text() == "the answer"

    return twin


def writes_outside(name: str) -> Callable[[Path], bool]:
    """The naive way: the id is a file's name below a folder."""

    def twin(folder: Path) -> bool:
        (folder / "a" / "store").mkdir(parents=True)
        path = folder / "a" / "store" / name.format(folder=folder)
        path.write_text("{}")
        return not path.resolve().is_relative_to((folder / "a" / "store").resolve())

    return twin


# --- diffs -----------------------------------------------------------------------------------------------------------

Files = list[tuple[str, str, str]]


def diff_of(files: Files) -> str:
    """New files as a git diff: (path, mode, one line)."""
    parts = []
    for path, mode, line in files:
        end = "\n\\ No newline at end of file" if mode == "120000" else ""
        parts.append(
            f"diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n"
            f"+++ b/{path}\n@@ -0,0 +1 @@\n+{line}{end}\n"
        )
    return "".join(parts)


def applying(*files: tuple[str, str, str]) -> Callable[[Path], str]:
    def attempt(folder: Path) -> str:
        tree = folder / "tree"
        tree.mkdir()
        (tree / "shop.py").write_text("one\n")
        git = create(folder / "git")
        base = folders.write(git, tree, pristine(tree))
        try:
            apply(
                git,
                diff_of([(path.format(folder=folder), mode, line.format(folder=folder)) for path, mode, line in files]),
                base,
            )
        except errors.DiffRejected as error:
            assert not (folder / "out").exists()
            return str(error)
        raise AssertionError("the diff was taken")

    return attempt


def believing(*files: tuple[str, str, str]) -> Callable[[Path], bool]:
    """The naive way: files are written by the names that the diff gives them, links as links."""

    def twin(folder: Path) -> bool:
        tree = folder / "tree"
        subprocess.run(["git", "init", "--quiet", str(tree)], check=True)
        for path, mode, line in files:
            target = tree / path.format(folder=folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            if mode == "120000":
                target.symlink_to(line.format(folder=folder))
                continue
            target.write_text(line.format(folder=folder) + "\n")
            target.chmod(int(mode[3:], 8))
        who = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"]
        subprocess.run(["git", *who, "commit", "--quiet", "--allow-empty", "-m", "x"], cwd=tree, check=True)
        return (folder / "out").exists()

    return twin


ABOVE = ("../out", "100644", "x")
ABSOLUTE = ("{folder}/out", "100644", "x")
LINKED = [("way", "120000", "{folder}"), ("way/out", "100644", "x")]
HOOK = (".git/hooks/post-commit", "100755", "#!/bin/sh\ntouch {folder}/out")


def through_a_link(folder: Path) -> str:
    (folder / "root").mkdir()
    (folder / "root" / "way").symlink_to(folder)
    try:
        inside.apply(str(folder / "root"), [["way/out", "100644", "x"]], decode=str.encode)
    except ValueError as error:
        assert not (folder / "out").exists()
        return str(error)
    raise AssertionError("the change was made")


def through_a_link_unasked(folder: Path) -> bool:
    (folder / "root").mkdir()
    (folder / "root" / "way").symlink_to(folder)
    (folder / "root" / "way" / "out").write_text("x")
    return (folder / "out").exists()


# --- archives --------------------------------------------------------------------------------------------------------

Member = tuple[str, bytes, str]


def pack(members: list[Member], folder: Path, mode: str = "w:gz") -> bytes:
    """An archive of (name, type, content or where the link points)."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as tar:  # type: ignore[call-overload]
        for name, kind, content in members:
            info = tarfile.TarInfo(name.format(folder=folder))
            info.type = kind
            if kind == tarfile.REGTYPE:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content.encode()))
            else:
                info.linkname = content.format(folder=folder)
                tar.addfile(info)
    return made.getvalue()


def unpacking(*members: Member) -> Callable[[Path], str]:
    def attempt(folder: Path) -> str:
        (folder / "a.tar.gz").write_bytes(pack(list(members), folder))
        (folder / "into").mkdir()
        try:
            sdist.unpack(folder / "a.tar.gz", folder / "into", "the sdist")
        except errors.SourceError as error:
            assert not (folder / "out").exists()
            return str(error)
        raise AssertionError("the archive was taken")

    return attempt


def extracting(*members: Member) -> Callable[[Path], bool]:
    def twin(folder: Path) -> bool:
        (folder / "into").mkdir()
        with tarfile.open(fileobj=io.BytesIO(pack(list(members), folder))) as tar:
            tar.extractall(folder / "into", **TRUSTING)
        return (folder / "out").exists()

    return twin


TAR_ABOVE = [("top/a", tarfile.REGTYPE, "x"), ("top/../../out", tarfile.REGTYPE, "x")]
TAR_ABSOLUTE = [("top/a", tarfile.REGTYPE, "x"), ("{folder}/out", tarfile.REGTYPE, "x")]
TAR_LINK = [("top/way", tarfile.SYMTYPE, "{folder}"), ("top/way/out", tarfile.REGTYPE, "x")]


def receiving(folder: Path) -> str:
    try:
        tree_diff.put(folder, [FileChange(path="../out", mode="100644", content=b"x")])
    except ValueError as error:
        assert not (folder / "out").exists()
        return str(error)
    raise AssertionError("the change was taken")


# --- reviews ---------------------------------------------------------------------------------------------------------

FINDING = '{"schema": 1, "findings": [{"path": "../../secret", "body": "Look here."}]}'


def reviewing(folder: Path) -> str:
    problems: list[str] = []
    assert read_review(FINDING, problems) is None
    return problems[0]


def quoting(folder: Path) -> bool:
    """The naive way: the lines that a finding is about are read from where it says."""
    (folder / "a" / "tree").mkdir(parents=True)
    (folder / "secret").write_text("the answer")
    return (folder / "a" / "tree" / yaml.safe_load(FINDING)["findings"][0]["path"]).read_text() == "the answer"


def comment(**changes: Any) -> list[dict[str, Any]]:
    return [{**INSTANCE["comments"][0], **changes}]


def keyed(folder: Path) -> str:
    (folder / "a" / "store").mkdir(parents=True)
    try:
        FileStore(folder / "a" / "store").put("review", "../../../../out", {})
    except ValueError as error:
        assert os.listdir(folder) == ["a"]
        return str(error)
    raise AssertionError("the object was written")


#: In a whole run a diff is replayed, and a recorded one that does not apply is not on record.
DIFF, INSTANCES, ARCHIVE = "unknown (agent error)", "the instance is refused", "unknown (broken)"


def path(name: str, attempt: Any, twin: Any, said: str, becomes: str, plant: Any = None) -> Refusal:
    return Refusal(kind=Kind.PATHS, name=name, attempt=attempt, twin=twin, said=said, becomes=becomes, plant=plant)


def ident(name: str, twin: Any, said: str, **changes: Any) -> Refusal:
    attempt, plant = loading(**changes), planting(**changes)
    return Refusal(kind=Kind.IDS, name=name, attempt=attempt, twin=twin, said=said, becomes=INSTANCES, plant=plant)


def diff(name: str, said: str, *files: tuple[str, str, str]) -> Refusal:
    def plant(folder: Path) -> str:
        return diff_of([(path.format(folder=folder), mode, line.format(folder=folder)) for path, mode, line in files])

    return path(name, applying(*files), believing(*files), said, DIFF, plant)


def archive(name: str, said: str, *members: Member) -> Refusal:
    return path(
        name, unpacking(*members), extracting(*members), said, ARCHIVE, lambda folder: pack(list(members), folder)
    )


def dockerfile(data: Mapping[str, Any]) -> str:
    return str(data["environment"]["dockerfile"])


TREE = {"tree": {"path": "linked", "head": "head.diff", "reference": "reference.diff"}}
DIFFS = {"tree": {"path": "tree", "head": "../../secret.py", "reference": "reference.diff"}}
SDIST = {
    "sdist": {
        "name": "../../../out",
        "version": "1.0",
        "sha256": "0" * 64,
        "head": "head.diff",
        "reference": "reference.diff",
    }
}

REFUSALS = [
    diff("a diff that leads above the tree", r"invalid path '\.\./out'", ABOVE),
    diff("a diff with an absolute path", "invalid path '/", ABSOLUTE),
    diff("a diff that writes through its own link", "beyond a symbolic link", *LINKED),
    diff("a diff that plants a git hook", r"invalid path '\.git/hooks", HOOK),
    path("a change through a link of the tree", through_a_link, through_a_link_unasked, "leads through a symbolic link",
         "unknown (broken)"),
    archive("an sdist that leads above", "cannot be unpacked", *TAR_ABOVE),
    archive("an sdist with an absolute path", "cannot be unpacked|entries at its top", *TAR_ABSOLUTE),
    archive("an sdist that writes through its own link", "cannot be unpacked", *TAR_LINK),
    path("a workspace that comes out with other paths", receiving,
         extracting(("../out", tarfile.REGTYPE, "x")), "no path below a folder", "unknown (broken)"),
    path("an instance whose tree is behind a link", loading(source=TREE),
         reads_secret(lambda data: data["source"]["tree"]["path"] + "/secret.py", source=TREE),
         "lies behind a link", INSTANCES, planting(source=TREE)),
    path("an instance whose diff lies elsewhere", loading(source=DIFFS),
         reads_secret(lambda data: str(data["source"]["tree"]["head"]), source=DIFFS), "without \\.\\.", INSTANCES,
         planting(source=DIFFS)),
    path("a finding on a file outside the tree", reviewing, quoting, r"findings\[0\]\.path is '\.\./\.\./secret'",
         "unknown (reviewer error)", lambda _: Play(name="a finding on a file outside the tree", review=FINDING)),
    ident("an instance called ../../out", writes_outside("../../out.json"), "id should be 1 to 120", id="../../out"),
    ident("an instance with an absolute id", writes_outside("{folder}/out.json"), "id should be 1 to 120",
          id="/etc/out"),
    ident("a comment called ../../out", writes_outside("../../out.json"), "id should be 1 to 40",
          comments=comment(id="../../out")),
    ident("an oracle called ../test_secret.py",
          reads_secret(lambda data: str(data["comments"][0]["oracle"]), comments=comment(oracle="../test_secret.py")),
          "without \\.\\.", comments=comment(oracle="../test_secret.py")),
    ident("a package called ../../../out", writes_outside("../../out-1.0.tar.gz"), "should be a package's name",
          source=SDIST),
    ident("a Dockerfile called ../../secret.py",
          reads_secret(dockerfile, environment={"dockerfile": "../../secret.py"}), "a name out of dockerfiles/",
          environment={"dockerfile": "../../secret.py"}),
    Refusal(kind=Kind.IDS, name="a stored object called ../../../../out", attempt=keyed,
            twin=writes_outside("../../out.json"), said="no object can be called", becomes="an error in one sentence"),
]  # fmt: skip
