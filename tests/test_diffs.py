"""Pure rules on git diffs, held against what git itself says."""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pytest_crab import diffs
from pytest_crab.types import Side

BINARY = "GIT binary patch\nliteral 3\nKcmZQzU|?VX00sa6\n\nliteral 0\nHcmV?d00001\n\n"
EVERYTHING = f"""\
diff --git a/old name.py b/new name.py
similarity index 90%
rename from old name.py
rename to new name.py
index 1111111..2222222 100644
--- a/old name.py\t
+++ b/new name.py\t
@@ -1,2 +1,2 @@
 a
-b
\\ No newline at end of file
+c
\\ No newline at end of file
diff --git "a/\\303\\244\\t\\"\\\\.py" "b/\\303\\244\\t\\"\\\\.py"
new file mode 100644
index 0000000..2222222
--- /dev/null
+++ "b/\\303\\244\\t\\"\\\\.py"
@@ -0,0 +1 @@
+x
diff --git a/mode.sh b/mode.sh
old mode 100644
new mode 100755
diff --git a/gone.py b/gone.py
deleted file mode 100644
index 2222222..0000000
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/b.bin b/b.bin
new file mode 100644
index 0000000..1111111
{BINARY}diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
diff --git a/p.txt b/q.txt
similarity index 100%
rename from p.txt
rename to q.txt
"""
QUOTED = 'ä\t"\\.py'


def test_every_kind_of_change_is_read() -> None:
    files = {file.path: file for file in diffs.parse(EVERYTHING)}
    assert list(files) == ["new name.py", QUOTED, "mode.sh", "gone.py", "b.bin", "empty", "q.txt"]
    renamed = files["new name.py"]
    assert (renamed.old, renamed.new) == ("old name.py", "new name.py")
    assert (renamed.removed, renamed.added) == ({2}, {2})
    assert (renamed.old_shown, renamed.new_shown) == ({1, 2}, {1, 2})
    assert files[QUOTED].old is None
    assert files["gone.py"].new is None
    assert files["b.bin"].binary
    assert (files["q.txt"].old, files["q.txt"].new) == ("p.txt", "q.txt")
    assert not files["mode.sh"].added


def test_changed_lines_go_by_the_path_of_their_side() -> None:
    assert diffs.changed_lines(EVERYTHING) == {
        "new name.py": {2},
        QUOTED: {1},
        "mode.sh": set(),
        "b.bin": set(),
        "empty": set(),
        "q.txt": set(),
    }
    left = diffs.changed_lines(EVERYTHING, Side.LEFT)
    assert left == {"old name.py": {2}, "mode.sh": set(), "gone.py": {1}, "p.txt": set()}


def test_shown_lines_hold_the_context() -> None:
    assert diffs.shown_lines(EVERYTHING)["new name.py"] == {1, 2}
    assert diffs.shown_lines(EVERYTHING, Side.LEFT)["gone.py"] == {1}


def test_a_rename_touches_both_paths() -> None:
    expected = {"old name.py", "new name.py", QUOTED, "mode.sh", "gone.py", "b.bin", "empty", "p.txt", "q.txt"}
    assert diffs.touched_paths(EVERYTHING) == expected


def test_lines_are_counted() -> None:
    assert diffs.counts(EVERYTHING) == (2, 2)


@pytest.mark.parametrize("text", ["nonsense\n", "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,1 @@\n a\n"])
def test_what_is_no_diff_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="not a git diff"):
        diffs.parse(text)


@pytest.mark.parametrize(
    ("text", "normal"), [("", ""), (" \n\n", ""), ("a", "a\n"), ("a\n", "a\n"), ("a\n\n", "a\n\n")]
)
def test_normal_diffs_end_with_a_line(text: str, normal: str) -> None:
    assert diffs.normalise(text) == normal
    assert diffs.normalise(normal) == normal


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        *[("a.py", True), ("a/.gitignore", True), (".github/x", True), ("a..b/c", True)],
        *[("", False), (".", False), ("/a", False), ("../a", False), ("a/../../b", False)],
        *[(".git", False), (".git/config", False), ("a/.GIT/x", False)],
    ],
)
def test_paths_stay_inside_the_tree_and_out_of_git(path: str, *, inside: bool) -> None:
    assert diffs.is_inside(path) is inside


