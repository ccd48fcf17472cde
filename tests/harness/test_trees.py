"""Restoring the tree: copies, changes, and what may never be written."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_crab.harness.inside import tree
from pytest_crab.protocols import FileChange, InstallResult
from pytest_crab.types import Ending

if TYPE_CHECKING:
    from conftest import Bench


def change(path: str, text: str | None, mode: str = "100644") -> FileChange:
    return FileChange(path=path, mode=mode, content=None if text is None else text.encode())


def test_changes_add_replace_remove_and_link(bench: Bench) -> None:
    bench.write("old/gone.py", "")
    bench.write("kept.py", "K = 1\n")
    source = (
        "import os, stat\n"
        "def test_it():\n"
        "    assert sorted(os.listdir('.')) == ['kept.py', 'ledger.py', 'link.py', 'new']\n"
        "    assert os.readlink('link.py') == 'kept.py' and open('ledger.py').read() == 'NEW'\n"
        "    assert os.stat('new/deep/tool').st_mode & 0o111 and not os.stat('kept.py').st_mode & 0o111\n"
    )
    changes = (
        change("old/gone.py", None), change("ledger.py", "NEW"), change("link.py", "kept.py", "120000"),
        change("new/deep/tool", "#!", "100755"),
    )  # fmt: skip
    report = bench.report([bench.oracle(source, state="new")], new=changes)
    assert [test.outcome for test in report.runs[0].tests] == ["passed"]


def test_a_folder_becomes_a_file_and_a_file_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("")
    (tmp_path / "b").write_text("")
    changes = [["a/x", "100644", None], ["a", "100644", "file"], ["b", "100644", None], ["b/x", "100644", "file"]]
    tree.apply(str(tmp_path), changes, decode=str.encode)
    assert (tmp_path / "a").read_text() == (tmp_path / "b" / "x").read_text() == "file"


def test_what_was_changed_since_a_time_is_mended_whatever_its_times_say(tmp_path: Path) -> None:
    was, now = tmp_path / "was", tmp_path / "now"
    for name in ("a/changed", "a/gone", "b/linked", "c/file", "e/same", "f/one/file", "f/two/file"):
        (was / "top" / name).parent.mkdir(parents=True, exist_ok=True)
        (was / "top" / name).write_text(name)
    (was / "top" / "link").symlink_to("a")
    subprocess.run(["cp", "-a", was, now], check=True)
    time.sleep(0.05)  # longer than what a file system tells apart
    since = tmp_path / "since"
    since.touch()
    kept = (now / "top/e/same").stat().st_ino
    for old, new in (("one", "three"), ("two", "one"), ("three", "two")):
        (now / "top/f" / old).rename(now / "top/f" / new)
    (now / "top/a/changed").write_text("evil")
    os.utime(now / "top/a/changed", (0, 0))
    (now / "top/a/gone").unlink()
    (now / "top/a/new").mkdir()
    (now / "top/b/linked").unlink()
    (now / "top/b").rmdir()
    (now / "top/b").symlink_to("a")
    (now / "top/c/file").unlink()
    (now / "top/c/file").mkdir()
    (now / "top/link").unlink()
    (now / "top/link").symlink_to("c")
    for place in ("top/e", "top/f", "top", "none"):
        tree.mend(str(was), str(now), place, since.stat().st_ctime_ns)
        if place == "top/e":
            assert (now / "top/e/same").stat().st_ino == kept
    assert subprocess.run(["diff", "-r", "--no-dereference", was, now], check=False).returncode == 0


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("../out", "100644"), ("/out", "100644"), ("a//b", "100644"), ("", "100644"), ("./a", "100644"),
        (".git/config", "100644"), ("sub/.GIT/hooks/x", "100755"), ("sub", "160000"), ("sub", "100666"),
    ],
)  # fmt: skip
def test_a_change_that_leaves_the_tree_is_refused(tmp_path: Path, path: str, mode: str) -> None:
    (tmp_path / "root").mkdir()
    with pytest.raises(ValueError, match="a change"):
        tree.apply(str(tmp_path / "root"), [[path, mode, "text"]], decode=str.encode)
    assert os.listdir(tmp_path) == ["root"]


def test_nothing_is_written_through_a_symbolic_link(tmp_path: Path) -> None:
    root, out = tmp_path / "root", tmp_path / "out"
    for folder in (root, out):
        folder.mkdir()
    (out / "file").write_text("kept")
    (root / "file").symlink_to(out / "file")
    (root / "folder").symlink_to(out)
    tree.apply(str(root), [["file", "100644", "new"]], decode=str.encode)
    assert (root / "file").read_text() == "new" and (out / "file").read_text() == "kept"
    for content in ("new", None):
        with pytest.raises(ValueError, match="symbolic link"):
            tree.apply(str(root), [["folder/file", "100644", content]], decode=str.encode)
    assert (out / "file").read_text() == "kept"


def test_a_link_that_is_replaced_by_a_folder_is_not_followed(tmp_path: Path) -> None:
    root, out = tmp_path / "root", tmp_path / "out"
    for folder in (root, out):
        folder.mkdir()
    (root / "way").symlink_to(out)
    tree.apply(str(root), [["way/file", "100644", "new"], ["way", "120000", None]], decode=str.encode)
    assert (root / "way" / "file").read_text() == "new" and os.listdir(out) == []


def test_a_removal_leaves_no_empty_folder_and_absent_files_alone(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_text("")
    tree.apply(str(tmp_path), [["a/b/c", "100644", None], ["no/such", "100644", None]], decode=str.encode)
    assert os.listdir(tmp_path) == []


#: Folders deeper than Python recurses and than a path can name, each with a file, some of them closed.
DEEP = """
import os
for level in range(1100):
    open("file", "w").close()
    os.mkdir("deep")
    os.chdir("deep")
    if level % 100 == 0:
        os.chmod("..", 0o500)
