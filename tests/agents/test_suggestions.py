from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from fake_checkout import FakeCheckout
from pytest_crab.agents.suggestions import Suggestion, SuggestionsAgent, apply_suggestions, blocks
from pytest_crab.types import Finding, Revision, Side
from pytest_crab.types.reviews import SuggestionCounts


def suggest(
    text: str, start: int | None, end: int | None = None, path: str | None = "a.txt", side: Side = Side.RIGHT
) -> Finding:
    return Finding(path=path, start=start, end=end, side=side, body=f"Rather:\n```suggestion\n{text}```\nDone.")


def read(body: str) -> list[tuple[str, ...]]:
    return [block.lines for block in blocks(body, "f", [])]


def apply(content: bytes, *findings: Finding) -> tuple[bytes, list[str]]:
    notes: list[str] = []
    wanted = [
        Suggestion(number, "a.txt", finding.start or 0, finding.end or finding.start or 0, block.lines)
        for number, finding in enumerate(findings, 1)
        for block in blocks(finding.body, "f", notes)
    ]
    return apply_suggestions(content, wanted, notes).content, notes


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("No block.", []),
        ("```suggestion\nx\n```", [("x",)]),
        ("```suggestion\r\n  x\r\n\r\n```\r\n", [("  x", "")]),
        ("```suggestion\n```", [()]),
        ("~~~ suggestion \nx\n~~~", [("x",)]),
        ("````suggestion\n```python\nx\n```\n````", [("```python", "x", "```")]),
        ("  ```suggestion\n  x\n    y\n z\n  ```", [("x", "  y", "z")]),
        ("```python\nx\n```\n```suggestion\ny\n```\n```suggestion\nz\n```", [("y",), ("z",)]),
        ("````markdown\n```suggestion\nx\n```\n````", []),
        ("```suggestions\nx\n```", []),
        ("    ```suggestion\n    x\n    ```", []),
        ("say ```suggestion inline```", []),
    ],
)
def test_blocks_are_read_as_markdown(body: str, expected: list[tuple[str, ...]]) -> None:
    assert read(body) == expected


def test_a_block_without_an_end_is_noted() -> None:
    notes: list[str] = []
    assert list(blocks("```suggestion\nx\n", "finding 1", notes)) == []
    assert notes == ["finding 1: its suggestion has no end"]


@pytest.mark.parametrize(
    ("content", "finding", "expected"),
    [
        (b"1\n2\n3\n", suggest("two\n", 2), b"1\ntwo\n3\n"),
        (b"1\n2\n3\n", suggest("a\nb\nc\n", 1, 2), b"a\nb\nc\n3\n"),
        (b"1\n2\n3\n", suggest("", 1, 2), b"3\n"),
        (b"1\r\n2\r\n3\r\n", suggest("a\nb\n", 2), b"1\r\na\r\nb\r\n3\r\n"),
        (b"1\n2", suggest("a\nb\n", 2), b"1\na\nb"),
        (b"1\r\n2", suggest("a\nb\n", 2), b"1\r\na\r\nb"),
        (b"1", suggest("a\nb\n", 1), b"a\nb"),
        (b"\xff\n2\n", suggest("\xe9\n", 2), b"\xff\n\xc3\xa9\n"),
        (b"1\x0c\n2\x85\n3\n", suggest("c\n", 3), b"1\x0c\n2\x85\nc\n"),
    ],
)
def test_exactly_the_lines_are_replaced(content: bytes, finding: Finding, expected: bytes) -> None:
    assert apply(content, finding) == (expected, [])


def test_several_are_applied_where_they_were_meant() -> None:
    result, notes = apply(b"1\n2\n3\n4\n", suggest("a\nb\n", 1), suggest("", 3), suggest("d\n", 4))
    assert result == b"a\nb\n2\nd\n"
    assert notes == []


def test_of_two_that_overlap_the_first_wins() -> None:
    result, notes = apply(b"1\n2\n3\n", suggest("x\n", 2, 3), suggest("y\n", 1, 2), suggest("z\n", 1))
    assert result == b"z\nx\n"
    (note,) = notes
    assert note.startswith("finding 2: ")
    assert "overlaps that of finding 1" in note


