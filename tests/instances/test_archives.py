from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.instances import archives


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    instance_id: str
    count: int = 0
    results: tuple[Entry, ...] = ()


def read(place: Path) -> list[Record]:
    return [record for _, record in archives.results(place, Record)]


def problems(place: Path) -> list[str]:
    with pytest.raises(BadInput) as caught:
        read(place)
    assert caught.value.where == str(place)
    return list(caught.value.problems)


def zipped(path: Path, *members: tuple[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def test_a_zip_and_its_content_read_alike(tmp_path: Path) -> None:
    data = {"instance_id": "b", "count": 2, "other": {"deep": 1}, "results": [{"word": "w", "more": None}]}
    place = zipped(
        tmp_path / "x.zip",
        ("x/b/result.json", json.dumps(data)),
        ("x/a/result.json", '{"instance_id": "a", "count": null}'),
        ("x/summary.json", "no json"),
        ("__MACOSX/x/a/result.json", "rubbish"),
    )
    expected = [Record(instance_id="a"), Record(instance_id="b", count=2, results=(Entry(word="w"),))]
    assert read(place) == expected
    with zipfile.ZipFile(place) as archive:
        archive.extractall(tmp_path, [name for name in archive.namelist() if name.startswith("x/")])
    assert read(tmp_path / "x") == expected


def test_every_bad_member_is_one_sentence_and_the_good_ones_are_read_first(tmp_path: Path) -> None:
    place = zipped(
        tmp_path / "x.zip",
        ("x/a/result.json", "{"),
        ("x/b/result.json", '{"instance_id": "b", "count": "many", "results": 3}'),
        ("x/c/result.json", '{"instance_id": "d"}'),
        ("x/e/result.json", '{"instance_id": "e", "results": [{"word": "\\ud800"}]}'),
        ("x/f/result.json", '{"instance_id": "f"}'),
        ("y/F/result.json", '{"instance_id": "F"}'),
        ("x/g/result.json", "[]"),
        ("z/result.json", '{"instance_id": ""}'),
    )
    found = problems(place)
    assert [line.split(":")[0].split("/")[-2] for line in found] == ["a", "b", "c", "e", "g", "F", "z"]
    assert found[0].startswith("x/a/result.json: it is no JSON (")
    assert found[1].startswith("x/b/result.json: count is 'many'; it should be a whole number (and 1 more)")
    assert "instance_id should be" in found[2]
    assert "surrogate" in found[3]
    assert found[4].startswith("x/g/result.json: the whole is a list")
    assert "twice, also as x/f/result.json" in found[5]


def test_a_text_that_git_could_not_decode_is_kept(tmp_path: Path) -> None:
    place = zipped(tmp_path / "x.zip", ("a/result.json", '{"instance_id": "a", "results": [{"word": "\\udcff"}]}'))
    (record,) = read(place)
    assert record.results[0].word.encode("utf-8", "surrogateescape") == b"\xff"


def test_a_file_that_is_no_zip_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04 rubbish")
    assert problems(tmp_path / "x.zip")[0].startswith("it cannot be opened as a zip (")


def test_a_truncated_zip_is_named(tmp_path: Path) -> None:
    place = zipped(tmp_path / "x.zip", ("a/result.json", '{"instance_id": "a"}'))
    place.write_bytes(place.read_bytes()[:-10])
    assert "is it damaged?" in problems(place)[0]


def test_a_damaged_member_is_named(tmp_path: Path) -> None:
    place = zipped(tmp_path / "x.zip", ("a/result.json", '{"instance_id": "a"}' + " " * 5000))
    content = bytearray(place.read_bytes())
    content[50] ^= 0xFF
    place.write_bytes(bytes(content))
    (sentence,) = problems(place)
    assert sentence.startswith("a/result.json: it cannot be unpacked (")


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 2 << 20)
    place = zipped(tmp_path / "x.zip", ("a/result.json", '"' + "a" * (3 << 20) + '"'))
    assert place.stat().st_size < 10_000
    (problem,) = problems(place)
    assert "more than 2 MiB" in problem


def test_many_bombs_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_TOTAL", 1 << 20)
    content = " " * (600 << 10) + '{"instance_id": "%s"}'
    place = zipped(tmp_path / "x.zip", *((f"{name}/result.json", content % name) for name in "abc"))
    (problem,) = problems(place)
    assert "more than 1 MiB" in problem


def test_too_many_files_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_FILES", 2)
    place = zipped(tmp_path / "x.zip", *((f"{name}.txt", "") for name in "abc"))
    (problem,) = problems(place)
    assert ("3 files" in problem, "2 are read" in problem) == (True, True)
