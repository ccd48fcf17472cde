from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from pytest_crab.results.gate_record import Gate
from pytest_crab.results.summary import summarise
from pytest_crab.show.markdown import escape_markdown, markdown_lines
from pytest_crab.types import CONTROL, Reason, Trial


def test_the_table_has_the_numbers(make_trial: Callable[..., Trial]) -> None:
    trials = [make_trial("a", "one", Reason.GREEN, Reason.FAILED, Reason.BROKEN, findings=3)]
    gate = Gate(exit_code=1, ruling="failed", sentence="Failed: a lost 2 oracles.")
    lines = list(markdown_lines(replace(summarise(trials), gate=gate)))
    assert "**Failed: a lost 2 oracles.**" in lines
    row = next(line for line in lines if line.startswith("| a |"))
    assert [cell.strip() for cell in row.split("|")[2:-1]][:3] == ["3", "3.0", "50.0"]
    assert [cell.strip() for cell in row.split("|")[-3:-1]] == ["1/2", "1"]
    assert any(line.startswith("| functional | 1/2 50.0% ") for line in lines)


def test_the_net_lift_and_the_unknown_are_told(make_trial: Callable[..., Trial]) -> None:
    trials = [
        make_trial("mine", "one", Reason.GREEN, Reason.BROKEN, findings=1),
        make_trial("none", "one", Reason.FAILED, Reason.FAILED, variant=CONTROL),
    ]
    lines = list(markdown_lines(summarise(trials)))
    assert any("<br>net lift +100.0 points (95% interval " in line for line in lines)
    bounds = "mine: 1 oracle has no verdict; the rate lies between 50.0% and 100.0%"
    assert f"- {bounds}" in lines
    assert "<details><summary>Unknown oracles, not counted in any rate</summary>" in lines


def test_a_remark_is_whole(make_trial: Callable[..., Trial]) -> None:
    remark = f"oracles: {'measured, ' * 40}to the end"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_crab.show.markdown.remarks", lambda _: [(remark, "")])
        assert f"- {remark}" in list(markdown_lines(summarise([make_trial("a", "one", Reason.GREEN)])))


def test_foreign_text_is_no_markup(make_trial: Callable[..., Trial]) -> None:
    name = "a|b<img src=x>@team[x](http://example.org)"
    gate = Gate(exit_code=1, ruling="failed", sentence="<!-- @all -->\n# big")
    text = "\n".join(markdown_lines(replace(summarise([make_trial(name, "one", Reason.GREEN)]), gate=gate)))
    assert "<img" not in text.replace("\\<", "")
    assert r"a\|b\<img src=x\>\@&#8203;team\[x\](http:&#8203;//example.org)" in text
    assert "\n# big" not in text


@given(st.text())
def test_escaped_text_is_one_line_without_live_markup(text: str) -> None:
    shown = escape_markdown(text)
    assert "\n" not in shown
    bare = shown.replace("\\\\", "")
    assert all(bare[at - 1] == "\\" for at, char in enumerate(bare) if char in "<>|@[`*_")