@pytest.mark.parametrize(
    ("mark", "start", "end", "expected"),
    [
        ("suggestion:-0+0", 2, None, b"1\nx\n3\n4\n5\n"),
        ("suggestion:-0+1", 2, None, b"1\nx\n4\n5\n"),
        ("suggestion:-1+1", 3, None, b"1\nx\n5\n"),
        ("suggestion:-0+1", 2, 3, b"1\nx\n4\n5\n"),
        ("suggestion:-1+0", 2, 3, b"1\nx\n4\n5\n"),
        ("suggestion:-2+1", 2, 3, b"x\n5\n"),
        ("suggestion:-9+0", 2, None, b"x\n3\n4\n5\n"),
        ("suggestion", 2, 4, b"1\nx\n5\n"),
    ],
)
def test_the_mark_of_gitlab_says_which_lines_are_replaced(
    mark: str, start: int, end: int | None, expected: bytes, tmp_path: Path
) -> None:
    checkout = FakeCheckout(tmp_path / "x", head={"a.txt": b"1\n2\n3\n4\n5\n"})
    finding = Finding(path="a.txt", start=start, end=end, body=f"```{mark}\nx\n```")
    revision = revise(checkout, finding)
    assert revision.suggestions == SuggestionCounts(given=1, applied=1)
    with checkout.clone() as workspace:
        workspace.apply(revision.diff)
        assert (Path(workspace.root) / "a.txt").read_bytes() == expected


CODE = b"def f():\n    return 1\n\n\ndef g():\n    return 2\n"


def test_one_that_does_not_parse_loses_itself_and_not_the_others(tmp_path: Path) -> None:
    checkout = FakeCheckout(tmp_path / "x", head={"a.py": CODE, "b.py": b"print 1\n", "c.txt": b"x\n"})
    revision = revise(
        checkout,
        suggest("    return (3\n", 2, path="a.py"),
        suggest("    return 4\n", 6, path="a.py"),
        suggest("print 2\n", 1, path="b.py"),
        suggest("def (\n", 1, path="c.txt"),
        suggest("y\n", 9, path="c.txt"),
        Finding(path="a.py", start=1, body="```suggestion:here\nx\n```"),
    )
    assert revision.suggestions == SuggestionCounts(given=6, applied=3, unparsed=1, unread=1)
    assert revision.notes is not None
    assert "finding 1: with its suggestion a.py does not parse" in revision.notes
    assert "'suggestion:here'" in revision.notes
    with checkout.clone() as workspace:
        workspace.apply(revision.diff)
        kept = {name: (Path(workspace.root) / name).read_bytes() for name in ("a.py", "b.py", "c.txt")}
    assert kept == {"a.py": CODE.replace(b"2", b"4"), "b.py": b"print 2\n", "c.txt": b"def (\n"}


def test_two_that_parse_only_together_are_both_applied(tmp_path: Path) -> None:
    checkout = FakeCheckout(tmp_path / "x", head={"a.py": b"x = 1\ny = 2\n"})
    revision = revise(checkout, suggest("x = [\n", 1, path="a.py"), suggest("]\n", 2, path="a.py"))
    assert revision.suggestions == SuggestionCounts(given=2, applied=2)


def revise(checkout: FakeCheckout, *findings: Finding) -> Revision:
    return SuggestionsAgent().revise(checkout.pull_request(), findings, checkout)


def test_the_revision_is_a_diff_from_the_head(tmp_path: Path) -> None:
    checkout = FakeCheckout(tmp_path / "x", head={"a.txt": b"1\r\n2", "b.txt": b"1\n"})
    revision = revise(checkout, suggest("two\n", 2), suggest("one\n", 1, path="b.txt"), Finding(body="Nice."))
    assert revision.notes is None
    with checkout.clone() as workspace:
        workspace.apply(revision.diff)
        assert (Path(workspace.root) / "a.txt").read_bytes() == b"1\r\ntwo"
        assert (Path(workspace.root) / "b.txt").read_bytes() == b"one\n"