def test_paths_outside_are_named_in_order() -> None:
    text = "".join(f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n" for path in ("z/../../y", ".git/x", "fine"))
    assert list(diffs.outside_paths(text)) == [".git/x", "z/../../y"]


FILES = st.lists(st.sampled_from(["a", "b", "c", "-- d", "++ e", ""]), max_size=12)


@given(before=FILES, after=FILES)
def test_changed_lines_rebuild_the_other_version(before: list[str], after: list[str]) -> None:
    """Lines that are not changed are the same on both sides, in the same order."""
    lines = difflib.unified_diff(before, after, "a/x.py", "b/x.py", lineterm="")
    text = "".join(f"{line}\n" for line in lines)
    removed = diffs.changed_lines(text, Side.LEFT).get("x.py", set())
    added = diffs.changed_lines(text).get("x.py", set())
    kept = [line for number, line in enumerate(before, 1) if number not in removed]
    assert kept == [line for number, line in enumerate(after, 1) if number not in added]
    assert diffs.counts(text) == (len(added), len(removed))
    assert diffs.shown_lines(text).get("x.py", set()) >= added


def test_git_agrees_on_names_and_counts(tmp_path: Path) -> None:
    names = [
        "plain.py",
        "with space.py",
        "tab\there.py",
        'quote".py',
        "back\\slash.py",
        "ümlaut.py",
        "b/nested.py",
        "Part b/x.py",
        "x b/x b/x.py",
    ]
    for side, text in (("old", "one\ntwo\n"), ("new", "one\n2\nthree")):
        for name in names:
            path = tmp_path / side / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    argv = ["git", "diff", "--no-index", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "old", "new"]
    text = subprocess.run(argv, cwd=tmp_path, capture_output=True, check=False).stdout.decode()
    assert diffs.touched_paths(text) == {f"{side}/{name}" for side in ("old", "new") for name in names}
    assert diffs.counts(text) == (2 * len(names), len(names))
    assert diffs.changed_lines(text)["new/tab\there.py"] == {2, 3}


@pytest.mark.parametrize("name", ["Part b/x.py", "a b/a", "docs/für.md", 'b/"q" b/z', "b/b", "new b/ b/y"])
def test_names_are_those_of_git_for_every_kind_of_change(tmp_path: Path, name: str) -> None:
    def git(*words: str) -> str:
        argv = ["git", "-c", "user.name=a", "-c", "user.email=a@a.invalid", *words]
        return subprocess.run(argv, cwd=tmp_path, capture_output=True, check=True).stdout.decode()

    def kept(*names: str) -> None:
        for one in names:
            (tmp_path / one).parent.mkdir(parents=True, exist_ok=True)

    names = [f"{kind}/{name}" for kind in ("empty", "mode", "gone", "old", "binary", "text")]
    kept(*names, f"renamed/{name}", f"added/{name}", f"bare/{name}")
    git("init", "-q")
    for at, one in enumerate(names[1:]):
        (tmp_path / one).write_bytes(b"\0" if "binary" in one else f"{one} {at}\n".encode() * 9)
    (tmp_path / names[0]).touch()
    git("add", "-A")
    git("commit", "-qm", "base")
    (tmp_path / names[0]).write_text("no more\n")
    (tmp_path / names[1]).chmod(0o755)
    (tmp_path / names[2]).unlink()
    (tmp_path / names[3]).rename(tmp_path / f"renamed/{name}")
    (tmp_path / names[4]).write_bytes(b"\0\1")
    (tmp_path / names[5]).write_text("other\n")
    (tmp_path / f"added/{name}").write_text("x = 1\n")
    (tmp_path / f"bare/{name}").touch()
    git("add", "-A")
    for options in ([], ["--binary"], ["-c", "core.quotePath=false"]):
        before = options if options[:1] == ["-c"] else []
        text = git(*before, "diff", "--cached", "-M", *(() if before else options))
        words = iter(git("diff", "--cached", "-M", "--name-status", "-z").split("\0")[:-1])
        expected = {
            {"A": (None, one), "D": (one, None)}.get(word) or (one, next(words) if word[0] == "R" else one)
            for word in words
            for one in (next(words),)
        }
        assert {(file.old, file.new) for file in diffs.parse(text)} == expected
        assert {(part.old, part.new) for part in diffs.split_files(text)} == expected
        assert "".join(part.text for part in diffs.split_files(text)) == text
        assert [file.new for file in diffs.parse(text) if file.binary] == [f"binary/{name}"]
        assert diffs.changed_lines(text)[f"empty/{name}"] == {1}


def test_a_head_that_names_no_file_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="no file is named"):
        diffs.parse("diff --git a/x b/y\nindex 1..2\n")


DASHES = """\
diff --git a/notes.sql b/notes.sql
--- a/notes.sql
+++ b/notes.sql
@@ -8,4 +8,5 @@ heading
 one
--- a comment of SQL
-two
+++ plus
+@@ -1 +1 @@ no header
+
 three
\\ No newline at end of file
@@ -40 +42 @@
-old
+new
"""


def test_lines_stand_behind_their_number_in_the_new_version() -> None:
    shown = diffs.number_lines(DASHES).split("\n")
    assert shown[:4] == DASHES.split("\n")[:4]
    assert shown[4:11] == [
        "     8  one",
        "       --- a comment of SQL",
        "       -two",
        "     9 +++ plus",
        "    10 +@@ -1 +1 @@ no header",
        "    11 +",
        "    12  three",
    ]
    assert shown[11:] == ["\\ No newline at end of file", "@@ -40 +42 @@", "       -old", "    42 +new", ""]


def test_numbers_are_those_of_the_parsed_diff() -> None:
    added = next(iter(diffs.parse(DASHES))).added
    lines = diffs.number_lines(DASHES).split("\n")
    assert {int(line[:6]) for line in lines if line[7:8] == "+" and line[:6].strip().isdigit()} == added
