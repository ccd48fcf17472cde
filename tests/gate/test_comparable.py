from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_crab.gate.comparable import Conditions, differences, find_distrust, refusal, remarks
from pytest_crab.gate.conditions import CONDITIONS

BEFORE = Conditions(
    agents=("mini",),
    runtimes=("docker",),
    versions={"agent": ("1.0",), "harness": ("h1",), "reviewer": ("r1",), "pytest_crab": ("0.1",)},
    digests={"a": "1", "b": "2"},
)


def changed(**fields: object) -> Conditions:
    known = {"agents": BEFORE.agents, "runtimes": BEFORE.runtimes, "versions": BEFORE.versions}
    return Conditions(**{**known, "digests": BEFORE.digests, **fields})  # type: ignore[arg-type]


AFTER = {
    "dataset": (changed(digests={"a": "1", "b": "3", "new": "4"}), "b changed since"),
    "agent": (changed(agents=("codex",)), "the agent was mini and is codex"),
    "agent-version": (
        changed(versions={**BEFORE.versions, "agent": ("2.0",)}),
        "the agent's client was 1.0 and is 2.0",
    ),
    "harness": (changed(versions={**BEFORE.versions, "harness": ("h2",)}), "the harness was h1 and is h2"),
    "runtime": (changed(runtimes=("local",)), "the runtime was docker and is local"),
    "leaky": (changed(leaky=("devin",)), "devin could read the public discussion"),
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_each_difference_is_refused_and_can_be_allowed(condition: str) -> None:
    after, sentence = AFTER[condition]
    found = differences(BEFORE, after)
    assert found == {condition: sentence}
    assert refusal(found, None) == f"{sentence}; --crab-allow-difference={condition} compares all the same"
    assert refusal(found, condition) is None


def test_two_differences_are_refused_whichever_is_allowed() -> None:
    found = differences(BEFORE, changed(agents=("codex",), runtimes=("local",)))
    for allowed in (None, *CONDITIONS):
        assert refusal(found, allowed) is not None
    text = refusal(found, "agent")
    assert text is not None
    assert text.startswith("the runtime was docker and is local; the agent was ")
    assert text.endswith(" (allowed); only one difference can be allowed")


def test_an_agent_that_says_something_else_of_itself_is_another() -> None:
    before, after = (Conditions(versions={"agent-identity": (digest,)}) for digest in ("d1", "d2"))
    found = differences(before, after)
    assert list(found) == ["agent-version"]
    assert "settings" in found["agent-version"]
    assert differences(replace(before, simulated=True), after) == {}, "a simulated agent's are those of its instances"
    assert differences(before, Conditions()) == {}


def test_nobody_gates_on_who_understands_nothing_or_is_shown_the_answer() -> None:
    assert find_distrust(changed()) is None
    assert "only compares locations" in (find_distrust(changed(simulated=True)) or "")
    assert "told is shown the answer" in (find_distrust(changed(privileged=("told",))) or "")


def test_the_same_and_what_is_not_on_record_are_comparable() -> None:
    assert differences(BEFORE, BEFORE) == {}
    assert differences(Conditions(), BEFORE) == differences(BEFORE, Conditions()) == {}
    assert differences(BEFORE, changed(digests={"new": "4"})) == {}


def test_what_is_leaky_on_both_sides_is_refused_too() -> None:
    both = changed(leaky=("devin",))
    assert list(differences(both, both)) == list(differences(both, BEFORE)) == ["leaky"]


@pytest.mark.parametrize(
    ("was", "now", "refused"),
    [(("a",), ("b",), True), (("a", "s"), ("b", "s"), True), (("a",), ("a", "s"), False), (("a",), ("a",), False)],
)
def test_models_that_were_really_asked_are_compared(
    was: tuple[str, ...], now: tuple[str, ...], *, refused: bool
) -> None:
    """Another model is another agent; one that asks a small one beside it now and then is not."""
    before, after = (Conditions(versions={"agent-model": own, "reviewer-model": own}) for own in (was, now))
    sentence = f"the agent's model was {', '.join(was)} and is {', '.join(now)}"
    assert differences(before, after) == ({"agent-version": sentence} if refused else {})
    said = () if was == now else (sentence.replace("agent", "reviewer"), *(() if refused else (sentence,)))
    assert remarks(before, after) == said
    assert differences(Conditions(), after) == {}
    assert remarks(Conditions(), after) == ()


def test_the_reviewer_itself_may_change_and_it_is_said() -> None:
    after = changed(versions={**BEFORE.versions, "reviewer": ("r2",)})
    assert differences(BEFORE, after) == {}
    assert remarks(BEFORE, after) == ("the reviewer's client was r1 and is r2",)


@pytest.mark.parametrize(
    ("old", "now"),
    [(("big",), ("big", "small")), (("big", "small"), ("big",)), (("big", "small"), ("big", "small"))],
)
def test_small_models_that_a_client_asks_now_and_then_are_no_difference(
    old: tuple[str, ...], now: tuple[str, ...]
) -> None:
    before, after = (changed(versions={**BEFORE.versions, "agent-model": models}) for models in (old, now))
    assert differences(before, after) == {}


@pytest.mark.parametrize(("old", "now"), [(("big", "small"), ("big", "other")), (("big",), ("other",))])
def test_a_model_that_took_anothers_place_is_a_difference(old: tuple[str, ...], now: tuple[str, ...]) -> None:
    before, after = (changed(versions={**BEFORE.versions, "agent-model": models}) for models in (old, now))
    assert "the agent's model was big" in differences(before, after)["agent-version"]


def test_changed_oracles_are_named_with_what_judges_stored_revisions_again() -> None:
    before = Conditions(digests={"a": "1", "b": "1"}, oracles={"a::c0": "x", "a::c1": "x", "b::c0": "x"})
    after = Conditions(digests={"a": "2", "b": "1"}, oracles={"a::c0": "y", "a::c1": "x", "b::c0": "x"})
    sentence = differences(before, after)["dataset"]
    assert sentence.startswith("a changed since, with the oracles a::c0:")
    assert "--crab-store" in sentence
    same = Conditions(digests={"a": "2"}, oracles={"a::c0": "x"})
    assert differences(before, same)["dataset"] == "a changed since"
