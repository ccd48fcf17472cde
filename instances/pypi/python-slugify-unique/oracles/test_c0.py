"""The length limit holds for the slug that is returned, its number included."""

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
