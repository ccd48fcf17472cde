"""The progress of things that run at a time, and the notice of a wait for slots."""

from __future__ import annotations

from collections.abc import Callable

from pytest_crab.campaign.progress import (
    PATIENCE,
    Progress,
    RunningTrial,
    SlotsWanted,
    TerminalLine,
    Watch,
    progress_text,
)
from pytest_crab.waiting import FOR_A_SLOT

WAITS = f"proof{FOR_A_SLOT}"


def test_a_wait_is_no_part_of_the_seconds_of_a_step(passes: Callable[[float], None]) -> None:
    watch = Watch()
    watch.step("a", "proof")
    passes(3)
    watch.step("a", WAITS)
    passes(50)
    assert watch.progress().running == (RunningTrial("a", WAITS, 50),)
    watch.step("a", "proof")
    passes(2)
    assert watch.progress().running == (RunningTrial("a", "proof", 5),)
    watch.step("a", "review")
    watch.step("a", "proof")
    assert watch.progress().running == (RunningTrial("a", "proof", 0),)


def test_what_has_ended_has_no_steps_and_counts_once() -> None:
    watch = Watch()
    watch.step("a", "proof")
    watch.end("a", done=True, costs=[0.5])
    watch.end("a", done=True, costs=[0.5])
    watch.step("a", "proof")
    watch.end("b", done=False)
    now = watch.progress()
    assert (now.running, now.done, now.cost_usd) == ((), 1, 0.5)


def test_things_that_are_no_trials_have_their_own_noun() -> None:
    progress = Progress(running=(RunningTrial("shop-7", WAITS, 4.2),), done=1, elapsed=2.0)
    counts, *_, running = progress_text(progress, 3, "instances").split(" | ")
    assert (counts, running) == ("1/3 instances", "shop-7 proof: waits for a slot 4s")


def running(*steps: tuple[str, float]) -> Progress:
    return Progress(running=tuple(RunningTrial("a", *step) for step in steps))


def test_that_everything_waits_is_said_once_and_with_the_place() -> None:
    wanted = SlotsWanted("the 2 slots here")
    assert wanted.sentence(running()) is None
    assert wanted.sentence(running((WAITS, PATIENCE - 1))) is None
    assert wanted.sentence(running((WAITS, PATIENCE + 1), ("review", 1))) is None
    assert "the 2 slots here" in str(wanted.sentence(running((WAITS, PATIENCE + 1), (WAITS, PATIENCE))))
    assert wanted.sentence(running((WAITS, PATIENCE + 90))) is None


def test_a_line_is_cut_to_the_room_and_wiped_without_a_trace() -> None:
    written: list[str] = []
    line = TerminalLine(written.append, lambda: 34)
    line.show("x" * 80)
    assert written == [f" [{'x' * 30}]"]
    line.show("x" * 80)
    assert len(written) == 1
    line.wipe()
    line.wipe()
    assert written[1:] == ["\b" * 33 + " " * 33 + "\b" * 33]
    line.show("1/10 trials | 2 min | about 9 min left | 0.10 USD")
    assert written[-1] == " [1/10 trials | 2 min]"
