from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_crab.gate.baseline import rule_against
from pytest_crab.gate.opposing import ASSUMED_FLIPS
from pytest_crab.gate.opposing import contestants
from pytest_crab.gate.opposing import counterpart
from pytest_crab.gate.opposing import design
from pytest_crab.gate.opposing import flips
from pytest_crab.gate.opposing import opposing
from pytest_crab.gate.rulings import Ruling
from pytest_crab.report.summary import Summary
from pytest_crab.report.summary import summarise
from pytest_crab.testing.trials import comment_result
from pytest_crab.testing.trials import trial_of
from pytest_crab.types import CONTROL
from pytest_crab.types import Category
from pytest_crab.types import Kind
from pytest_crab.types import Provenance
from pytest_crab.types import Reason
from pytest_crab.types import Review
from pytest_crab.types import Revision
from pytest_crab.types import Trial
from pytest_crab.types import Usage

#: What the second repeat of four oracles comes to.
SECOND = (Reason.GREEN, Reason.GREEN, Reason.FAILED, Reason.FAILED)


def trial(instance: str, *reasons: Reason, reviewer: str = "mine", client: str = "1", **fields: Any) -> Trial:
    results = tuple(
        comment_result(
            f"c{at}",
            category=Category.DESIGN,
            kind=Kind.BEHAVIORAL,
            reason=reason,
        )
        for at, reason in enumerate(reasons)
    )
    known: dict[str, Any] = {
        "agent": "mini",
        "runtime": "docker",
        "review": Review(version="r1", usage=Usage(cost_usd=0.5)),
        "revision": Revision(version=client, usage=Usage(cost_usd=0.25)),
        "versions": {"instance": f"digest of {instance}"},
    }
    return trial_of(
        instance=instance,
        repo=f"owner/{instance}",
        provenance=Provenance.GITHUB,
        reviewer=reviewer,
        results=results,
        **{**known, **fields},
    )


def run(verdicts: str, **fields: Any) -> Summary:
    reasons = {"c": Reason.GREEN, "m": Reason.FAILED}
    return summarise(trial(f"i{at}", reasons[one], **fields) for at, one in enumerate(verdicts))


def side_by_side(before: Summary, after: Summary, **fields: Any) -> Any:
    (was,), (now,) = before.reviewers, after.reviewers
    return opposing(before, was, after, now, path=Path("base"), **fields)


def test_two_runs_beside_each_other() -> None:
    against = side_by_side(run("cccmmm"), run("ccmmmm"), margin=3.0)
    assert (against.reviewer, against.baseline, against.margin) == ("mine", "base", 3.0)
    assert against.comparison.lost == ("i2::c0",)
    assert (against.before.cost_usd, against.before.comments) == (0.75, 0.0)
    assert (against.refusal, against.remarks) == (None, ())


def test_another_client_is_refused_or_if_allowed_said() -> None:
    before, after = run("ccm"), run("ccm", client="2")
    assert "the agent's client was 1 and is 2" in side_by_side(before, after).refusal
    allowed = side_by_side(before, after, allowed="agent-version")
    assert (allowed.refusal, allowed.remarks) == (None, ("the agent's client was 1 and is 2",))


def test_an_instance_that_changed_is_refused() -> None:
    after = run("ccm", versions={"instance": "another"})
    assert "i0, i1, i2 changed since" in side_by_side(run("ccm"), after).refusal


def test_a_cost_that_is_not_known_is_not_told() -> None:
    after = run("ccm", review=Review(version="r1"))
    assert side_by_side(run("ccm"), after).after.cost_usd is None


def test_controls_are_nobodys_counterpart() -> None:
    summary = summarise([trial("a", Reason.GREEN), trial("a", Reason.FAILED, reviewer="none", arm=CONTROL)])
    assert list(contestants(summary)) == ["mine"]


def test_counterparts_go_by_name_and_the_only_ones_stand_for_each_other() -> None:
    assert counterpart("a", ["a", "b"], ["a", "c"]) == "a"
    assert counterpart("c", ["a", "b"], ["c"]) is None
    assert counterpart("c", ["a"], ["c"]) == "a"
    assert counterpart("c", ["a"], ["c", "d"]) is None


def test_noise_is_the_baselines_own_where_it_has_repeats() -> None:
    (once,) = run("cm").reviewers
    twice = summarise([trial("a", Reason.GREEN), trial("a", Reason.FAILED, repeat=2), trial("b", Reason.GREEN)])
    assert flips(once) == ASSUMED_FLIPS
    assert flips(twice.reviewers[0]) == 1.0
    ahead = design(once, ["i0"])
    assert ahead is not None
    assert (sum(ahead.sizes), ahead.rate) == (1, 1.0)
    assert design(once, ["elsewhere"]) is None


def test_a_run_that_is_repeated_is_less_noisy() -> None:
    (twice,) = summarise(
        trial(f"i{at}", reason, repeat=repeat)
        for at in range(4)
        for repeat, reason in ((1, Reason.GREEN), (2, SECOND[at]))
    ).reviewers
    assert flips(twice) == 0.5
    for repeats, noise in ((1, 0.5 / 2 * (1 / 2 + 1)), (4, 0.5 / 2 * (1 / 2 + 1 / 4))):
        ahead = design(twice, repeats=repeats)
        assert ahead is not None
        assert ahead.noise == noise


def test_what_the_baseline_did_not_know_is_expected_again() -> None:
    (half,) = summarise(
        trial(f"i{at}", reason) for at, reason in enumerate([Reason.GREEN, Reason.FAILED, Reason.BROKEN, Reason.BROKEN])
    ).reviewers
    ahead = design(half)
    assert ahead is not None
    assert (sum(ahead.sizes), ahead.unknown, ahead.unknown_before, ahead.rate) == (4, 0.5, 0.5, 0.5)


def test_a_whole_run_may_lack_no_oracle_of_the_baseline() -> None:
    before, after = run("cm" * 40), run("cm" * 30)
    part = side_by_side(before, after)
    assert (rule_against(part)[0], part.comparison.only_before) == (Ruling.PASSED, 20)
    whole = side_by_side(before, after, whole=True)
    ruling, text = rule_against(whole)
    assert (ruling, whole.comparison.pairs, whole.comparison.known) == (Ruling.INCONCLUSIVE, 80, 60)
    assert "20 oracles of the baseline are missing here and taken as unknown." in text
    assert "say --part if they were left out on purpose" in text


def test_who_cannot_be_gated_is_not_gated_later_either() -> None:
    before, after = run("ccm"), run("ccm", simulated=True)
    assert "is simulated and understands no finding" in side_by_side(before, after).refusal
    assert side_by_side(before, after, gated=False).refusal is None
    told = run("ccm", privileged=("mini",))
    assert "mini is shown the answer" in side_by_side(told, before).refusal


def test_an_agent_whose_files_changed_is_refused() -> None:
    before, after = (run("ccm", versions={"agent-identity": digest}) for digest in ("d1", "d2"))
    assert "was d1 and is d2; --crab-allow-difference=agent-version" in side_by_side(before, after).refusal
