from logparse import parse_access_line, summarise
from logparse.cli import main

LINES = [f'::{n} - - [01/Mar/2024:12:00:00 +0000] "GET /{path} HTTP/1.1" {status} 10' for n, path, status in [(1, "a", 200), (2, "a", 200), (1, "a", 500), (1, "b", 200)]]
FACTS = ["4", "25", "::1", "::2", "/a", "/b"]


def lines_of(found):
    assert found is not None, "nothing is returned"
    lines = found.splitlines() if isinstance(found, str) else list(found)
    assert all(isinstance(line, str) for line in lines)
    return [line.strip() for line in lines if line.strip()]


def missing(lines):
    return [fact for fact in FACTS if not any(fact in line for line in lines)]


def test_what_it_returns_is_the_summary(capsys):
    records = [parse_access_line(line) for line in LINES]
    assert missing(lines_of(summarise(iter(records)))) == []
    assert missing(lines_of(summarise(records, 1))) == ["::2", "/b"]
    assert any("0" in line for line in lines_of(summarise([])))
    assert capsys.readouterr() == ("", "")


def test_the_command_line_prints_the_same(tmp_path, capsys):
    path = tmp_path / "access.log"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    assert main(["summary", str(path)]) == 0
    printed = lines_of(capsys.readouterr().out)
    assert missing(printed) == []
    assert [line for line in lines_of(summarise(map(parse_access_line, LINES))) if printed.count(line) != 1] == []


def test_other_commands_print_as_before(tmp_path, capsys):
    path = tmp_path / "access.log"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    assert main(["access", str(path)]) == 0
    assert capsys.readouterr().out.split() == ["3", "/a", "1", "/b"]
