from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_crab.gate.baseline import rule_on_baselines
from pytest_crab.gate.pairing import ASSUMED_FLIPS, counterpart, design, flips, pair
from pytest_crab.gate.results import GateResult, Word
from pytest_crab.gate.terms import GateTerms
from pytest_crab.gate.wording import baseline_words
from pytest_crab.results.summary import Summary, summarise
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import CONTROL, Category, Kind, Provenance, Reason, Review, Revision, Trial, Usage

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
        provenance=Provenance.GITHUB,
        reviewer=reviewer,
        results=results,
        **{"repo": f"owner/{instance}", **known, **fields},
    )


def run(verdicts: str, **fields: Any) -> Summary:
    reasons = {"c": Reason.GREEN, "m": Reason.FAILED}
    return summarise(trial(f"i{at}", reasons[one], **fields) for at, one in enumerate(verdicts))


def side_by_side(before: Summary, after: Summary, *, whole: bool = False, **terms: Any) -> Any:
    (was,), (now,) = before.reviewers, after.reviewers
    planned = terms.pop("planned", None)
    return pair(before, was, after, now, name="base", terms=GateTerms(**terms), whole=whole, planned=planned)


def rule(one: Any) -> tuple[GateResult, str]:
    (ruling,) = rule_on_baselines([one])
    words = baseline_words(one, ruling)
    return ruling.result, "\n".join(words.lines + words.details)


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


def test_a_free_run_costs_nothing() -> None:
    free = {
        "review": Review(version="r1", usage=Usage(cost_usd=0.0)),
        "revision": Revision(version="1", usage=Usage(cost_usd=0.0)),
    }
    assert side_by_side(run("ccm"), run("ccm", **free)).after.cost_usd == 0.0


def test_another_runtime_is_refused_and_none_or_auto_says_nothing() -> None:
    local = run("ccm", runtime="local")
    assert "the runtime was docker and is local" in side_by_side(run("ccm"), local).refusal
    for nothing_known in ("none", "auto"):
        assert side_by_side(run("ccm", runtime=nothing_known), local).refusal is None


def test_a_share_of_one_in_ten_is_assumed_to_flip_between_single_runs() -> None:
    assert ASSUMED_FLIPS == 0.1
    (baseline,) = run("cccmmm").reviewers
    assert design(baseline).noise == pytest.approx(0.1)  # half of it in each of two runs


def test_a_lacking_oracle_is_unknown_once() -> None:
    whole = side_by_side(run("ccm"), run("cc"), whole=True)
    assert (whole.comparison.pairs, whole.comparison.known, whole.comparison.doubtful) == (3, 2, 1)


def test_controls_are_nobodys_counterpart() -> None:
    summary = summarise([trial("a", Reason.GREEN), trial("a", Reason.FAILED, reviewer="none", variant=CONTROL)])
    assert list(summary.contestants) == ["mine"]


def test_counterparts_go_by_name_and_the_only_ones_stand_for_each_other() -> None:
    def names(*short: str) -> dict[str, str]:
        return {name: f"{name}+codex" for name in short}

    assert counterpart("a", names("a", "b"), names("a", "c")) == "a"
    assert counterpart("c", names("a", "b"), names("c")) is None
    assert counterpart("c", names("a"), names("c")) == "a"
    assert counterpart("c", names("a"), names("c", "d")) is None


def test_a_reviewer_with_several_agents_meets_the_one_with_that_agent_alone() -> None:
    before = {"a": "a+codex", "b": "b+codex"}
    after = {"a+codex": "a+codex", "a+mini": "a+mini"}
    assert counterpart("a+codex", before, after) == "a"
    assert counterpart("a+mini", before, after) is None
    assert counterpart("a", after, before) == "a+codex"


def test_noise_is_the_baselines_own_where_it_has_repeats() -> None:
    (once,) = run("cm").reviewers
    twice = summarise([trial("a", Reason.GREEN), trial("a", Reason.FAILED, repeat=2), trial("b", Reason.GREEN)])
    assert flips(once) == ASSUMED_FLIPS
    assert flips(twice.reviewers[0]) == 1.0
    steady = twice.reviewers[0].stability
    assert steady is not None
    for reviews, noise in ((1, ASSUMED_FLIPS), (2, 1.0)):  # repeats of one review tell the agent's noise alone
        assert flips(replace(twice.reviewers[0], stability=replace(steady, reviews=reviews))) == noise
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
        ahead = design(twice, reviews=repeats)
        assert ahead is not None
        assert ahead.noise == noise


