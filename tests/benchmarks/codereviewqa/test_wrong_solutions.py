"""Wrong solutions: which element of the revised code is replaced, by what, and which of them are near."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tree_sitter", reason="syntax trees need the extra mutation")

from pytest_crab.benchmarks.codereviewqa.distractors import ReviewedCode
from pytest_crab.benchmarks.codereviewqa.reader import strip_marks
from pytest_crab.benchmarks.codereviewqa.surrogates import RowAnswers, Surrogates, SurrogateSettings
from pytest_crab.benchmarks.codereviewqa.text_models import Gap, TextToken
from pytest_crab.benchmarks.codereviewqa.wrong_solutions import (
    TokenSurprisal,
    changed_elements,
    solution_text,
    token_surprisals,
    wrong_solutions,
)
from pytest_crab.errors import MalformedAnswer

DATA = Path(__file__).parents[4] / "shared" / "data" / "codereviewqa" / "codereviewqa_c_csharp_200.jsonl"
ROW = ReviewedCode(
    old=" def total(prices):\n-    return 1\n ",
    new=" def total(prices):\n+    # ü: all of them\n+    return sum(prices)\n ",
    review="Why is this one?",
    lang="python",
)
CODE = strip_marks(ROW.new)


class Answers:
    """Is surprised by one word, fills in the given texts in turn, and finds long texts the most similar."""

    def __init__(self, word: str, *texts: str) -> None:
        self.word = word
        self.texts = texts
        self.gaps: list[Gap] = []

    def surprisals(self, head: str, code: str) -> Sequence[TokenSurprisal]:
        assert head == "HEAD"
        start = code.index(self.word)
        middle = start + len(self.word) // 2
        places = [(0, start, 1.0), (start, middle, 6.0), (middle, start + len(self.word), 2.0)]
        return [TokenSurprisal(start=first, end=end, bits=bits) for first, end, bits in places]

    def fill(self, gap: Gap, draw: int) -> str:
        self.gaps.append(gap)
        return self.texts[(draw - 1) % len(self.texts)]

    def compare(self, text: str, others: Sequence[str]) -> Sequence[float]:
        assert text == CODE
        return [float(len(other)) for other in others]


SIX = ("four", "ten+11", "a", "eight888", "bb", "one more +")


def solutions(answers: Answers, **changes: Any) -> Any:
    return wrong_solutions(ROW, "HEAD", answers, **changes)


def test_the_most_surprising_element_is_replaced_by_near_and_by_far_ones() -> None:
    answers = Answers("sum", *SIX)
    found = solutions(answers)
    around = "2-    return 1\n2+    # ü: all of them\n3+    return {}(prices)"
    assert found["solution_correct"] == around.format("sum")
    assert found["solution_wrong_easy"] == [around.format(text) for text in ("a", "bb", "four")]
    assert found["solution_wrong_hard"] == [around.format(text) for text in ("one more +", "eight888", "ten+11")]
    before, after = CODE.split("sum")
    assert answers.gaps[0] == Gap(before=before, after=after, tokens=2, one_line=True)
    assert len(answers.gaps) == 6


def test_what_is_no_other_text_is_drawn_again() -> None:
    answers = Answers("sum", "sum", " su m", "", "four", " four\nand more", *SIX[1:])
    assert solutions(answers) == solutions(Answers("sum", *SIX))
    assert len(answers.gaps) == 10


def test_a_row_without_enough_other_texts_has_a_reason_instead() -> None:
    few = Answers("sum", "one", "two")
    assert "fewer than 6 different texts" in solutions(few, draws=9)
    assert len(few.gaps) == 9
    brackets = ReviewedCode(old=" f(\n ", new=" f(\n+)\n ", review="Close it, please", lang="python")
    assert "no element" in str(wrong_solutions(brackets, "HEAD", Answers("f", "x")))


@pytest.mark.parametrize(
    ("lang", "line", "elements"),
    [
        ("python", 'x = f"a {b}"  # c', ["x", "=", "a", "b", "# c"]),
        ("c", "p->q = r[0] != 'c';", ["p", "->", "q", "=", "r", "0", "!=", "c"]),
        ("csharp", 'var s = "t";', ["var", "s", "=", "t"]),
        ("cpp", "auto x = std::move(y);", ["auto", "x", "=", "std", "move", "y"]),
        ("go", 'x := "t"', ["x", ":=", "t"]),
        ("java", "int x = y.z(1);", ["int", "x", "=", "y", "z", "1"]),
        ("javascript", "const f = () => `t`;", ["const", "f", "=", "=>", "t"]),
        ("php", "<?php return $x ?? 1;", ["<?php", "return", "$", "x", "??", "1"]),
        ("php", "    return $x ?? 1;", ["return", "$", "x", "??", "1"]),
        ("ruby", "x = y if z", ["x", "=", "y", "if", "z"]),
    ],
)
def test_elements_are_leaves_of_the_syntax_tree_in_every_language_of_the_release(
    lang: str, line: str, elements: list[str]
) -> None:
    row = ReviewedCode(old=" ", new=f" \n+{line}" if "<?" not in line else f"+{line}\n ", review="Add it", lang=lang)
    code = strip_marks(row.new)
    assert [code[each.start : each.end] for each in changed_elements(row)] == elements


def test_a_comment_is_one_element_and_characters_of_several_bytes_shift_nothing() -> None:
    found = solutions(Answers("ü: all", "# six", "# seven", "# eight", "# nine", "# ten", "# eleven"))
    assert found["solution_wrong_hard"][0] == "2-    return 1\n2+    # eleven\n3+    return sum(prices)"


def test_an_element_of_several_lines_may_become_one_of_others() -> None:
    row = ReviewedCode(old=" int a;\n ", new="+/* one\n+ two */\n int a;\n ", review="Say what it is", lang="c")
    texts = [f"/* {number}\n{number}\n{number} */" for number in range(6)]

    class OfRow(Answers):
        def compare(self, text: str, others: Sequence[str]) -> Sequence[float]:
            assert others[0] == "/* 0\n0\n0 */\nint a;\n"
            return [0.0 for _ in others]

    found: Any = wrong_solutions(row, "HEAD", OfRow("one", *texts))
    assert found["solution_wrong_easy"][0] == "1+/* 0\n2+0\n3+0 */"


def test_of_an_element_on_other_lines_too_the_added_part_is_replaced() -> None:
    new = "\n /* one\n+ * two \n+ * three\n  * four\n+ */\n int a;"
    row = ReviewedCode(old="\n /* one\n  * four\n int a;", new=new, review="Say what it is", lang="c")
    code = strip_marks(new)
    assert [code[each.start : each.end] for each in changed_elements(row)] == ["* two \n * three", "*/"]


def token(text: str, value: float | None = -1.0) -> TextToken:
    return TextToken(text=text, log_probability=value)


def test_surprisal_is_in_bits_and_placed_behind_the_head() -> None:
    tokens = [token("<s>", None), token("He"), token("ad a", -2.0), token("\ufffd"), token("b", -0.6931471805599453)]
    found = token_surprisals(tokens, "Head aüb", 5)
    assert [(each.start, each.end, round(each.bits, 6)) for each in found] == [(0, 1, 2.88539), (2, 3, 1.0)]
    with pytest.raises(MalformedAnswer, match="do not make up the text"):
        token_surprisals(tokens, "Head another", 5)


def shared_start(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    columns = itertools.takewhile(lambda column: len({*column}) == 1, zip(*texts, strict=False))
    return "".join(column[0] for column in columns)


@pytest.mark.skipif(not DATA.is_file(), reason="../shared/data/codereviewqa is not beside this checkout")
def test_the_release_replaces_one_element_on_an_added_line() -> None:
    """Solutions are written alike. 14 rows change spaces elsewhere, 4 a neighbour too, and 1 masks a brace."""
    inside = one_line = 0
    for row in map(json.loads, DATA.read_text().splitlines()):
        correct = row["solution_correct"]
        code = ReviewedCode(**{name: row[name] for name in ("old", "new", "review", "lang")})
        if not correct:
            continue
        assert solution_text(code.old, code.new) == correct
        options = [correct, *row["solution_wrong_easy"], *row["solution_wrong_hard"]]
        before = shared_start(options)
        after = shared_start([option[len(before) :][::-1] for option in options])
        masked = correct[len(before) : len(correct) - len(after)]
        number, _, line = before.rpartition("\n")[2].partition("+")
        if "\n" in masked:
            continue
        text = strip_marks(code.new)
        start = len("\n".join(text.split("\n")[: int(number) - 1])) + (int(number) > 1) + len(line)
        start, end = start + len(masked) - len(masked.lstrip()), start + len(masked.rstrip())
        one_line += 1
        inside += any(each.start <= start and end <= each.end for each in changed_elements(code))
    assert (inside, one_line) == (138, 143)


def test_a_measure_of_ones_own_compares_without_a_model() -> None:
    model = SurrogateSettings(model="m")
    models = Surrogates(surprised=model, filling=model, comparing=lambda one, other: len(one) / len(other))

    def refuse(*_: Any) -> Any:
        raise AssertionError("no model is needed")

    assert RowAnswers(models=models, services=refuse, perform=refuse).compare("ab", ["abcd", "ab"]) == [0.5, 1.0]
