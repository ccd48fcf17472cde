"""Moving a value to another key must not make it younger."""

import pytest

from itsdangerous import BadSignature
from itsdangerous import SignatureExpired
from itsdangerous.signer import Signer
from itsdangerous.timed import TimestampSigner


class Clock(TimestampSigner):
    now = 1_700_000_000

    def get_timestamp(self):
        return Clock.now


@pytest.fixture(autouse=True)
def start_of_time(monkeypatch):
    monkeypatch.setattr(Clock, "now", 1_700_000_000)


def rotated_after(seconds):
    signed = Clock("old").sign("text")
    Clock.now += seconds
    return Clock(["old", "new"]).rotate(signed)


def test_rotation_keeps_the_time_of_signing():
    rotated = rotated_after(3600)
    value, when = Clock("new").unsign(rotated, return_timestamp=True)
    assert value == b"text"
    assert int(when.timestamp()) == 1_700_000_000


def test_an_expired_value_stays_expired():
    rotated = rotated_after(3600)
    try:
        Clock("new").unsign(rotated, max_age=60)
    except SignatureExpired:
        return
    pytest.fail("rotation gave an expired value a new life")


def test_other_values_rotate_as_before():
    signed = Signer("old").sign("text")
    rotated = Signer(["old", "new"]).rotate(signed)
    assert Signer("new").unsign(rotated) == b"text"
    assert Signer(["old", "new"]).rotate(rotated) == rotated


@pytest.mark.parametrize("text", ["text", "a.b.c", "", "x" * 100])
@pytest.mark.parametrize("key", ["oldest", "old"])
@pytest.mark.parametrize("sep", [".", ":"])
def test_any_value_and_any_older_key(text, key, sep):
    signed = Clock(key, sep=sep).sign(text)
    Clock.now += 1000
    rotated = Clock(["oldest", "old", "new"], sep=sep).rotate(signed)
    value, when = Clock("new", sep=sep).unsign(rotated, return_timestamp=True)
    assert (value.decode(), int(when.timestamp())) == (text, 1_700_000_000)
    assert rotated.rpartition(sep.encode())[0] == signed.rpartition(sep.encode())[0]
    assert Clock(["oldest", "old", "new"], sep=sep).rotate(rotated) == rotated
    assert Clock("new", sep=sep).unsign(rotated, max_age=1000) == text.encode()


def test_what_cannot_be_trusted_is_refused():
    signed = Clock("foreign").sign("text")
    for signer in (Clock(["old", "new"]), Signer(["old", "new"])):
        for changed in (signed, b"text.forged", b"text"):
            with pytest.raises(BadSignature):
                signer.rotate(changed)


def test_plain_values_keep_all_their_parts():
    for text in ("a.b", "a.b.c", ""):
        rotated = Signer(["old", "new"]).rotate(Signer("old").sign(text))
        assert Signer("new").unsign(rotated).decode() == text
