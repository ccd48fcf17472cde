"""Rulers inside a run: judges, location and similarity beside oracles, planned, and each vote is paid for once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, fail, say

pytestmark = pytest.mark.bubblewrap

JUDGES = """\
models:
  providers: {local: {base_url: 'URL', api: openai}}
  prices: {m: {input: 1, output: 10}}
  retries: 0
judges:
  strict: {use: cr-evaluator, model: m, provider: local}
"""
EVERY = ("--crab-score=oracles", "--crab-score=location", "--crab-score=similarity", "--crab-score=strict")
RUN = ("--agent=simulated", "instances")


def label(word: str) -> Reply:
    return say(json.dumps({"classification": word, "reason": f"it is {word}"}), pieces=1)


def about_percent(asked: Asked) -> Reply:
    """A hit where finding and issue are both about the percent, and noise elsewhere."""
    text = asked.body["messages"][0]["content"]
    return label("BUG_HIT" if text.lower().count("percent") > 1 else "NOISE")


@pytest.fixture
def provider(lab: Any) -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as provider:
        provider.script = about_percent
        text = (lab.path / "crab.yaml").read_text()
        assert "models:" not in text
        lab.write({"crab.yaml": text + JUDGES.replace("URL", provider.openai_url)})
        yield provider


def labels(trial: dict[str, Any], scorer: str, unit: str = "comment") -> dict[str, str | None]:
    own = [score for score in trial["scores"] if (score["scorer"], score["unit"]) == (scorer, unit)]
    return {score["subject"]: score.get("label") for score in own}


def test_every_ruler_scores_beside_the_oracles_and_each_vote_is_paid_for_once(
    lab: Any, provider: ScriptedProvider
) -> None:
    pytest.importorskip("sacrebleu")
    pytest.importorskip("rouge_score")
    plan = lab.run("--reviewer=human", *EVERY, "--crab-plan", *RUN)
    plan.stdout.fnmatch_lines(["*judgement would run (4 of 4)*", "*8 judgements*"])
    assert not provider.asked

    result = lab.run("--reviewer=human", *EVERY, "--crab-junit=rulers.xml", "-v", *RUN)
    result.assert_outcomes(passed=2)
    shop, till = lab.records()
    for trial in (shop, till):
        assert labels(trial, "oracles") == {"c0": "caught", "c1": "caught"}
        assert labels(trial, "location") == {"c0": "caught", "c1": "caught"}
        assert labels(trial, "strict") == {"c0": "caught", "c1": "missed"}
        assert labels(trial, "strict", "finding") == {"0": "BUG_HIT", "1": "NOISE"}
        assert set(labels(trial, "chrf").values()) == {"compared"}
        used = trial["scoring"]["strict"]
        assert (used["answers"], used["judge"], used["usage"]["cost_usd"]) == (4, True, pytest.approx(4 * 0.0003))
        assert used["paid_usd"] == pytest.approx(4 * 0.0003)
        assert trial["versions"]["rulers"]["strict"].startswith("cr-evaluator of m, settings ")
        assert trial["versions"]["rulers"]["location"] == "arXiv 2601.19494, paper"
    asked = len(provider.asked)
    assert asked == 8
    booked = [json.loads(line) for file in (lab.store / "ledger").iterdir() for line in file.read_text().splitlines()]
    assert {(entry["trial"], entry["step"]) for entry in booked} == {
        ("shop-1::human", "judgement"),
        ("till-2::human", "judgement"),
    }

    shown_everywhere(lab, result)

    lab.run("--reviewer=human", *EVERY, *RUN).assert_outcomes(passed=2)
    assert len(provider.asked) == asked
    assert [trial["scores"] for trial in lab.records()] == [shop["scores"], till["scores"]]
    assert all(step["judgement"] for step in lab.reused())
    assert ["paid_usd" in trial["scoring"]["strict"] for trial in lab.records()] == [False, False]
    plan = lab.run("--reviewer=human", *EVERY, "--crab-plan", *RUN)
    plan.stdout.fnmatch_lines(["*judgement stored*", "*0 judgements; about 0.00 USD*"])


def shown_everywhere(lab: Any, result: pytest.RunResult) -> None:
    """Table, summary.md, page and JUnit have each ruler with its mean, its version, and a judge's warning."""
    warning = "not compared with labels by people"
    told = [
        "Mean by ruler*",
        "oracles*100.0% of 4",
        "strict*50.0% of 4",
        "strict: cr-evaluator of m*",
        "*labels by people*",
    ]
    result.stdout.fnmatch_lines(told)
    markdown = (lab.report / "summary.md").read_text()
    assert "| strict | 50.0% of 4 |" in markdown
    assert warning in markdown
    page = (lab.report / "index.html").read_text()
    section = page.partition('<section id="rulers"')[2].partition("</section>")[0]
    for said in (
        "arXiv 2601.19494, paper",
        "cr-evaluator of m, settings",
        warning,
        "50.0% of 4",
        "#t=shop-1%3A%3Ahuman",
    ):
        assert said in section, said
    junit = (lab.path / "rulers.xml").read_text()
    assert re.search(r'name="crab.ruler.strict" value="0.5"', junit)
    assert re.search(r'name="crab.ruler.strict.version" value="cr-evaluator of m', junit)
    assert re.search(rf'name="crab.ruler.strict.caution" value="{warning}', junit)


