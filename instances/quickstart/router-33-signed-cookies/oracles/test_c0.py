import hmac
import secrets
import sys

import pytest

from router import BadSignature, Signer


@pytest.fixture(params=[True, False])
def answer(request, monkeypatch):
    """What ``compare_digest`` says, whoever it is asked by and under whatever name."""
    true = hmac.compare_digest
    ours = [module for name, module in sys.modules.items() if name.split(".")[0] == "router"]
    for module in (hmac, secrets, *ours):
        for name in [name for name, value in vars(module).items() if value is true]:
            monkeypatch.setattr(module, name, lambda one, other: request.param)
    return request.param


def test_compare_digest_decides_and_nothing_else(answer):
    """Whatever else looks at a signature would tell how much of it is right."""
    signed = [Signer(key).sign("ada") for key in (b"key", b"other", b"another", b"a fourth")]
    for text in signed:
        if answer:
            assert Signer(b"key").unsign(text) == "ada"
        else:
            with pytest.raises(BadSignature):
                Signer(b"key").unsign(text)


def test_what_was_signed_is_accepted():
    signer = Signer(b"key")
    assert [signer.unsign(signer.sign(value)) for value in ("", "ada", "zoë")] == ["", "ada", "zoë"]


@pytest.mark.parametrize("change", [lambda s: s[:-1], lambda s: s + "0", lambda s: s[:-1] + "é", lambda s: s + "é", lambda s: s[:-3] + "é" + s[-3:], lambda s: s + "é" * 40, lambda s: "x" + s, lambda s: "é.é", lambda s: "", lambda s: s.upper(), lambda s: s + " ", lambda s: s[:-1] + "\u0660", lambda s: s.rpartition(".")[0] + ".", lambda s: s.rpartition(".")[2], lambda s: s[:-1] + ("0" if s[-1] != "0" else "1"), lambda s: s[:-40] + ("0" if s[-40] != "0" else "1") + s[-39:]])
def test_what_was_not_is_refused(change):
    signer = Signer(b"key")
    signed = change(signer.sign("ada"))
    try:
        signer.unsign(signed)
    except BadSignature:
        return
    except TypeError as error:
        pytest.fail(f"not refused but broken: {error}")
    pytest.fail("accepted")


def test_another_key_is_refused():
    with pytest.raises(BadSignature):
        Signer(b"key").unsign(Signer(b"other").sign("ada"))
