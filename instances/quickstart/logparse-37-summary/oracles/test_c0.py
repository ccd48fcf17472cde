import inspect
import warnings

import pytest

from logparse import top
from logparse.cli import main

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


def test_none_is_not_the_default():
    try:
        assert call(WORDS, key=str, n=0) == []
    except ValueError:
        pass  # a number that makes no sense may be refused


def test_no_other_name_does():
    with pytest.raises(TypeError):
        top(WORDS, key=str, count=2)


def test_so_does_the_third_position():
    assert call(WORDS, str, 2) == [("a", 3), ("b", 2)]


def test_the_default_is_still_ten():
    assert len(call(WORDS, str)) == 10


def test_the_new_name_works_if_it_is_there():
    if "limit" not in inspect.signature(top).parameters:
        return
    assert [len(call(WORDS, key=str, limit=limit)) for limit in (1, 2, 15)] == [1, 2, 15]


@pytest.mark.parametrize("n", [3, 10, 12, 100])
def test_any_number_and_any_iterable(n):
    assert call(iter(WORDS), key=str, n=n) == call(WORDS, str, n)
    assert len(call(iter(WORDS), key=str, n=n)) == min(n, 22)


def test_its_callers_still_work(tmp_path, capsys):
    path = tmp_path / "access.log"
    path.write_text("".join(f'::{n % 7} - - [01/Mar/2024:12:00:00 +0000] "GET /{n} HTTP/1.1" 200 10\n' for n in range(12)), encoding="utf-8")
    assert main(["access", str(path)]) == 0
    assert "/0" in capsys.readouterr().out
    shown = []
    for options in (["--limit", "1"], ["--limit", "2"], []):
        assert main(["summary", str(path), *options]) == 0
        shown.append(len(capsys.readouterr().out.splitlines()))
    assert shown[0] < shown[1] < shown[2]
