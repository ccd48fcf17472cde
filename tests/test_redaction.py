"""Secrets are found however JSON may write them, and taken out of whole records."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, strategies as st

from pytest_crab.redaction import Redactor
from pytest_crab.types import Finding, Review, Usage

KEY = 'sk-live/ab+"cd\\ef-ü€😀-0123'
REDACTOR = Redactor({KEY: "[KEY]", "plain-secret-0123": "[PLAIN]", "short": "[SHORT]"})


def escaped(text: str) -> str:
    """The text with every character as JSON's longest escape."""
    units = text.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


@pytest.mark.parametrize(
    "spelled",
    [
        KEY,
        json.dumps(KEY)[1:-1],
        json.dumps(KEY, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(KEY))[3:-3],
        json.dumps(KEY)[1:-1].replace("/", "\\/"),
        escaped(KEY),
        escaped(KEY).upper().replace("\\U", "\\u"),
        json.dumps(escaped(KEY))[1:-1],
    ],
)
def test_a_secret_is_found_as_json_may_write_it(spelled: str) -> None:
    assert REDACTOR.text(f"it is {spelled} here") == "it is [KEY] here"
    assert REDACTOR.body(f"é {spelled}".encode() + b"\xff") == "é [KEY]".encode() + b"\xff"
    assert REDACTOR.find(f"it is {spelled}".encode()) == "[KEY]"


@given(st.text(), st.sets(st.integers(0, 16)))
def test_any_of_its_characters_may_be_escaped(around: str, places: set[int]) -> None:
    secret = "plain-secret-0123"
    spelled = "".join(escaped(letter) if at in places else letter for at, letter in enumerate(secret))
    assert REDACTOR.text(f"{around} {spelled} {around}") == REDACTOR.text(f"{around} ") + "[PLAIN]" + REDACTOR.text(
        f" {around}"
    )


def test_other_text_stays_and_short_secrets_are_none() -> None:
    text = "plain-secret-012, short, \\u0070lain \\\\ and \\/"
    assert REDACTOR.text(text) == text
    assert REDACTOR.find(text) is None


def test_a_text_full_of_backslashes_takes_no_time() -> None:
    start = time.process_time()
    assert REDACTOR.find("\\" * 200_000 + "\\u0070") is None
    assert time.process_time() - start < 10  # seconds; without a limit it takes minutes


def test_a_whole_record_is_looked_through() -> None:
    key = "plain-secret-0123"
    finding = Finding(path=f"{key}.py", start=2, body=key, title=key, severity=key, rule=key)
    review = Review(findings=(finding,), usage=Usage(models=(key,), asked=(key,)), version=key, set_aside=(key,))
    redacted = REDACTOR.record(review)
    assert key not in repr(redacted)
    assert redacted.findings[0].path == "[PLAIN].py"
    assert redacted.usage == Usage(models=("[PLAIN]",))
    clean = Review(findings=(Finding(body="b"),))
    assert REDACTOR.record(clean) is clean


def test_what_is_json_stays_json_where_a_secret_looks_like_a_number() -> None:
    number = Redactor({"123456": "[PIN]"})
    assert json.loads(number.document('{"tokens": 1234567, "body": "it is 123456"}')) == {
        "tokens": 1234567,
        "body": "it is [PIN]",
    }
    assert number.document("no JSON: 123456") == "no JSON: [PIN]"
