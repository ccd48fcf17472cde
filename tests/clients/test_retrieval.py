from __future__ import annotations

from pathlib import Path

from hypothesis import given, strategies as st

from pytest_crab.clients.retrieval import LINES, FilePart, by_words, pieces_of, words_of


def test_pieces_cover_every_line_and_overlap(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("".join(f"line_{at}\n" for at in range(1, 101)))
    pieces = list(pieces_of(tmp_path))
    assert [(piece.start, piece.end) for piece in pieces] == [(1, 40), (31, 70), (61, 100)]
    assert pieces[1].text.splitlines()[0] == "line_31"


@given(lines=st.integers(1, 200))
def test_no_line_is_left_out(lines: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.txt").write_text("".join(f"x{at}\n" for at in range(lines)))
        shown = {number for piece in pieces_of(Path(folder)) for number in range(piece.start, piece.end + 1)}
        assert shown == set(range(1, lines + 1))
        assert all(piece.text.count("\n") < LINES for piece in pieces_of(Path(folder)))


def test_links_binaries_and_gits_own_files_are_left_out(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / ".git").mkdir(parents=True)
    (tree / ".git" / "config").write_text("secret = 1\n")
    (tree / "image.bin").write_bytes(b"\x89\0\0")
    (tree / "empty.py").write_text("\n")
    (tmp_path / "outside.txt").write_text("secret\n")
    (tree / "link.txt").symlink_to(tmp_path / "outside.txt")
    (tree / "folder").symlink_to(tmp_path)
    (tree / "good.py").write_text("value = 1\n")
    assert [piece.path for piece in pieces_of(tree)] == ["good.py"]


def test_names_are_taken_apart() -> None:
    assert words_of("HTTPServer.parse_request2(maxSize)") == ["http", "server", "parse", "request", "2", "max", "size"]


def test_what_shares_words_is_found_and_what_shares_none_is_not() -> None:
    pieces = [
        FilePart(path="a.py", start=1, text="def open_ledger(path):\n    return Ledger(path)"),
        FilePart(path="b.py", start=1, text="def draw(canvas):\n    canvas.clear()"),
    ]
    search = by_words(pieces)
    assert [piece.path for piece in search("ledger = openLedger(name)", 5)] == ["a.py"]
    assert list(search("nothing alike", 5)) == []