def said(result: pytest.RunResult) -> str:
    return " ".join(result.stdout.str().split())


def test_a_judge_that_a_command_held_against_people_loses_its_warning(lab: Any, provider: ScriptedProvider) -> None:
    run = ("--reviewer=human", "--crab-score=strict", "-v", "instances")
    assert "not compared with labels by people" in said(lab.run(*run))
    lab.write({"labels.csv": "trial,finding,use\nshop-1::human,0,BUG_HIT\nshop-1::human,1,BUG_HIT\n"})
    report = str(lab.report)
    for command in (
        ["report", report, "--finding-labels", "labels.csv"],
        ["compare-rulers", report, "--judge", "strict", "--judge-labels", "use", "--store", str(lab.store)],
    ):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
    assert "agrees with people on 1 of 2 findings" in done.output
    asked = len(provider.asked)
    told = said(lab.run(*run))
    assert len(provider.asked) == asked
    assert "not compared with labels" not in told
    for text in (told, *((lab.report / name).read_text() for name in ("summary.md", "index.html"))):
        assert "agrees with people on 1 of 2 findings" in text


def test_a_judge_that_knows_no_hits_is_no_ruler(lab: Any, provider: ScriptedProvider) -> None:
    lab.write({"crab.yaml": (lab.path / "crab.yaml").read_text().replace("cr-evaluator", "issue-category")})
    result = lab.run("--reviewer=human", "--crab-score=strict", *RUN)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*issue-category compares no finding with a comment*"])
    assert not provider.asked


def test_judgements_are_asked_again_on_request_and_equal_questions_once(lab: Any, provider: ScriptedProvider) -> None:
    run = ("--reviewer=human", "--crab-score=strict", "--crab-repeat=2", "instances")
    for options, asked in (((), 8), ((), 8), (("--crab-rerun=judgement",), 16)):
        lab.run(*options, *run)
        assert len(provider.asked) == asked
    plan = lab.run("--crab-rerun=judgement", "--crab-plan", *run)
    plan.stdout.fnmatch_lines(["*judgement would run (4 of 4)*"])


def test_a_judge_alone_decides_and_needs_neither_agent_nor_environment(lab: Any, provider: ScriptedProvider) -> None:
    lab.forget("proof", "revision")
    lab.run("--reviewer=human", "--reviewer=none", "--crab-score=strict", *RUN).assert_outcomes(failed=4)
    for trial in lab.records():
        assert "revision" not in trial
        assert {step["step"] for step in trial["steps"]} <= {"fetch", "review", "judgement"}
        caught = {"c0": "caught", "c1": "missed"} if trial["reviewer"] == "human" else {"c0": "missed", "c1": "missed"}
        assert labels(trial, "strict") == caught
    assert len(provider.asked) == 8  # an empty review is judged without a question


