"""SWE-PRBench's contexts: budgets, roll-over, nothing cut, and what each layer takes of a pull request."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fake_checkout import FakeCheckout
from pytest_crab.clients.context_layers import BUDGETS, LayeredContext, assemble, layers, old_version
from pytest_crab.clients.whole_parts import Part, count_tokens
from pytest_crab.diffs import parse_hunks

TOTALS = {LayeredContext.A: 2000, LayeredContext.B: 2200, LayeredContext.C: 2500}


def part(name: str, tokens: int) -> Part:
    return Part(name=name, text=name * ((4 * tokens - 2) // len(name)))


def test_budgets_add_up_to_the_papers() -> None:
    assert {context: sum(budgets.values()) for context, budgets in BUDGETS.items()} == TOTALS


def test_unused_tokens_roll_over_and_what_does_not_fit_is_left_out_whole() -> None:
    budgets = {"One": 100, "Two": 100}
    wide = part("b", 150)
    found = assemble({"One": [part("a", 40)], "Two": [wide, part("c", 60), part("d", 90)]}, budgets)
    assert found.left_out == ("Two: c", "Two: d")
    assert wide.text in found.text
    assert "cccc" not in found.text
    assert "Two: c; Two: d" in found.text
    tight = assemble({"One": [part("a", 98)], "Two": [wide]}, budgets)  # its heading takes the other two
    assert tight.left_out == ("Two: b",)
    assert "Two:" not in tight.text.partition("Left out")[0]
    over = assemble({"One": [part("a", 99)], "Two": [wide]}, budgets)
    assert over.left_out == ("One: a",)


def test_no_context_is_larger_than_its_budget_and_every_part_is_whole() -> None:
    source = random.Random(2500)
    for _ in range(100):
        context = source.choice(list(LayeredContext))
        parts = {
            layer: [part(f"<{layer}{at}>", source.randint(5, 700)) for at in range(source.randint(0, 6))]
            for layer in BUDGETS[context]
        }
        found = assemble(parts, BUDGETS[context])
        assert found.tokens <= TOTALS[context]
        told = found.text.partition("\n\nLeft out whole")[0]
        shown = [one for own in parts.values() for one in own if one.text in told]
        assert len(shown) + len(found.left_out) == sum(map(len, parts.values()))
        assert count_tokens(told) == found.tokens


CALC = "import math\n\n\ndef half(a):\n    return a / 2\n\n\ndef root(a):\n    return math.sqrt(a)\n"


@pytest.fixture
def checkout(tmp_path: Path) -> FakeCheckout:
    base = {"calc.py": CALC, "app.py": "from calc import root\n\n\ndef show(a):\n    return root(a)\n"}
    head = {
        **base,
        "calc.py": CALC.replace("math.sqrt(a)", "math.sqrt(abs(a))"),
        "server.ts": "const port = process.env.PORT\n",
        "tests/test_calc.py": "from calc import root\n\n\ndef test_root():\n    x = 4\n    assert root(x) == 2\n",
    }
    texts = [{name: text.encode() for name, text in files.items()} for files in (head, base)]
    return FakeCheckout(tmp_path / "checkout", *texts)


def test_a_context_has_its_layers(checkout: FakeCheckout) -> None:
    pull_request = checkout.pull_request(title="Take the root of all", body="First.\n\nSecond.")
    tree = {
        path.relative_to(checkout.origin).as_posix(): path.read_text()
        for path in checkout.origin.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }
    found = layers(pull_request, "It takes the root of negative numbers.", tree)
    assert [part.name for part in found["Diff"]] == ["calc.py", "server.ts", "tests/test_calc.py"]
    (imports, function) = found["Changed code before the pull request"]
    assert imports.text == "calc.py:\nimport math"
    assert function.text == "calc.py:\ndef root(a):\n    return math.sqrt(a)"  # the base's, not the head's
    assert [part.name for part in found["Related files"]] == ["app.py"]
    assert "server.ts:1" in found["Settings that the code reads"][0].text
    (test,) = found["Tests"]
    assert test.text == "tests/test_calc.py:\ndef test_root():\n    assert root(x) == 2"
    texts = {context: assemble(found, BUDGETS[context]).text for context in LayeredContext}
    assert all("Take the root of all" in text and "negative numbers" in text for text in texts.values())
    assert ["def show" in text for text in texts.values()] == [False, True, True]
    assert ["Tests:" in text for text in texts.values()] == [False, False, True]
    assert set(layers(pull_request, None, None)) == {"Task", "Key changes", "Diff", "Pull request"}


def test_the_old_version_of_a_file_comes_back(checkout: FakeCheckout) -> None:
    source = random.Random(7)
    for at in range(5):
        before = [str(source.randint(0, 5)) for _ in range(40)]
        after = [line for line in before if source.random() > 0.2]
        after.insert(source.randint(0, len(after)), "new")
        texts = [{"a.txt": "\n".join(lines).encode() + b"\n"} for lines in (after, before)]
        own = FakeCheckout(checkout.origin.parent / f"{at}", *texts)
        ((_, hunks),) = parse_hunks(own.pull_request().diff)
        assert old_version("\n".join(after), hunks) == "\n".join(before)
