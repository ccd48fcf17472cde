"""Uncountable words are known in whatever case they are added and looked up."""

import pytest

import inflection


@pytest.fixture(autouse=True)
def rules_as_before():
    kept = [(rules, list(rules)) for rules in (inflection.PLURALS, inflection.SINGULARS)]
    words = set(inflection.UNCOUNTABLES)
    yield
    for rules, before in kept:
        rules[:] = before
    inflection.UNCOUNTABLES.clear()
    inflection.UNCOUNTABLES.update(words)


@pytest.mark.parametrize("added", ["GPU", "Gpu", "gpu"])
@pytest.mark.parametrize("asked", ["GPU", "Gpu", "gpu"])
def test_case_does_not_matter(added, asked):
    inflection.add_uncountable(added)
    assert inflection.pluralize(asked) == asked
    assert inflection.singularize(asked) == asked


def test_every_word_counts():
    inflection.add_uncountable("Bus", "FEEDBACK", "news")
    for word in ("bus", "Bus", "feedback", "FEEDBACK", "news"):
        assert inflection.pluralize(word) == word
        assert inflection.singularize(word) == word


@pytest.mark.parametrize("added", ["iOS", "McDonalds", "CI feedback", "DEVOPS"])
def test_whatever_is_written_small_or_large(added):
    inflection.add_uncountable(added)
    for asked in (added, added.lower(), added.upper(), added.title(), added.swapcase()):
        assert inflection.pluralize(asked) == asked
        assert inflection.singularize(asked) == asked


def test_the_librarys_own_words_are_known_in_any_case():
    for word in ("Sheep", "SHEEP", "FISH", "Money"):
        assert inflection.pluralize(word) == word
        assert inflection.singularize(word) == word


def test_other_words_are_counted():
    inflection.add_uncountable("GPU")
    assert inflection.pluralize("CPU") == "CPUs"
    assert inflection.pluralize("Sheep") == "Sheep"
    assert inflection.singularize("posts") == "post"
