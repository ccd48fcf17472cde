from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.results.files import write_trials
from pytest_crab.store import FileStore
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, say
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import Finding, Provenance, Reason, Review, Score, Trial, Unit

if TYPE_CHECKING:
    from conftest import Judging

CAUGHT, MISSED, BROKEN = Reason.GREEN, Reason.FAILED, Reason.BROKEN


def trial(reviewer: str, repo: str, reasons: list[Reason], lines: list[int], **fields: Any) -> Trial:
    """A trial with a comment on the lines 10, 20 ... of a.py, and a finding on each of ``lines``."""
    results = tuple(
        comment_result(f"c{at}", reason, path="a.py", lines=(10 * at + 10, 10 * at + 10))
        for at, reason in enumerate(reasons)
    )
    findings = tuple(Finding(body=f"Line {line}", path="a.py", start=line) for line in lines)
    known: dict[str, Any] = {"repo": repo, "provenance": Provenance.AUTHORED, "agent": "mine", "runtime": "local"}
    known["review"] = Review(findings=findings)
    return trial_of(results, instance=f"{repo}-1", reviewer=reviewer, **{**known, **fields})


def compare(folder: Path, trials: list[Trial], *options: str) -> tuple[int, str]:
    write_trials(folder / "trials.jsonl", trials)
    result = CliRunner().invoke(main, ["compare-rulers", str(folder), *options])
    return result.exit_code, result.output


def data(folder: Path, trials: list[Trial]) -> dict[str, Any]:
    code, output = compare(folder, trials, "--json")
    assert code == 0, output
    return json.loads(output)  # type: ignore[no-any-return]


def test_each_ruler_has_its_own_hits_and_the_differing_comments_are_listed(tmp_path: Path) -> None:
    trials = [
        trial("alpha", "one", [CAUGHT, CAUGHT, MISSED], [10, 30]),
        trial("beta", "one", [CAUGHT, MISSED, BROKEN], [10, 20, 30]),
    ]
    found = data(tmp_path, trials)
    rates = {(rate["reviewer"], rate["ruler"]): (rate["comments"], rate["mean"]) for rate in found["rates"]}
    assert rates["alpha", "tests"] == (3, pytest.approx(2 / 3))
    assert rates["alpha", "location"] == (3, pytest.approx(2 / 3))
    assert rates["beta", "tests"] == (2, 0.5)  # a broken oracle has no value
    assert rates["beta", "location"] == (3, 1.0)
    (pair,) = found["pairs"]
    assert (pair["both"], pair["only_one"], pair["only_other"], pair["neither"]) == (2, 1, 2, 0)
    differing = {(cell["reviewer"], cell["comment"]): cell["values"]["tests"] for cell in found["differing"]}
    assert differing == {("alpha", "c1"): 1.0, ("alpha", "c2"): 0.0, ("beta", "c1"): 0.0}


@pytest.mark.parametrize(
    ("rule", "comments", "mean", "missed"),
    [
        ([], 3, 2 / 3, {"c1"}),  # the finding on line 21 is beside the second comment; the last comment has no place
        (["--location-rule", "paper"], 3, 2 / 3, {"c1"}),
        (["--location-rule", "release-2026-01"], 4, 1 / 4, {"c1", "c2", "c3"}),
        (["--location-rule", "release-2026-07"], 4, 1.0, set()),
    ],
)
def test_a_rule_by_location_is_chosen_and_named(
    tmp_path: Path, rule: list[str], comments: int, mean: float, missed: set[str]
) -> None:
    one = trial("alpha", "one", [CAUGHT] * 3, [10, 21, 30, 90])
    rest = trial_of(
        [comment_result("c3", CAUGHT)],
        instance="one-1",
        reviewer="alpha",
        repo="one",
        runtime="local",
        provenance=Provenance.AUTHORED,
        agent="mine",
    )
    one = dataclasses.replace(one, comments=(*one.comments, *rest.comments), scores=(*one.scores, *rest.scores))
    code, output = compare(tmp_path, [one], *rule, "--json")
    assert code == 0, output
    found = json.loads(output)
    name = rule[-1] if rule else "paper"
    assert found["location_rule"] == name
    (rate,) = [rate for rate in found["rates"] if rate["ruler"] == "location"]
    assert (rate["comments"], rate["mean"]) == (comments, pytest.approx(mean))
    assert {cell["comment"] for cell in found["differing"]} == missed
    assert name in compare(tmp_path, [one], *rule)[1]


def test_rankings_that_are_reversed_have_tau_minus_one(tmp_path: Path) -> None:
    trials = [
        each
        for repo in ("one", "two", "three")
        for each in (
            trial("alpha", repo, [CAUGHT, CAUGHT, MISSED], [10]),
            trial("beta", repo, [CAUGHT, MISSED, MISSED], [10, 20]),
            trial("gamma", repo, [MISSED, MISSED, MISSED], [10, 20, 30]),
        )
    ]
    ranks = data(tmp_path, trials)["pairs"][0]["ranks"]
    assert ranks == {"tau": -1.0, "low": -1.0, "high": -1.0}


