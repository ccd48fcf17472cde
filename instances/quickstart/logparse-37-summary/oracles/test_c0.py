import warnings

import pytest

from logparse import top

WORDS = ["a"] * 3 + ["b"] * 2 + [f"w{number}" for number in range(20)]


def call(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return top(*args, **kwargs)
        except TypeError as error:
            pytest.fail(str(error))


@pytest.mark.parametrize("n", [1, 2, 15])
def test_the_old_name_works(n):
    assert len(call(WORDS, key=str, n=n)) == n
    assert len(call(WORDS, str, n=n)) == n
    assert call(WORDS, str, n=1) == [("a", 3)]


def test_none_is_a_number_too():
    assert call(WORDS, key=str, n=0) == []


def test_no_other_name_does():
    with pytest.raises(TypeError):
        top(WORDS, key=str, count=2)


def test_so_does_the_third_position():
    assert call(WORDS, str, 2) == [("a", 3), ("b", 2)]


def test_the_default_is_still_ten():
    assert len(call(WORDS, str)) == 10
