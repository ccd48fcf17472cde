"""Whether an instance's parts fit together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.sources import consistency, fetcher_for
from pytest_crab.types import Instance, Side


def change(path: str, before: str, after: str) -> str:
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{before}\n+{after}\n"


def judged(instance: Instance, cache: Path, files: Mapping[str, str], **changes: Any) -> tuple[list[str], list[str]]:
    """The faults and warnings of the instance with one comment changed and some files written."""
    for name, content in files.items():
        Path(instance.folder, name).write_text(content)
    instance = replace(instance, comments=(replace(instance.comments[0], **changes),))
    snapshot = fetcher_for(instance).fetch(instance, cache)
    return list(consistency.faults(instance, snapshot)), list(consistency.warnings(instance, snapshot))


def test_a_sound_instance_has_neither_faults_nor_warnings(instance: Instance, tmp_path: Path) -> None:
    assert judged(instance, tmp_path / "cache", {}) == ([], [])


@pytest.mark.parametrize(
    ("changes", "telling"),
    [
        ({"lines": (1, 3)}, "comments[0].lines are [1, 3], and shop.py has 2 lines at head"),
        ({"path": "none.py"}, "comments[0].path is 'none.py', which is no file at head"),
        ({"path": "pkg", "side": Side.LEFT}, "which is no file at base"),
        ({"reference": "bad.diff"}, "comments[0].reference: bad.diff does not apply to head (error: patch failed"),
        ({"accepts": ("bad.diff",)}, "comments[0].accepts: bad.diff does not apply to head"),
        ({"rejects": ("bad.diff",)}, "comments[0].rejects: bad.diff does not apply to head"),
        ({"rejects": ("same.diff",)}, "comments[0].rejects: same.diff leaves head as it is"),
    ],
)
def test_a_fault_is_one_sentence(instance: Instance, tmp_path: Path, changes: dict[str, Any], telling: str) -> None:
    files = {"bad.diff": change("kept.log", "lost", "found"), "same.diff": change("kept.log", "kept", "kept")}
    (fault,), _ = judged(instance, tmp_path / "cache", files, **changes)
    assert telling in fault


def test_a_reference_that_does_nothing_is_a_fault(instance: Instance, tmp_path: Path) -> None:
    faults, _ = judged(
        instance, tmp_path / "cache", {"reference.diff": change("kept.log", "kept", "kept")}, reference=None
    )
    (fault,) = faults
    assert fault.startswith("the reference leaves head as it is")


def test_a_comment_outside_the_diff_is_a_warning(instance: Instance, tmp_path: Path) -> None:
    faults, warnings = judged(instance, tmp_path / "cache", {}, path="kept.log", lines=(1, 1))
    assert faults == []
    (warning,) = warnings
    assert warning.startswith("comments[0].path (kept.log)")


def test_lines_that_the_diff_does_not_show_are_a_warning(instance: Instance, tmp_path: Path) -> None:
    (tmp_path / "set" / "project" / "shop.py").write_text("one\ntwo\n" + "more\n" * 30)
    head = Path(instance.folder, "head.diff").read_text().replace("@@ -1,2 +1,2 @@", "@@ -1,5 +1,5 @@") + " more\n" * 3
    faults, warnings = judged(
        instance,
        tmp_path / "cache",
        {"head.diff": head, "reference.diff": head.replace("-two\n+too", "-too\n+three")},
        lines=(20, 20),
    )
    assert faults == []
    (warning,) = warnings
    assert warning.startswith("comments[0].lines [20, 20]")


def with_references(instance: Instance, tmp_path: Path, references: list[str]) -> list[str]:
    (first,) = instance.comments
    names = [f"c{number}.diff" for number in range(len(references))]
    for name, content in zip(names, references, strict=True):
        Path(instance.folder, name).write_text(content)
    comments = tuple(replace(first, id=name, reference=name) for name in names)
    instance = replace(instance, comments=comments)
    return list(consistency.faults(instance, fetcher_for(instance).fetch(instance, tmp_path / "cache")))


def test_references_of_other_files_go_together(instance: Instance, tmp_path: Path) -> None:
    references = [change("kept.log", "kept", "found"), change("pkg/run.sh", "echo", "true")]
    assert with_references(instance, tmp_path, references) == []


def test_references_that_overlap_are_a_fault_in_both_orders(instance: Instance, tmp_path: Path) -> None:
    references = [change("kept.log", "kept", "found"), change("kept.log", "kept", "lost")]
    found = with_references(instance, tmp_path, references)
    assert [fault.split(" (")[0] for fault in found] == [
        "c1.diff does not apply after c0.diff",
        "c0.diff does not apply after c1.diff",
    ]


def test_references_that_need_an_order_are_a_fault(instance: Instance, tmp_path: Path) -> None:
    """The second inserts before the first's line only by position, so the trees differ."""
    insert = "diff --git a/kept.log b/kept.log\n--- a/kept.log\n+++ b/kept.log\n@@ -1 +1,2 @@\n kept\n+{0}\n"
    found = with_references(instance, tmp_path, [insert.format("first"), insert.format("second")])
    assert found


def test_a_reference_that_two_comments_share_is_applied_once(instance: Instance, tmp_path: Path) -> None:
    (first,) = instance.comments
    instance = replace(instance, comments=(first, replace(first, id="c1")))
    assert list(consistency.faults(instance, fetcher_for(instance).fetch(instance, tmp_path / "cache"))) == []


def test_many_references_are_tried_in_pairs_and_all(instance: Instance, tmp_path: Path) -> None:
    project = tmp_path / "set" / "project"
    for number in range(8):
        (project / f"f{number}").write_text("a\n")
    references = [change(f"f{number}", "a", "b") for number in range(8)]
    assert with_references(instance, tmp_path, references) == []
