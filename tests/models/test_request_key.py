"""What is the same request and what is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pytest_crab.clients.prompting import as_data
from pytest_crab.models.request_key import MOST_LINES, MOST_WIDTH, difference, key_of, lines_of, normalise

SCRATCH = (
    "/tmp/pytest-crab-0/runs/e9f33d78146945c1/tmpw3epddmv",
    "/home/me/t/pytest-crab-1000/runs/" + 16 * "0" + "/x",
)
UUID = ("01a200ee-b81b-7d11-a6da-c18c8a299939", "7361fc9f-5195-4cf6-8924-fd55a9ee9bc6")
TOKEN = ("crab-" + 43 * "a", "crab-" + 40 * "_" + "-Zx")

CODE = (
    "def call_function(x): return req_validate1(x)",
    "current date: 2026-11-22",
    "<current_date>2026-11-22</current_date>",
    "  Today's date is 2026-11-22.",
    "- OS Version: Linux 6.1.0",
    "took 0.12s at 10:31",
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
bodies = st.dictionaries(st.text(max_size=8), json_values, max_size=5)


def said(text: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def printed(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": text}]}]}


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"look at {SCRATCH[0]}/checkout/a.py", f"look at {SCRATCH[1]}/checkout/a.py"),
        ("in p/-tmp-pytest-crab-0-runs-e9f33d78146945c1-tmpw3-a/", "in p/-t-pytest-crab-7-runs-0000000000000000-tmp/"),
        ("<system-reminder>\nToday's date is 2026-11-22.", "<system-reminder>\nToday's date is 2027-01-01."),
        (
            "<environment_context>\n  <current_date>2026-11-22</current_date>",
            "<environment_context>\n  <current_date>2027-01-01</current_date>",
        ),
        ("Today's Date: 2026-11-22", "Today's Date: 2027-01-01"),
        (f"KEY={TOKEN[0]}", f"KEY={TOKEN[1]}"),
    ],
)  # fmt: skip
def test_homes_and_dates_make_no_difference(one: str, other: str) -> None:
    assert same(said(one), said(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Env:\nToday's date is Sunday, November 22, 2026", "Env:\nToday's date is 1 January 2027"),
        ("- The current month is November 2026 -", "- The current month is January 2027 -"),
        ("x-anthropic-billing-header: cc_version=1; cch=abc;", "x-anthropic-billing-header: cc_version=1; cch=def;"),
        (" - OS Version: Linux 6.1.0", " - OS Version: Linux 5.15"),
    ],
)
def test_instructions_say_when_and_where_and_a_pull_request_may_not(one: str, other: str) -> None:
    assert same({"system": [{"type": "text", "text": one}]}, {"system": [{"type": "text", "text": other}]})
    assert not same(said(one), said(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("review a.py", "review b.py"),
        ("released on 2026-11-22", "released on 2026-11-23"),
        ("takes 5 s", "takes 6 s"),
        ("see /tmp/data", "see /tmp/date"),
        ("at 10:30", "at 10:31"),
        (f"{UUID[0]} {UUID[0]}", f"{UUID[0]} {UUID[1]}"),
        ("0xdeadbeef", "0xdeadbeee"),
        (f"- {UUID[0]}\n+ {UUID[0]}", f"- {UUID[0]}\n+ {UUID[1]}"),
        (f"session {UUID[0]}", f"session {UUID[1]}"),
        ("def call_function(x): return req_validate1(x)", "def call_funktion(x): return req_validatf2(x)"),
        ("+current date: 2026-11-22", "+current date: 2026-11-23"),
        (" <current_date>2026-11-22</current_date>", " <current_date>2026-11-23</current_date>"),
        ("\n Today's date is 2026-11-22", "\n Today's date is 2026-11-23"),
        ("+Today's Date: 2026-11-22", "+Today's Date: 2026-11-23"),
        ("a", "a "),
    ],
)
def test_what_is_asked_makes_one(one: str, other: str) -> None:
    assert not same(said(one), said(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1 passed in 0.02s", "1 passed in 1.31s"),
        ("<object at 0x7f21aabbccdd>", "<object at 0x7f21aabbccee>"),
        ("-rw-r--r-- 1 root root 4 Nov 22 01:46 calc.py", "-rw-r--r-- 1 root root 4 Jan  1 17:02 calc.py"),
        ("Sun Nov 22 01:46:08 UTC 2026", "Fri Jan  1 01:46:11 UTC 2027"),
        ("2026-11-22T01:46:08.123Z start", "2027-01-01T09:00:00.456Z start"),
        ("Chunk ID: d7c904\nWall time: 0.1 seconds", "Chunk ID: f1136b\nWall time: 0.2 seconds"),
        ("/tmp/tmpabc123_x", "/tmp/tmpzzz999_y"),
    ],
)
def test_what_tools_print_is_taken_more_loosely(one: str, other: str) -> None:
    assert same(printed(one), printed(other))
    output = [{"type": "function_call_output", "call_id": "c", "output": text} for text in (one, other)]
    assert same({"input": output[:1]}, {"input": output[1:]})
    tool = [{"role": "tool", "tool_call_id": "c", "content": text} for text in (one, other)]
    assert same({"messages": tool[:1]}, {"messages": tool[1:]})


def test_names_that_belong_together_still_do() -> None:
    def talk(call: str, result: str) -> dict[str, Any]:
        return {
            "input": [{"type": "function_call", "call_id": call}, {"type": "function_call_output", "call_id": result}]
        }

    assert same(talk("call_aaaaaaaa1", "call_aaaaaaaa1"), talk("call_bbbbbbbb2", "call_bbbbbbbb2"))
    assert not same(talk("call_aaaaaaaa1", "call_aaaaaaaa1"), talk("call_aaaaaaaa1", "call_bbbbbbbb2"))


def test_a_name_is_known_by_its_field_and_taken_from_texts_too() -> None:
    def talk(call: str, path: str, given: str) -> dict[str, Any]:
        use = {"type": "tool_use", "id": call, "name": "Read", "input": {"id": given}}
        back = {"type": "tool_result", "tool_use_id": call, "content": f"see {path}.txt"}
        return {"messages": [{"role": "assistant", "content": [use]}, {"role": "user", "content": [back]}]}

    one, other = "toolu_5a6f78e4ded5b93342da842d", "toolu_7b991a19b856ba89c32f3a08"
    assert same(talk(one, one, "x"), talk(other, other, "x"))
    assert not same(talk(one, one, "x"), talk(one, other, "x"))
    assert not same(talk(one, one, "call_function1"), talk(one, one, "call_function2"))


def test_a_session_is_known_by_the_fields_that_say_who_asks() -> None:
    def talk(session: str) -> dict[str, Any]:
        return {
            **said(f"notes are in /var/{session}/notes"),
            "metadata": {"user_id": json.dumps({"session_id": session})},
        }

    assert same(talk(UUID[0]), talk(UUID[1]))


def test_who_asks_makes_no_difference() -> None:
    noise = {"metadata": {"user_id": "u"}, "prompt_cache_key": "k", "client_metadata": {"s": "t"}, "user": "me"}
    assert same({**said("x"), **noise}, said("x"))


@settings(max_examples=50)
@given(bodies)
def test_normalising_again_changes_nothing(body: dict[str, Any]) -> None:
    once = normalise(body)
    assert normalise(once) == once
    json.dumps(once)


@given(
    st.sampled_from(SCRATCH),
    st.sampled_from(SCRATCH),
    st.text(max_size=40),
)
def test_a_prompt_is_the_same_from_any_home(one: str, other: str, text: str) -> None:
    assert same(said(f"{text}\n{one}/a\n{text}"), said(f"{text}\n{other}/a\n{text}"))


@given(
    st.lists(
        st.text(alphabet="abcdefgh xyz.,!?\n", min_size=1, max_size=60)
        | st.sampled_from([*CODE, *UUID])
        | st.from_regex(r"(call|msg|req|resp|rs|fc|toolu|chatcmpl)_[A-Za-z0-9]{8,12}", fullmatch=True),
        min_size=1,
        max_size=4,
    ),
    st.data(),
)
def test_one_changed_letter_of_a_prompt_is_another_request(parts: list[str], data: st.DataObject) -> None:
    text = "----- begin -----\n+" + "\n+".join(parts)
    at = data.draw(st.integers(0, len(text) - 1))
    changed = text[:at] + ("Q" if text[at] != "Q" else "R") + text[at + 1 :]
    keys = [key_of("anthropic", "/messages", normalise(said(each))) for each in (text, changed)]
    assert keys[0] != keys[1]


@settings(max_examples=50)
@given(bodies, st.randoms())
def test_the_key_knows_no_order_of_fields(body: dict[str, Any], random: Any) -> None:
    items = list(body.items())
    random.shuffle(items)
    assert key_of("p", "/x", dict(items)) == key_of("p", "/x", body)


def test_provider_and_path_are_part_of_the_key() -> None:
    content = normalise(said("x"))
    assert len({key_of(*place, content) for place in (("a", "/x"), ("b", "/x"), ("a", "/y"))}) == 3


def test_a_difference_shows_the_data_and_not_its_mark() -> None:
    found = difference(*(said(as_data("Review.", f"a line\n{word}\nanother")) for word in ("one", "two")))
    changed = [line for line in found.splitlines() if line[0] in "-+" and line[:3] not in ("---", "+++")]
    assert changed == ["-messages[0].content: one", "+messages[0].content: two"]
    assert difference(said("----- begin 0123456789abcdef -----"), said("----- begin 1123456789abcdef -----"))


@settings(max_examples=50)
@given(json_values, json_values)
def test_a_difference_is_short(one: Any, other: Any) -> None:
    lines = list(filter(None, difference(one, other).split("\n")))
    assert len(lines) <= MOST_LINES + 1
    assert all(len(line) <= MOST_WIDTH for line in lines)
    assert bool(lines) == (lines_of(one) != lines_of(other))