@pytest.mark.parametrize("script", [lambda _asked: label("CONFIRMED"), fail(500)])
def test_what_a_judge_does_not_label_is_unknown_and_never_noise(
    lab: Any, provider: ScriptedProvider, script: Callable[[Asked], Reply]
) -> None:
    provider.script = script
    lab.run("--reviewer=human", "--crab-score=strict", *RUN).assert_outcomes(errors=2)
    scores = [score for trial in lab.records() for score in trial["scores"]]
    assert {score["reason"] for score in scores} == {"not judged"}
    assert {score.get("label") for score in scores} == {None}
    assert all(score["detail"] for score in scores)


def test_a_judge_that_fails_leaves_the_oracles_as_they_are(lab: Any, provider: ScriptedProvider) -> None:
    result = lab.run("--reviewer=human", "--crab-score=oracles", "--crab-score=strict", "--crab-budget=0.0002", *RUN)
    result.assert_outcomes(passed=2)
    verdicts = [verdict for trial in lab.records() for verdict in labels(trial, "strict").values()]
    assert None in verdicts
    assert len(provider.asked) < 8
    lab.run("--reviewer=human", "--crab-score=oracles", "--crab-score=strict", *RUN).assert_outcomes(passed=2)
    assert len(provider.asked) <= 9  # one that was under way when the budget was spent may be asked again
    assert None not in [verdict for trial in lab.records() for verdict in labels(trial, "strict").values()]


#: The interface of sentence-transformers: the words of a small vocabulary, counted.
ENCODER = """
class SentenceTransformer:
    def __init__(self, name):
        if name != "words":
            raise OSError(f"{name} is no model")

    def encode(self, texts, normalize_embeddings, show_progress_bar):
        counts = [[text.lower().count(word) for word in ("percent", "escape")] for text in texts]
        return [[one / (sum(n * n for n in row) ** 0.5 or 1) for one in row] for row in counts]
"""


def test_embeddings_are_a_ruler_of_a_run_and_of_its_report(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    about = "Metadata-Version: 2.1\nName: sentence-transformers\nVersion: 3.0\n"
    lab.write({"lib/sentence_transformers.py": ENCODER, "lib/sentence_transformers-3.0.dist-info/METADATA": about})
    monkeypatch.syspath_prepend(lab.path / "lib")
    run = ("--reviewer=human", "--crab-score=location", *RUN)
    refused = lab.run("--crab-score=embedding:nothing", *run)
    refused.stderr.fnmatch_lines(["*embedding:nothing cannot be loaded: nothing is no model*"])
    lab.run("--crab-score=embedding:words", *run).assert_outcomes(passed=2)
    for trial in lab.records():
        own = [score for score in trial["scores"] if score["scorer"] == "embedding:words"]
        assert [(score["label"], score["value"]) for score in own] == [("compared", pytest.approx(1.0))] * 2
        assert trial["versions"]["rulers"]["embedding:words"] == "sentence-transformers 3.0"
    command = ["compare-rulers", str(lab.report), "--embedding", "words", "--json"]
    found = json.loads(CliRunner().invoke(main, command).output)
    assert found["rulers"] == ["location", "embedding:words"]  # no oracle was run
    assert found["hit_rulers"] == ["location"]


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        (
            ("--crab-score=opus",),
            "*'opus' is no ruler; use one of oracles, location,*, refinement,*, strict, or name a judge*",
        ),
        (("--crab-score=location", "--crab-score=embedding:m"), "*embedding:m needs sentence_transformers; install*"),
        (("--crab-score=chrf",), "*similarity gives no verdicts; name another ruler too*"),
    ],
)
def test_a_ruler_that_is_not_known_or_gives_no_verdict_is_refused(
    lab: Any, provider: ScriptedProvider, scores: tuple[str, ...], said: str
) -> None:
    result = lab.run("--reviewer=human", *scores, *RUN)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([said])
    assert not provider.asked
