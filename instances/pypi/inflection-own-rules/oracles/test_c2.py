"""A rule that is no regular expression is refused when it is added."""

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


@pytest.mark.parametrize("rule", ["(ox$", "[", "*x", "(?P<n>a)(?P<n>b)", "(?i)(ox", "a{2,1}", "(?<=a+)b"])
@pytest.mark.parametrize("add", ["add_plural", "add_singular"])
def test_a_broken_rule_is_refused(add, rule):
    before = list(inflection.PLURALS), list(inflection.SINGULARS)
    try:
        getattr(inflection, add)(rule, "oxen")
    except Exception:
        pass
    else:
        pytest.fail(f"{add}() takes {rule!r}")
    assert (inflection.PLURALS, inflection.SINGULARS) == before
    assert inflection.pluralize("post") == "posts"
    assert inflection.singularize("posts") == "post"


def test_good_rules_are_taken():
    inflection.add_plural(r"(?i)^(vert)ex$", r"\1exes")
    inflection.add_singular(r"(?i)^(vert)exes$", r"\1ex")
    assert inflection.pluralize("Vertex") == "Vertexes"
    assert inflection.singularize("vertexes") == "vertex"
    inflection.add_plural("^vertex$", "vertices!")
    assert inflection.pluralize("vertex") == "vertices!"
