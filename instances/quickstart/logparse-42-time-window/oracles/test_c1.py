import ast
import doctest

import pytest

from logparse import moment, window


def examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [test for test in finder.find(window.moment, "moment", globs=dict(vars(window)))]
    return tests, [example for test in tests for example in test.examples if doctest.SKIP not in example.options and example.want.strip()]


def moments(example):
    """The texts that *example* makes moments of."""
    calls = [node for node in ast.walk(ast.parse(example.source)) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "moment"]
    return [arg.value for call in calls for arg in call.args if isinstance(arg, ast.Constant)]


def has_zone(text):
    return text.endswith("Z") or text[-6:-5] in {"+", "-"} and text[-3:-2] == ":"


def test_the_examples_are_right():
    tests, _ = examples()
    runner = doctest.DocTestRunner(verbose=False)
    told = []
    for test in tests:
        runner.run(test, out=told.append)
    assert (runner.summarize(verbose=False).failed, "".join(told)) == (0, "")


def test_one_has_a_zone_and_one_has_none():
    _, shown = examples()
    texts = [text for example in shown for text in moments(example)]
    assert [text for text in texts if has_zone(text)]
    assert [text for text in texts if not has_zone(text)]


def test_it_can_be_seen_that_no_zone_is_utc():
    for example in examples()[1]:
        texts = moments(example)
        if any(not has_zone(text) for text in texts):
            if "+00:00" in example.want or "utc" in (example.source + example.want).lower() or any(map(has_zone, texts)):
                return
    pytest.fail("no example shows it")


@pytest.mark.parametrize("text", ["2024-03-01", "2024-03-01T00:00+00:00", "2024-03-01T01:00+01:00"])
def test_moment_is_as_it_was(text):
    assert moment(text).isoformat() == "2024-03-01T00:00:00+00:00"