def test_revisions_of_one_review_are_no_further_reviews() -> None:
    (four,) = summarise(
        trial(f"i{at}", reason, repeat=repeat)
        for at in range(4)
        for repeat, reason in ((1, Reason.GREEN), (2, SECOND[at]), (3, Reason.GREEN), (4, SECOND[at]))
    ).reviewers
    assert four.stability is not None
    single = flips(four) / 2
    for variance, agent in (({"oracle": 0.6, "reviewer": 0.3, "agent": 0.1}, 0.25), ({"oracle": 0.5, "run": 0.5}, 0.0)):
        two_reviews = replace(four, stability=replace(four.stability, reviews=2, variance=variance))
        ahead = design(two_reviews, reviews=2, repeats=6)
        assert ahead is not None
        reviewer = 1 - agent
        assert ahead.noise == pytest.approx(single * (reviewer / 2 + agent / 4 + reviewer / 2 + agent / 6))


def test_what_the_baseline_did_not_know_is_expected_again() -> None:
    (half,) = summarise(
        trial(f"i{at}", reason) for at, reason in enumerate([Reason.GREEN, Reason.FAILED, Reason.BROKEN, Reason.BROKEN])
    ).reviewers
    ahead = design(half)
    assert ahead is not None
    assert (sum(ahead.sizes), ahead.unknown, ahead.unknown_before, ahead.rate) == (4, 0.5, 0.5, 0.5)


def test_a_whole_run_may_lack_no_oracle_of_the_baseline() -> None:
    before, after = run("cm" * 42), run("cm" * 32)
    part = side_by_side(before, after)
    assert (rule(part)[0], part.comparison.only_before) == (GateResult.PASSED, 20)
    whole = side_by_side(before, after, whole=True)
    ruling, text = rule(whole)
    assert (ruling, whole.comparison.pairs, whole.comparison.known) == (GateResult.INCONCLUSIVE, 84, 64)
    assert sum(whole.design.sizes) == 64  # what such a run can show is foreseen from what it measured
    assert (part.whole, whole.whole, side_by_side(before, before, whole=True).whole) == (False, True, False)
    assert "20 oracles of the baseline are missing here and taken as unknown." in text
    assert "say --part if they were left out on purpose" in text


def test_who_cannot_be_gated_is_not_gated_later_either() -> None:
    before, after = run("ccm"), run("ccm", simulated=True)
    assert "only compares locations and understands nothing" in side_by_side(before, after).refusal
    assert side_by_side(before, after, gated=False).refusal is None
    told = run("ccm", privileged=("mini",))
    assert "mini is shown the answer" in side_by_side(told, before).refusal


def test_an_agent_whose_files_changed_is_refused() -> None:
    before, after = (run("ccm", versions={"agent-identity": digest}) for digest in ("d1", "d2"))
    assert (
        "settings, model or files changed since; --crab-allow-difference=agent-version"
        in side_by_side(before, after).refusal
    )


def labelled(verdicts: dict[str, str], **fields: Any) -> Summary:
    """A run with one oracle a letter, each of its own repository, by category."""
    reasons = {"c": Reason.GREEN, "m": Reason.FAILED, "u": Reason.AGENT_ERROR}
    return summarise(
        trial_of(
            instance=f"{category}-{at}",
            repo=f"owner/{category}-{at}",
            provenance=Provenance.GITHUB,
            reviewer="mine",
            agent="mini",
            runtime="docker",
            results=(comment_result("c0", category=Category(category), kind=Kind.BEHAVIORAL, reason=reasons[letter]),),
            **fields,
        )
        for category, letters in verdicts.items()
        for at, letter in enumerate(letters)
    )


LARGE = {"security": "c" * 8 + "m" * 6, "functional": "cm" * 150, "design": "cm" * 60}


def test_all_caught_security_oracles_lost_do_not_pass_and_are_named() -> None:
    """The whole falls by 1.8 points and a margin of 10 is met by far."""
    one = side_by_side(labelled(LARGE), labelled({**LARGE, "security": "m" * 14}), margin=10.0)
    ruling, text = rule(one)
    (overall,) = rule_on_baselines([one])
    assert (ruling, overall.word) == (GateResult.INCONCLUSIVE, Word.WITHIN)
    assert "category security: 8 lost and 0 gained of 14 oracles" in text
    assert "--crab-margin security=POINTS" in text
    assert "category functional" not in text


