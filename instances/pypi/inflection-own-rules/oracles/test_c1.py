"""Uncountable words are words and no patterns."""

import re

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


def singular(word):
    try:
        return inflection.singularize(word)
    except re.error as error:
        pytest.fail(f"singularize({word!r}): {error}")


@pytest.mark.parametrize("added", ["c++", "(sic", "a[", "*nix", "what?", "x\\\\", "a)", "a{2", "[z-a]", "+", "(?P<", "\\\\d[", "a**"])
def test_no_word_breaks_the_others(added):
    inflection.add_uncountable(added)
    assert singular("posts") == "post"
    assert singular("sheep") == "sheep"


def test_special_characters_stand_for_themselves():
    inflection.add_uncountable("n.ds", "data|posts", "ga*s")
    assert singular("nods") == "nod"
    assert singular("posts") == "post"
    assert singular("gaas") == "gaa"
    inflection.add_uncountable("p[ao]sts", "^nodes$", "b{2}s", "\\wits", ".*")
    assert singular("pasts") == "past"
    assert singular("nodes") == "node"
    assert singular("bbs") == "bb"
    assert singular("bits") == "bit"
    assert inflection.pluralize("post") == "posts"


def test_such_words_are_uncountable():
    inflection.add_uncountable("n.ds", "e.g.", "c++")
    assert singular("n.ds") == "n.ds"
    assert singular("N.ds") == "N.ds"
    assert singular("c++") == "c++"
    assert inflection.pluralize("e.g.") == "e.g."
    assert inflection.pluralize("c++") == "c++"


def test_plain_words_as_before():
    inflection.add_uncountable("chess")
    assert singular("chess") == "chess"
    assert singular("speed chess") == "speed chess"
    assert singular("funky jeans") == "funky jeans"
    assert singular("sponsor") == "sponsor"
    assert singular("prices") == "price"
