"""The places that real tools and models write, and what is counted where one cannot be read."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_crab.parsing.finding_places import FindingPlace, read_place, tree_path
from pytest_crab.types import Side

FILES = {"src/app.py", "odd:7"}
#: What a tool writes; the path, the first and the last line, and the side that it means.
PLACES: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "ours": ({"path": "src/app.py", "start": 59, "end": 61}, (59, 61)),
    "one line": ({"path": "src/app.py", "line": 59}, (59, None)),
    "file": ({"file": "src/app.py", "line": "59"}, (59, None)),
    "underscores": ({"file_path": "src/app.py", "start_line": 59, "end_line": 61}, (59, 61)),
    "humps": ({"filePath": "src/app.py", "startLine": 59, "endLine": 61}, (59, 61)),
    "hyphens": ({"file-name": "src/app.py", "line-number": 59}, (59, None)),
    "github's comment": ({"path": "src/app.py", "start_line": 59, "line": 61, "side": "RIGHT"}, (59, 61)),
    "github's comment on a line": ({"path": "src/app.py", "start_line": None, "line": 61, "side": "RIGHT"}, (61, None)),
    "github's old comment": ({"path": "src/app.py", "line": None, "original_line": 61}, (61, None)),
    "left": ({"path": "src/app.py", "line": 61, "side": "LEFT"}, (61, None, Side.LEFT)),
    "gitlab": ({"position": {"new_path": "src/app.py", "old_path": "src/app.py", "new_line": 59}}, (59, None)),
    "gitlab, removed": (
        {"position": {"new_path": "src/app.py", "new_line": None, "old_line": 9}}, (9, None, Side.LEFT)
    ),
    "gitlab's range": (
        {"position": {"new_path": "src/app.py", "line_range": {"start": {"new_line": 59}, "end": {"new_line": 61}}}},
        (59, 61),
    ),
    "lines": ({"file": "src/app.py", "lines": "59-61"}, (59, 61)),
    "lines with a dash": ({"file": "src/app.py", "lines": "59\u201361"}, (59, 61)),
    "lines in words": ({"file": "src/app.py", "lines": "lines 59 to 61"}, (59, 61)),
    "several lines": ({"file": "src/app.py", "lines": "59-61, 70"}, (59, 61)),
    "a list of lines": ({"file": "src/app.py", "lines": [61, 60, 59]}, (59, 61)),
    "a range": ({"file": "src/app.py", "line_range": {"start": 59, "end": 61}}, (59, 61)),
    "codex": (
        {"code_location": {"absolute_file_path": "/w/src/app.py", "line_range": {"start": 59, "end": 61}}}, (59, 61)
    ),
    "pr-agent": (
        {"relevant_file": "src/app.py", "relevant_lines_start": 59, "relevant_lines_end": 61}, (59, 61)
    ),
    "a location in words": ({"location": "src/app.py:59-61"}, (59, 61)),
    "a location": ({"location": {"file": "src/app.py", "start": {"line": 59, "column": 3}}}, (59, None)),
    "locations": ({"locations": [{"path": "src/app.py", "line": 59}, {"path": "b.py"}]}, (59, None)),
    "lines as location": ({"path": "src/app.py", "location": "L59-L61"}, (59, 61)),
    "an editor's range": (
        {"file": "src/app.py", "range": {"start": {"line": 58, "character": 0}, "end": {"line": 60, "character": 1}}},
        (59, 61),
    ),
    "path and line": ({"path": "src/app.py:59"}, (59, None)),
    "path, line and column": ({"path": "src/app.py:59:13"}, (59, None)),
    "path and lines": ({"file": "src/app.py:59-61"}, (59, 61)),
    "an address": ({"file": "src/app.py#L59-L61"}, (59, 61)),
    "path and words": ({"file": "`src/app.py` (line 59)"}, (59, None)),
    "a URI": ({"uri": "file:///w/src/app.py", "region": {"startLine": 59, "endLine": 61}}, (59, 61)),
    "no line": ({"path": "src/app.py", "line": 0, "lines": "n/a", "start": -1}, (None, None)),
    "whole floats": ({"path": "src/app.py", "start": 59.0, "end": "61.0"}, (59, 61)),
}  # fmt: skip


@pytest.mark.parametrize("kind", PLACES)
def test_the_places_that_tools_write_are_read(kind: str) -> None:
    item, (start, end, *side) = PLACES[kind]
    place = read_place({"body": "Wrong.", **item}, root="/w", files=FILES)
    assert place == FindingPlace(path="src/app.py", start=start, end=end, side=side[0] if side else Side.RIGHT)


def test_a_file_may_be_called_like_a_place() -> None:
    assert read_place({"path": "odd:7"}, files=FILES) == FindingPlace(path="odd:7")


@pytest.mark.parametrize(
    ("item", "kept", "said"),
    [
        ({"path": "a.py", "start": "here"}, ("a.py", None, None), "start ('here')"),
        ({"path": "a.py", "start": True}, ("a.py", None, None), "start ('True')"),
        ({"path": "a.py", "line": 59.5}, ("a.py", None, None), "line ('59.5')"),
        ({"path": "a.py", "start": 5, "end": 4}, ("a.py", 5, None), "end ('4')"),
        ({"path": "a.py", "end": 4}, ("a.py", None, None), "end ('4')"),
        ({"path": "a.py", "lines": {"from": {"a": 1}}}, ("a.py", None, None), "lines"),
        ({"path": "a.py", "line": 5, "side": "both"}, ("a.py", None, None), "side ('both')"),
        ({"path": "a.py", "location": "function f"}, ("a.py", None, None), "location"),
        ({"path": "a.py", "position": 12}, ("a.py", None, None), "position"),
        ({"path": "a.py", "firstLine": 3, "beginsOnLine": 3}, ("a.py", 3, None), None),
        ({"path": "a.py", "begins_on_line": 3}, ("a.py", None, None), "begins_on_line"),
        ({"path": "a.py", "hunk_range": "3,4"}, ("a.py", None, None), "hunk_range"),
        ({"path": "a.py", "where": {"line": 3}}, ("a.py", None, None), "where"),
        ({"start": 4}, (None, None, None), "a path should stand beside"),
        ({"source_file": "a.py", "line": 3}, (None, None, None), "source_file"),
        ({"path": ["a.py"]}, (None, None, None), "no path"),
        ({"path": "/etc/passwd"}, ("etc/passwd", None, None), None),
        ({"path": "a.py", "line_content": "x = 59", "line_count": 3, "column": 4}, ("a.py", None, None), None),
        ({"path": "a.py", "code": "lines[3:5]", "start_time": 17}, ("a.py", None, None), None),
        ({"url": "https://x/y.py", "profile": "a.b"}, (None, None, None), None),
    ],
)
def test_a_place_that_cannot_be_read_is_counted(item: dict[str, Any], kept: tuple[Any, ...], said: str | None) -> None:
    place = read_place({"body": "Wrong.", **item}, root="/w", files=FILES)
    assert (place.path, place.start, place.end) == kept
    assert bool(place.lost) == (said is not None)
    assert said is None or said in place.lost[0]


@pytest.mark.parametrize("text", ["a" + " " * 50_000 + "x", "a" + "./" * 50_000 + " x", "a, (" * 20_000 + "x"])
@pytest.mark.parametrize("key", ["path", "location", "line"])
def test_no_text_of_a_place_takes_long(key: str, text: str) -> None:
    began = time.process_time()
    read_place({"path": "src/app.py", key: text})
    assert time.process_time() - began < 2


@pytest.mark.parametrize("line", [10**9, 1e300, 10**20])
def test_no_file_has_so_many_lines(line: float) -> None:
    assert read_place({"path": "src/app.py", "line": line}, files=FILES).start is None


@pytest.mark.parametrize("path", ["../a.py", "src/../../a.py", "/w", "/w/../x", ".", "a\0b"])
def test_a_path_outside_the_tree_is_none(path: str) -> None:
    assert read_place({"path": path, "line": 4}, root="/w", files=FILES) == FindingPlace(outside=path)


@given(st.text(alphabet="/.ab\\", max_size=12))
def test_no_path_leaves_the_tree(path: str) -> None:
    for kept in (tree_path(path, "/tree"), read_place({"path": path}, root="/tree").path):
        assert kept is None or (not kept.startswith("/") and ".." not in kept.split("/") and tree_path(kept) == kept)


@given(
    st.dictionaries(
        st.sampled_from(["path", "line", "lines", "location", "start", "end", "side", "position", "range"]),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=9),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["start", "line", "end", "path", "character"]), inner, max_size=3)
            ),
        ),
    )
)
def test_no_place_is_too_odd(item: dict[str, Any]) -> None:
    place = read_place(item)
    assert place.start is None or (place.path is not None and place.start > 0)
    assert place.end is None or (place.start is not None and place.end >= place.start)