"""


def test_folders_are_removed_however_deep_they_are(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "gone" / "beside").mkdir(parents=True)
    (tmp_path / "gone" / "link").symlink_to(tmp_path / "kept")
    subprocess.run([sys.executable, "-c", DEEP], cwd=tmp_path / "gone", check=True)
    tree.remove(str(tmp_path / "gone"))
    assert os.listdir(tmp_path) == ["kept"]


def test_what_a_run_nested_deep_is_gone_before_the_next(bench: Bench) -> None:
    first = f"def test_it():\n    exec({DEEP!r})\n"
    second = "import os\ndef test_it():\n    assert os.listdir('.') == ['ledger.py']\n"
    report = bench.report([bench.oracle(first, name="a"), bench.oracle(second, name="b")])
    assert report.problems == ()
    assert [test.outcome for run in report.runs for test in run.tests] == ["passed", "passed"]


def test_a_state_that_cannot_be_restored_starts_nothing(bench: Bench) -> None:
    report = bench.report([bench.oracle("", state="bad"), bench.oracle("def test_it(): pass", name="b")],
                          bad=(change("../x", ""),))  # fmt: skip
    assert [run.ending for run in report.runs] == [Ending.UNSTARTED, Ending.COMPLETED]
    assert "'../x'" in (report.runs[0].detail or "")


def packed(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode())).decode()


def test_what_an_install_compiled_takes_the_place_of_heads_and_nothing_else(bench: Bench) -> None:
    for name in ("kept.so", "old.so", "pack/inner.so"):
        bench.write(name, "head")
    changes = (change("evil.so", "evil"), change("pack/inner.so", None), change("pack", "..", "120000"))
    compiled = {
        "old.so": None,
        "deep/new.so": packed("new"),
        "pack/inner.so": packed("through"),
        "ledger.py/x.so": packed(""),
    }
    bench.installs = {"new": InstallResult(compiled=compiled)}
    source = (
        "import os\n"
        "def test_it():\n"
        "    assert sorted(os.listdir('.')) == ['deep', 'kept.so', 'ledger.py', 'pack']\n"
        "    assert open('deep/new.so').read() == 'new' and not os.path.exists('../inner.so')\n"
        "def test_import():\n"
        "    import ledger\n"
    )
    runs = bench.report(
        [bench.oracle(source, state="new"), bench.oracle("def test_it():\n    open('old.so')\n", name="c1")],
        new=changes,
    ).runs
    assert [test.outcome for run in runs for test in run.tests] == ["passed", "passed", "passed"]


def test_a_module_among_the_packages_that_an_install_made_otherwise_is_the_one_that_counts(
    bench: Bench, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    (site / "space").mkdir(parents=True)
    for name in ("gone", "space/gone"):
        (site / f"{name}.py").write_text("")
    bench.site = (*bench.site, str(site))
    bench.installs = {
        "new": InstallResult(modules={"gone.cpython-311-x86_64-linux-gnu.so": None, "space/gone.so": None})
    }
    source = "def test_gone():\n    import gone\ndef test_inner():\n    import space.gone\n"
    head, new = bench.report([bench.oracle(source), bench.oracle(source, state="new", name="c1")], new=()).runs
    assert [test.outcome for test in head.tests] == ["passed", "passed"]
    assert [test.exception for test in new.tests] == ["ModuleNotFoundError", "ModuleNotFoundError"]