def test_a_label_of_all_oracles_is_not_ruled_on_beside_the_whole() -> None:
    before, after = (labelled({"design": letters * 30}) for letters in ("cccm", "ccmm"))
    one = side_by_side(before, after, margin=10.0)
    ruling, text = rule(one)
    assert ruling is GateResult.FAILED
    assert "category design" not in text
    both = side_by_side(labelled(LARGE), labelled({**LARGE, "security": "m" * 14, "design": "m" * 120}), margin=5.0)
    ruling, text = rule(both)
    assert ruling is GateResult.FAILED
    assert "category security: 8 lost" in text
    assert "so the gate does not pass" not in text


def test_an_unchanged_run_passes_with_its_labels() -> None:
    one = side_by_side(labelled(LARGE), labelled(LARGE), margin=10.0)
    assert rule(one)[0] is GateResult.PASSED
    assert {(each.dimension, each.label) for each in one.labels} == {
        ("category", "security"),
        ("category", "functional"),
        ("category", "design"),
        ("kind", "behavioral"),
    }
    rows = {each.label: each.comparison for each in one.labels}
    assert (rows["security"].known, rows["security"].before, rows["behavioral"].known) == (14, 8 / 14, 434)


@pytest.mark.parametrize(
    ("name", "points", "result"),
    [
        ("security", 10, GateResult.FAILED),
        ("category:security", 10, GateResult.FAILED),
        ("security", 100, GateResult.PASSED),
        ("design", 50, GateResult.INCONCLUSIVE),
        ("nowhere", 50, GateResult.INCONCLUSIVE),
    ],
)
def test_a_label_has_a_margin_of_its_own(name: str, points: float, result: GateResult) -> None:
    """The label without a margin, security, stands out beside that of another one."""
    lost = labelled({**LARGE, "security": "m" * 14})
    ruling, text = rule(side_by_side(labelled(LARGE), lost, margin=10.0, margins={name: points}))
    assert ruling is result, text
    if name == "nowhere":
        assert "No oracle has the label nowhere" in text


def test_p_of_labels_is_adjusted_within_their_dimension() -> None:
    one = side_by_side(labelled(LARGE), labelled({**LARGE, "security": "m" * 14}))
    found = {each.label: each for each in one.labels}
    assert found["security"].p_holm == pytest.approx(3 * found["security"].comparison.p_clusters)
    assert found["behavioral"].p_holm == found["behavioral"].comparison.p_clusters


def test_a_planned_instance_that_is_absent_counts_as_unknown_in_the_run_too() -> None:
    """A gate in a run is as strict as a comparison afterwards, over what was to be run."""
    before, after = run("cm" * 80), run("cm" * 49)
    planned = {f"i{at}" for at in range(160)}
    for fields in ({}, {"planned": planned}):
        one = side_by_side(before, after, margin=10.0, whole=True, **fields)
        assert (rule(one)[0], one.comparison.only_before, one.comparison.pairs) == (GateResult.INCONCLUSIVE, 62, 160)
    part = side_by_side(before, after, margin=10.0, whole=True, planned=set(list(planned)[:0]) | {"i0", "i1"})
    assert (rule(part)[0], part.comparison.pairs, part.comparison.only_before) == (GateResult.PASSED, 98, 62)


@pytest.mark.parametrize("looks", [1, 2, 5])
def test_looks_share_the_chance_of_an_error(looks: int) -> None:
    one = side_by_side(run("cm" * 80), run("cm" * 80), looks=looks)
    assert one.comparison.level == pytest.approx(1 - 0.05 / looks)
    assert one.design.level == one.comparison.level


def test_a_gate_speaks_for_pull_requests_unless_repositories_are_asked_for() -> None:
    before = summarise(trial(f"i{at}", Reason.GREEN, repo=f"owner/{at % 3}") for at in range(90))
    narrow = side_by_side(before, before)
    wide = side_by_side(before, before, unit="repository")
    assert (rule(narrow)[0], rule(wide)[0]) == (GateResult.PASSED, GateResult.INCONCLUSIVE)
    assert "pull requests like these" in rule(narrow)[1].splitlines()[0]
    assert "For other repositories too: " in rule(narrow)[1]
    assert "other repositories too" in rule(wide)[1].splitlines()[0]
    assert "3 repositories show no change, however large" in rule(wide)[1]
