import gzip

import pytest

from logparse import ParseError, count_by, error_rate, parse_access_line, read_records, top
from logparse.cli import main


def line(path="/", status=200):
    return f'::1 - - [01/Mar/2024:12:00:00 +0000] "GET {path} HTTP/1.1" {status} 10'


LINES = [line("/a"), line("/b", 500), "", "noise", line("/a")]


def test_skip_or_raise():
    assert len(list(read_records(LINES, parse_access_line))) == 3
    with pytest.raises(ParseError):
        list(read_records(LINES, parse_access_line, errors="raise"))


def test_gzip(tmp_path):
    path = tmp_path / "access.log.gz"
    path.write_bytes(gzip.compress("\n".join(LINES).encode()))
    assert [record.path for record in read_records(path, parse_access_line)] == ["/a", "/b", "/a"]


def test_stats():
    records = list(read_records(LINES, parse_access_line))
    assert count_by(records, lambda record: record.status) == {200: 2, 500: 1}
    assert top(records, lambda record: record.path) == [("/a", 2), ("/b", 1)]
    assert error_rate(records) == pytest.approx(1 / 3)
    assert error_rate([]) is None


def test_command_line(tmp_path, capsys):
    path = tmp_path / "access.log"
    path.write_text("\n".join(LINES), encoding="utf-8")
    assert main(["access", str(path)]) == 0
    assert [row.split() for row in capsys.readouterr().out.splitlines()] == [["2", "/a"], ["1", "/b"]]


def test_no_such_file(tmp_path, capsys):
    assert main(["app", str(tmp_path / "none.log")]) == 2
    assert capsys.readouterr().err.startswith("error: ")