def test_controls_superseded_records_and_trials_without_review_do_not_count(tmp_path: Path) -> None:
    trials = [
        trial("alpha", "one", [MISSED], []),
        trial("alpha", "one", [CAUGHT], [10]),
        trial("none", "one", [MISSED], [], variant="control"),
        trial("beta", "one", [BROKEN], [], review=None),
    ]
    found = data(tmp_path, trials)
    assert found["trials"] == 1
    assert {rate["reviewer"]: rate["mean"] for rate in found["rates"]} == {"alpha": 1.0}


def test_similarity_is_the_best_finding_of_a_comment(tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    pytest.importorskip("rouge_score")
    alpha = trial("alpha", "one", [CAUGHT], [10])
    (tmp_path / "instances").mkdir()
    subject = {"schema": 1, "instance": "one-1", "repo": "one", "language": "python", "title": "T", "diff": ""}
    comment = {"id": "c0", "path": "a.py", "lines": [10, 10], "body": "Line 10"}
    (tmp_path / "instances" / "one-1.json").write_text(json.dumps({**subject, "comments": [comment]}))
    code, output = compare(tmp_path, [alpha], "--similarity", "--json")
    assert code == 0, output
    means = {rate["ruler"]: rate["mean"] for rate in json.loads(output)["rates"]}
    assert means["rouge-l"] == means["chrf"] == 1.0
    assert means["bleu-4"] == 0.0  # two words have no common 4-gram, and nothing is smoothed


JUDGES = (
    "scripted: {use: cr-evaluator, model: scripted}",
    "tests: {use: cr-evaluator, model: scripted}",
    "pairs: {use: same-concern, model: scripted}",
    "sorter: {use: issue-category, model: scripted}",
)


def label(asked: Asked) -> Reply:
    """Hit where finding and comment name the same line; noise on line 99; an answer outside the labels on line 98."""
    text = asked.body["messages"][0]["content"]
    data = text.partition("----- begin ")[2]
    finding = re.findall(r"Comment to label, on [^\n]*\nLine (\d+)", data)[0]
    issue = re.findall(r"Known issue, in [^\n]*\nLine (\d+)", data)[0]
    word = {"99": "NOISE", "98": "CONFIRMED"}.get(finding, "VALID_SUGGESTION")
    return say(json.dumps({"classification": "BUG_HIT" if issue == finding else word, "reason": "r"}), pieces=1)


@pytest.fixture
def provider(judging: Judging) -> ScriptedProvider:
    """A scripted judge, and a report whose instances hold the comments' texts."""
    comments = [(line, f"Line {line}") for line in (10, 20, 30)]
    return judging(label, JUDGES, comments, repos=("one", "two"))


@pytest.fixture
def judged() -> list[Trial]:
    """alpha: two hits of one comment, a valid suggestion, noise; beta: a hit, and a finding that gets no label."""
    return [
        trial("alpha", "one", [CAUGHT, MISSED], [10, 10, 12, 99]),
        trial("beta", "one", [MISSED, MISSED], [10, 98]),
        trial("alpha", "two", [MISSED], []),
    ]


def test_a_judge_is_a_ruler_and_gives_the_papers_measures(
    tmp_path: Path, provider: ScriptedProvider, judged: list[Trial]
) -> None:
    code, output = compare(tmp_path, judged, "--judge", "scripted", "--json")
    assert code == 0, output
    found = json.loads(output)
    assert found["hit_rulers"] == ["tests", "location", "scripted"]
    rates = {(rate["reviewer"], rate["ruler"]): (rate["comments"], rate["mean"]) for rate in found["rates"]}
    assert rates["alpha", "scripted"] == (3, pytest.approx(1 / 3))
    assert rates["beta", "scripted"] == (1, 1.0)  # its other comment met an answer outside the labels
    pairs = {(pair["one"], pair["other"]): pair for pair in found["pairs"]}
    pair = pairs["tests", "scripted"]
    assert (pair["both"], pair["only_one"], pair["only_other"], pair["neither"]) == (1, 0, 1, 2)
    assert {(cell["reviewer"], cell["comment"]) for cell in found["differing"]} == {("beta", "c0")}
    (judge,) = found["judged"]
    signals = {one["reviewer"]: one["signal"] for one in judge["reviewers"]}
    alpha = signals["alpha"]
    assert [alpha[name] for name in ("hits", "valid", "noise", "findings", "bugs_hit", "bugs")] == [2, 1, 1, 4, 1, 3]
    assert alpha["recall"]["value"] == pytest.approx(1 / 3)
    assert (alpha["precision"]["value"], alpha["usefulness"]["value"], alpha["snr"]["value"]) == (0.5, 0.75, 3.0)
    assert alpha["f1"]["value"] == pytest.approx(2 * (1 / 3) * 0.5 / (1 / 3 + 0.5))
    beta = signals["beta"]
    assert (beta["findings"], beta["unknown_findings"], beta["unknown_bugs"]) == (1, 1, 1)
    assert "no noise" in beta["snr"]["undefined"]
    assert any("CONFIRMED" in reason for reason in judge["unknown"])
    assert {each["label"] for each in judge["findings"] if "label" in each} == {"BUG_HIT", "VALID_SUGGESTION", "NOISE"}


def test_a_judge_of_another_rule_is_a_ruler_by_its_first_label(
    tmp_path: Path, provider: ScriptedProvider, judged: list[Trial]
) -> None:
    def same(asked: Asked) -> Reply:
        lines = re.findall(r"\nLine (\d+)", asked.body["messages"][0]["content"].partition("----- begin ")[2])
        return say(json.dumps({"classification": "SAME" if lines[0] == lines[1] else "DIFFERENT"}), pieces=1)

    provider.script = same
    code, output = compare(tmp_path, judged, "--judge", "pairs", "--json")
    assert code == 0, output
    found = json.loads(output)
    rates = {(rate["reviewer"], rate["ruler"]): (rate["comments"], rate["mean"]) for rate in found["rates"]}
    assert rates["alpha", "pairs"] == (3, pytest.approx(1 / 3))
    assert rates["beta", "pairs"] == (2, 0.5)
    (judge,) = found["judged"]
    assert judge["reviewers"] == []  # CR-Evaluator's measures are of its own labels
    assert judge["labels"] == {"alpha": {"SAME": 2, "DIFFERENT": 2}, "beta": {"SAME": 1, "DIFFERENT": 1}}
    output = compare(tmp_path, judged, "--judge", "pairs")[1]
    assert re.search(r"reviewer +SAME +DIFFERENT\n *alpha +2 +2\n", output), output


def test_a_judgement_is_paid_for_once_and_shown(
    tmp_path: Path, provider: ScriptedProvider, judged: list[Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, output = compare(tmp_path, judged, "--judge", "scripted", "--all")
    assert code == 0, output
    asked = len(provider.asked)
    assert asked == 8  # five findings that differ, on two comments each; alpha's first two and beta's first are one
    assert f"{asked} judgements asked" in output
    assert "alpha" in output
    assert "SNR is undefined, there is no noise" in output
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    code, again = compare(tmp_path, judged, "--judge", "scripted", "--all")
    assert (code, len(provider.asked)) == (0, asked)
    assert "every judgement was stored" in again


def test_the_data_say_what_the_judges_used(tmp_path: Path, provider: ScriptedProvider, judged: list[Trial]) -> None:
    def used() -> tuple[int, dict[str, Any]]:
        code, output = compare(tmp_path, judged, "--judge", "scripted", "--json")
        assert code == 0, output
        (judge,) = json.loads(output)["judges"]
        return judge["asked"], judge["usage"]

    asked, usage = used()
    assert (asked, usage["requests"]) == (8, 8)
    assert usage["cost_usd"] == pytest.approx((usage["input_tokens"] + 10 * usage["output_tokens"]) / 1e6)
    assert usage["cost_usd"] > 0
    asked, usage = used()
    assert (asked, usage["requests"], usage["cost_usd"]) == (0, 0, 0)


def test_a_judgement_of_another_shape_is_named_by_its_file(
    tmp_path: Path, provider: ScriptedProvider, judged: list[Trial]
) -> None:
    assert compare(tmp_path, judged, "--judge", "scripted")[0] == 0
    store = FileStore(tmp_path / ".crab")
    files = [path for step, path in store.objects() if step == "judgement"]
    store.put("judgement", files[3].stem, {"label": 5})
    code, output = compare(tmp_path, judged, "--judge", "scripted")
    assert code == 1
    assert f"remove {files[3]}" in output
    assert "prune" not in output
    files[3].unlink()
    asked = len(provider.asked)
    code, output = compare(tmp_path, judged, "--judge", "scripted")
    assert (code, len(provider.asked)) == (0, asked + 1), output


def test_a_judge_is_planned_and_checked(tmp_path: Path, provider: ScriptedProvider, judged: list[Trial]) -> None:
    code, output = compare(tmp_path, judged, "--judge", "scripted", "--plan")
    assert (code, provider.asked) == (0, []), output
    assert "8 votes, 0 stored, 8 to ask" in output
    code, output = compare(tmp_path, judged, "--judge", "scripted", "--plan", "--check-judge")
    assert (code, provider.asked) == (0, []), output
    assert "24 votes, 0 stored, 24 to ask" in output
    code, output = compare(tmp_path, judged, "--judge", "scripted", "--check-judge", "--json")
    assert code == 0, output
    (judge,) = json.loads(output)["judges"]
    assert [(check["form"], check["compared"]) for check in judge["checks"]] == [("swapped", 6), ("padded", 6)]
    assert judge["checks"][1]["changed"] == 0
    assert len(provider.asked) == 3 * 8
    code, output = compare(tmp_path, judged, "--judge", "scripted", "--plan", "--check-judge")
    assert "24 votes, 24 stored, 0 to ask" in output


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--judge", "nobody"], 1, "names no judge 'nobody'"),
        (["--judge", "sorter"], 1, "issue-category compares no finding with a comment"),
        (["--judge", "tests"], 2, "a ruler has this name"),
        (["--plan"], 2, "--plan is about a judge; name one with --judge"),
        (["--budget", "1"], 2, "--budget is about a judge"),
        (["--replay"], 2, "--replay is about a judge"),
        (["--jobs", "4"], 2, "--jobs is about a judge"),
        (["--store", ".crab"], 2, "--store is about a judge"),
    ],
)
def test_a_judge_that_cannot_be_one_is_refused(
    tmp_path: Path, provider: ScriptedProvider, judged: list[Trial], arguments: list[str], code: int, said: str
) -> None:
    exit_code, output = compare(tmp_path, judged, *arguments)
    assert exit_code == code
    assert said in output
    assert not provider.asked


def test_a_judge_is_held_against_labels_by_people(
    tmp_path: Path, provider: ScriptedProvider, judged: list[Trial]
) -> None:
    def labelled(alpha: list[str], beta: list[str]) -> list[Trial]:
        return [
            dataclasses.replace(
                one,
                scores=(
                    *one.scores,
                    *(
                        Score(scorer="use", unit=Unit.FINDING, subject=f"{at}", label=word, reason=Reason.GREEN)
                        for at, word in enumerate(words)
                    ),
                ),
            )
            for one, words in zip(judged, (alpha, beta, []), strict=True)
        ]

    _, output = compare(tmp_path, judged, "--judge", "scripted")
    assert "not compared with labels by people" in output
    trials = labelled(["bug_hit", "BUG_HIT", "NOISE", "NOISE"], ["NOISE", "NOISE"])
    code, output = compare(tmp_path, trials, "--judge", "scripted", "--judge-labels", "use", "--json")
    assert code == 0, output
    (judge,) = json.loads(output)["judges"]
    # The judge says: hit, hit, valid, noise; hit, and nothing. People: hit, hit, noise, noise; noise.
    chance = (3 * 2 + 1 * 3) / 25
    expected = {"compared": 5, "agreed": 3, "unknown": 1, "kappa": pytest.approx((3 / 5 - chance) / (1 - chance))}
    assert judge["calibration"] == expected
    assert "agrees with people on 3 of 5 findings" in compare(tmp_path, judged, "--judge", "scripted")[1]
    asked = len(provider.asked)
    for trials, said in ((judged, "no finding of this report"), (labelled(["GOOD"], []), "GOOD is no label")):
        code, output = compare(tmp_path, trials, "--judge", "scripted", "--judge-labels", "use")
        assert code == 1
        assert said in output
    assert len(provider.asked) == asked


def test_without_a_judge_crab_yaml_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crab.yaml").write_text("judges: [wrong]")
    code, output = compare(tmp_path, [trial("alpha", "one", [CAUGHT], [10])])
    assert code == 0, output
    code, output = compare(tmp_path, [trial("alpha", "one", [CAUGHT], [10])], "--judge", "any")
    assert code == 1
    assert "judges is no mapping" in output


def test_the_text_names_reviewers_rulers_and_texts(tmp_path: Path) -> None:
    code, output = compare(tmp_path, [trial("alpha", "one", [CAUGHT, MISSED], [20])])
    assert code == 0
    assert all(word in output for word in ("alpha", "tests", "location", "50.0% (2)", "Line 20", "one-1::alpha c0"))
    assert "no rank agreement" in output


def test_names_in_a_foreign_file_cannot_steer_a_terminal(tmp_path: Path) -> None:
    code, output = compare(tmp_path, [trial("al\x1b[2Jpha", "o\x1b[2Jne", [CAUGHT, MISSED], [20])])
    assert (code, "\x1b" in output) == (0, False)
    assert r"o\x1b[2Jne-1::al\x1b[2Jpha c0" in output


def test_a_report_without_a_review_is_an_error(tmp_path: Path) -> None:
    code, output = compare(tmp_path, [trial("alpha", "one", [BROKEN], [], review=None)])
    assert code == 1
    assert "no trial in it has a review" in output
    assert "Traceback" not in output
