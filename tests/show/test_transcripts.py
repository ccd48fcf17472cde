"""Transcripts for people: laid out, bounded copies in a report, and on its page."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.errors import BadInput
from pytest_crab.results.files import write_trials
from pytest_crab.show import page
from pytest_crab.show.page.rows import TEXT
from pytest_crab.show.transcripts import (
    FOLDER,
    LONGEST,
    copy_transcripts,
    read_transcript,
    readable,
    write_transcripts,
)
from pytest_crab.show.write_report import remake
from pytest_crab.store import FileStore
from pytest_crab.types import Reason, Trial

KEYS = [f"{number:064x}" for number in range(20)]
HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[2J\u202e::error::x"


def keep(folder: Path, *texts: str) -> FileStore:
    store = FileStore(folder / "store")
    for key, text in zip(KEYS, texts, strict=False):
        store.put("transcript", key, {"trial": "a::x[1]", "step": "review", "name": "single-shot", "text": text})
    return store


def details(report: Path) -> list[dict[str, Any]]:
    """What the page unpacks of each trial."""
    text = (report / "index.html").read_text()
    packed = re.findall(r'<script type="application/json" id="d\d+">"([^"]*)"</script>', text)
    return [one for each in packed for one in json.loads(gzip.decompress(base64.b64decode(each)))]


def test_json_is_laid_out_and_texts_keep_their_lines() -> None:
    said = [{"asked": "Look\nhere", "status": 200, "told": {"text": "[]", "usage": None, "stop": ""}}]
    assert list(readable(json.dumps(said))) == [
        "- 1",
        "  asked:",
        "    Look",
        "    here",
        "  status: 200",
        "  told:",
        "    text: []",
        "    usage: null",
    ]
    assert list(readable("no JSON\n{at all")) == ["no JSON", "{at all"]


@pytest.mark.parametrize("odd", ["[" * 5000, "[" * 900 + "]" * 900, "\ud800", "NaN"])
def test_no_text_is_too_odd(odd: str) -> None:
    assert list(readable(odd))


def test_a_copy_is_bounded_and_keeps_start_and_end(tmp_path: Path) -> None:
    store = keep(tmp_path, "start" + "x" * 1_000_000 + "end", "short")
    write_transcripts(tmp_path / "report", store, KEYS[:3])
    long, short, none = (read_transcript(tmp_path / "report", key) for key in KEYS[:3])
    assert long is not None
    assert long.text.startswith("startxxx")
    assert long.text.endswith("xxxend")
    assert "980,008 characters left out" in long.text
    assert len(long.text) < LONGEST + 100
    assert short is not None
    assert (short.step, short.name, short.text) == ("review", "single-shot", "short")
    assert none is None
    (tmp_path / "report" / FOLDER / f"{KEYS[1]}.json").write_text("{}")
    with pytest.raises(BadInput, match="step, name, text are missing"):
        read_transcript(tmp_path / "report", KEYS[1])
    assert read_transcript(tmp_path / "report", "../../secret") is None


def test_the_page_has_them_bounded_and_as_text(
    tmp_path: Path, make_trial: Callable[..., Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = keep(tmp_path, HOSTILE, "y" * 100_000, *(["z" * 30_000] * 18))
    trials = [
        make_trial("x", "a", Reason.REVIEWER_ERROR, transcripts=tuple(KEYS[:2])),
        make_trial("x", "b", Reason.REVIEWER_ERROR, transcripts=tuple(KEYS)),
        make_trial("x", "c", Reason.FAILED),
    ]
    report = tmp_path / "report"
    write_trials(report / "trials.jsonl", trials)
    write_transcripts(report, store, KEYS)
    remake(report, errors_as_misses=False)
    first, second, third = details(report)
    assert [one["head"] for one in first["transcripts"]] == ["review, single-shot"] * 2
    assert first["transcripts"][0]["text"] == "</script><img src=x onerror=alert(1)>\\x1b[2J\\u202e::error::x"
    assert "<img" not in (report / "index.html").read_text()
    assert len(first["transcripts"][1]["text"]) < TEXT + 100
    assert (len(second["transcripts"]), second["unheard"]) == (page.TRANSCRIPTS, 20 - page.TRANSCRIPTS)
    assert (third["transcripts"], third["unheard"]) == ([], 0)

    monkeypatch.setattr(page, "ROOM", 10_000)
    remake(report, errors_as_misses=False)
    assert [(len(one["transcripts"]), one["unheard"]) for one in details(report)] == [(2, 0), (0, 20), (0, 0)]


def test_copies_that_no_trial_names_any_more_go(tmp_path: Path, make_trial: Callable[..., Trial]) -> None:
    report = tmp_path / "report"
    write_transcripts(report, keep(tmp_path, "old", "new"), KEYS)
    (report / FOLDER / "notes.json").write_text("mine")
    write_trials(report / "trials.jsonl", [make_trial("x", "a", Reason.FAILED, transcripts=(KEYS[1],))])
    remake(report, errors_as_misses=False)
    assert {path.name for path in (report / FOLDER).iterdir()} == {f"{KEYS[1]}.json", "notes.json"}


def test_copies_are_of_the_reports_own_files(tmp_path: Path) -> None:
    report, other, into = (tmp_path / name for name in ("report", "other", "into"))
    write_transcripts(report, keep(tmp_path, "said"), KEYS)
    (report / FOLDER / f"{KEYS[5]}.json").symlink_to(tmp_path / "store")
    other.mkdir()
    (other / FOLDER).symlink_to(report / FOLDER)
    for each in (report, other, tmp_path / "none"):
        copy_transcripts(each, into)
    assert [path.name for path in into.rglob("*") if path.is_file()] == [f"{KEYS[0]}.json"]
