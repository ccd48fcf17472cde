"""The length limit holds for the slug that is returned, its number included."""

import re

import pytest

from slugify import unique_slugify


def slugs(text, count, **options):
    taken = []
    for _ in range(count):
        taken.append(unique_slugify(text, list(taken), **options))
    return taken


@pytest.mark.parametrize("limit", [6, 7, 10, 11])
def test_no_slug_is_longer_than_the_limit(limit):
    made = slugs("Hello World", 12, max_length=limit)
    assert [slug for slug in made if len(slug) > limit] == []
    assert len(set(made)) == len(made)


def test_the_slug_is_cut_and_the_number_is_not():
    first, second, third = slugs("Hello World", 3, max_length=10)
    assert first == "hello-worl"
    assert second.startswith("hello") and second.endswith("-2")
    assert third.startswith("hello") and third.endswith("-3")


def test_no_separator_is_doubled_where_the_slug_is_cut():
    made = slugs("Hello World", 12, max_length=8)
    assert [slug for slug in made if "--" in slug] == []
    made = slugs("Hello World", 12, max_length=8, separator="_")
    assert [slug for slug in made if "__" in slug] == []


def test_without_a_limit_nothing_is_cut():
    assert slugs("Hello World", 2) == ["hello-world", "hello-world-2"]
    assert slugs("Hello World", 2, max_length=40) == ["hello-world", "hello-world-2"]


@pytest.mark.parametrize("separator", ["-", "_", ".", "~"])
@pytest.mark.parametrize("limit", [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16])
@pytest.mark.parametrize("text", ["Hello World", "a b c d e f g h", "abcdefghijklmnop"])
def test_nothing_dangles_at_any_cut(separator, limit, text):
    made = slugs(text, 12, max_length=limit, separator=separator)
    assert [slug for slug in made if len(slug) > limit] == []
    assert len(set(made)) == 12
    word, between = r"[a-z]+", re.escape(separator)
    for number, slug in enumerate(made[1:], start=2):
        assert re.fullmatch(rf"{word}({between}{word})*{between}{number}", slug), slug


def test_three_digits():
    made = slugs("Hello World", 105, max_length=10)
    assert max(map(len, made)) <= 10 and len(set(made)) == 105
    assert made[-1].endswith("-105") and made[-1].startswith("hello")


def test_nothing_is_cut_that_fits():
    assert slugs("Hello World", 3, max_length=13) == ["hello-world", "hello-world-2", "hello-world-3"]
    assert all(slug.startswith("hello") for slug in slugs("Hello World", 11, max_length=11))


def test_the_limit_holds_with_other_options():
    for options in ({"word_boundary": True}, {"lowercase": False}, {"stopwords": ["world"]}, {"word_boundary": True, "save_order": True}):
        made = slugs("Hello World Again", 12, max_length=12, **options)
        assert max(map(len, made)) <= 12 and len(set(made)) == 12


@pytest.mark.parametrize("separator", ["--", "__", "-~"])
@pytest.mark.parametrize("limit", [6, 7, 8, 9, 10, 11, 12])
def test_half_a_separator_does_not_dangle_either(separator, limit):
    numbered = slugs("Hello World", 12, max_length=limit, separator=separator)[1:]
    assert [slug for slug in numbered if len(slug) > limit] == []
    between = re.escape(separator)
    for number, slug in enumerate(numbered, start=2):
        assert re.fullmatch(rf"[a-z]+({between}[a-z]+)?{between}{number}", slug), slug
