import pytest

from router import BadSignature, Signer


@pytest.fixture
def aged():
    """Whether a value is still good after so many seconds; a max_age may also be refused outright."""

    def aged(seconds, **options):
        now = [1000.0]
        signer = Signer(b"key", clock=lambda: now[0], **options)
        signed = signer.sign("ada")
        now[0] += seconds
        try:
            return signer.unsign(signed) == "ada"
        except BadSignature:
            return False

    return aged


@pytest.mark.parametrize("max_age", [0, 0.0])
@pytest.mark.parametrize("seconds", [1, 60, 1_000_000])
def test_zero_is_not_forever(aged, max_age, seconds):
    try:
        good = aged(seconds, max_age=max_age)
    except ValueError:
        return
    assert not good


def test_without_max_age_it_is_forever(aged):
    assert aged(1_000_000)
    assert aged(1_000_000, max_age=None)


def test_in_between(aged):
    assert [aged(seconds, max_age=60) for seconds in (0, 60, 61)] == [True, True, False]
    assert [aged(seconds, max_age=1) for seconds in (0, 1, 2, 1_000_000)] == [True, True, False, False]
    assert [aged(seconds, max_age=0.5) for seconds in (0, 1)] == [True, False]
