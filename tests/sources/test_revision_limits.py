"""What a revision may change is bounded as a whole, and the process that looks at one stays small."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crab.errors import DiffRejected
from pytest_crab.sources.snapshot import GitSnapshot

MIB = 1 << 20
FILES, SIZE = 16, 63 * MIB

CHILD = """
import json, resource, sys
from pathlib import Path
from pytest_crab.errors import DiffRejected
from pytest_crab.sources.snapshot import GitSnapshot
fields, argument = json.loads(sys.argv[1]), sys.argv[2]
snapshot = GitSnapshot(Path(fields.pop("folder")), **fields)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    {action}
except DiffRejected as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.fixture
def played(snapshot: GitSnapshot) -> Callable[[str, Path], tuple[str, int]]:
    """What is said of an action in a process of its own, and by how many MiB that grew."""

    def play(action: str, argument: Path) -> tuple[str, int]:
        fields = json.dumps({**dataclasses.asdict(snapshot), "folder": str(snapshot.folder)})
        argv = [sys.executable, "-c", CHILD.format(action=action), fields, str(argument)]
        said, grown = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
        return said, int(grown)

    return play


def sparse(folder: Path, names: list[str]) -> None:
    for name in names:
        with (folder / name).open("wb") as file:
            file.truncate(SIZE)


def test_files_within_the_limit_of_each_are_too_much_together(
    snapshot: GitSnapshot, played: Callable[[str, Path], tuple[str, int]], tmp_path: Path
) -> None:
    snapshot.clone(tmp_path / "checkout")
    sparse(tmp_path / "checkout", [f"file{number}" for number in range(FILES)])
    said, grown = played("snapshot.record(Path(argument))", tmp_path / "checkout")
    assert "changes 1008 MiB; a revision may change 48" in said
    assert grown < 100


@pytest.mark.slow(reason="files of the largest size are compared")
def test_a_small_diff_of_large_files_is_refused(
    snapshot: GitSnapshot, played: Callable[[str, Path], tuple[str, int]], tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "made")], check=True)
    sparse(tmp_path / "made", ["zeros"])
    subprocess.run(["git", "add", "."], cwd=tmp_path / "made", check=True)
    told = ["git", "diff", "--cached", "--binary", "--no-ext-diff"]
    diff = subprocess.run(told, cwd=tmp_path / "made", capture_output=True, text=True, check=True).stdout
    assert len(diff) < MIB
    (tmp_path / "diff").write_text("".join(diff.replace("zeros", f"zeros{number}") for number in range(FILES)))
    said, grown = played("snapshot.apply(Path(argument).read_text())", tmp_path / "diff")
    assert "changes 1008 MiB; a revision may change 48" in said
    assert grown < 100


def test_copies_of_a_file_count_each(snapshot: GitSnapshot) -> None:
    text = "x" * 99 + "\n"
    count = 5 * MIB // len(text)
    new = f"diff --git a/big b/big\nnew file mode 100644\n--- /dev/null\n+++ b/big\n@@ -0,0 +1,{count} @@\n"
    tree = snapshot.apply(new + f"+{text}" * count)
    copy = "diff --git a/big b/copy{0}\nsimilarity index 100%\ncopy from big\ncopy to copy{0}\n"
    with pytest.raises(DiffRejected, match="changes 54 MiB; a revision may change 48"):
        snapshot.apply("".join(copy.format(number) for number in range(10)), onto=tree)
    assert snapshot.apply("".join(copy.format(number) for number in range(8)), onto=tree)


def test_leftovers_may_be_large_and_what_was_left_may_not_be_of_the_tree(snapshot: GitSnapshot, tmp_path: Path) -> None:
    folder = tmp_path / "checkout"
    snapshot.clone(folder)
    (folder / ".tox").mkdir()
    sparse(folder / ".tox", ["one", "two"])
    assert snapshot.record(folder, left=[".tox/one"]) == snapshot.head_tree
    (folder / "more").write_text("")
    with pytest.raises(DiffRejected, match="over 48 MiB, such as more"):
        snapshot.record(folder, left=[".tox/one", "more"])