@pytest.mark.parametrize(
    ("finding", "said"),
    [
        (suggest("x\n", 1, path="../a.txt"), "../a.txt is not in the tree"),
        (suggest("x\n", 1, path="/etc/passwd"), "/etc/passwd is not in the tree"),
        (suggest("x\n", 1, path=".git/config"), ".git/config is not in the tree"),
        (suggest("x\n", 1, path="link/b.txt"), "leads over a symbolic link"),
        (suggest("x\n", 1, path="a.link"), "leads over a symbolic link"),
        (suggest("x\n", 1, path="gone.txt"), "there is no file gone.txt at the head"),
        (suggest("x\n", 1, path="src"), "there is no file src at the head"),
        (suggest("x\n", 1, path="a\0b"), "at the head"),
        (suggest("x\n", 1, path="x" * 5000), "at the head"),
        (suggest("x\n", 3), "a.txt has 2 lines, and the suggestion is on 3 to 3"),
        (suggest("x\n", 2, 3), "a.txt has 2 lines, and the suggestion is on 2 to 3"),
        (suggest("x\n", 1, side=Side.LEFT), "on the left side"),
        (suggest("x\n", None), "needs a path and lines"),
    ],
)
def test_what_cannot_be_applied_is_noted(finding: Finding, said: str, tmp_path: Path) -> None:
    checkout = FakeCheckout(tmp_path / "x", head={"a.txt": b"1\n2\n", "src/b.txt": b"1\n"})
    origin = tmp_path / "x" / "origin"
    (origin / "link").symlink_to("src")
    (origin / "a.link").symlink_to("a.txt")
    checkout.commit()
    revision = revise(checkout, finding)
    assert revision.diff == ""
    assert revision.notes is not None
    assert said in revision.notes


def test_findings_without_a_block_open_no_checkout(tmp_path: Path) -> None:
    checkout = FakeCheckout(tmp_path / "x", head={"a.txt": b"1\n"})
    assert revise(checkout, Finding(path="a.txt", start=1, body="Use `two`.")).diff == ""
    assert checkout.openings == []


def test_each_suggestion_is_a_commit_for_its_finding(tmp_path: Path) -> None:
    checkout = FakeCheckout(tmp_path / "x", head={"a.txt": b"1\n2\n3\n4\n5\n", "b.txt": b"1"})
    found = [
        suggest("two\nmore\n", 2),
        suggest("x\n", 9),
        suggest("four\n", 4),
        suggest("one\n", 1, path="b.txt"),
    ]
    revision = revise(checkout, *found)
    assert [commit.findings for commit in revision.commits] == [(1,), (3,), (4,)]
    made = tmp_path / "made"
    made.mkdir()
    (made / "a.txt").write_bytes(b"1\n2\n3\n4\n5\n")
    (made / "b.txt").write_bytes(b"1")
    for commit in revision.commits:
        subprocess.run(["git", "apply", "-"], input=commit.diff.encode(), cwd=made, check=True)
    assert (made / "a.txt").read_bytes() == b"1\ntwo\nmore\n3\nfour\n5\n"
    assert (made / "b.txt").read_bytes() == b"one"


line = st.text(st.characters(codec="utf-8", exclude_characters="\r\n`~"), max_size=6)


@given(
    st.lists(line, min_size=1, max_size=8),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
    st.lists(st.tuples(st.integers(1, 8), st.integers(0, 3), st.lists(line, max_size=3)), max_size=4),
)
def test_lines_beside_suggestions_stay_as_they_are(
    old: list[str],
    final: bool,  # noqa: FBT001
    ending: str,
    wanted: list[tuple[int, int, list[str]]],
) -> None:
    """The result is that of a model that works on a list with one slot per old line."""
    final = final or not old[-1]
    ending = ending if final or len(old) > 1 else "\n"
    content = ending.join(old) + (ending if final else "")
    count = len(old)
    slots: list[list[str]] = [[text] for text in old]
    taken: set[int] = set()
    for start, more, new in wanted:
        span = set(range(start, start + more + 1))
        if start + more <= count and not span & taken:
            taken |= span
            for number in span:
                slots[number - 1] = []
            slots[start - 1] = list(new)
    suggestions = [Suggestion(1, "a", start, start + more, tuple(new)) for start, more, new in wanted]
    result = apply_suggestions(content.encode(), suggestions, []).content.decode()
    expected = [text for slot in slots for text in slot]
    whole = "".join(text + ending for text in expected)
    assert result == whole or (not final and result == whole.removesuffix(ending))
    if not taken:
        assert result == content


def test_a_hostile_body_is_read_in_no_time() -> None:
    """A search that tries every run of spaces anew would take minutes here."""
    assert read("```" + "a" + " " * 60_000 + "b" + " " * 60_000 + "c") == []
