"""pytest --answerer: one item for each row, its probes as results, stored, planned, and compared as trials are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.codereviewqa.reader import import_codereviewqa
from pytest_crab.cli import main
from pytest_crab.runtimes import bubblewrap, docker_status
from pytest_crab.testing.provider import Asked, Reply, ScriptedProvider, fail, say

CRAB_YAML = """\
models:
  providers: {{here: {{base_url: "{url}", api: openai}}}}
  prices: {{m: {{input: 1, output: 2}}}}
  retries: 0
answerers:
  chat: {{use: letters, model: m, provider: here}}
"""


def rows(count: int) -> list[dict[str, Any]]:
    """So many rows, of which the last one only deletes a line."""
    row = {
        "old": " def total(prices):\n-    return 1\n \n ",
        "new": " def total(prices):\n+    return sum(prices)\n \n ",
        "lang": "python",
        "type_correct": "modify",
        "type_wrong": ["add_only", "remove_only"],
        "loc_correct": [2],
        "loc_wrong_easy": [[1], [3], [4]],
        "loc_wrong_hard": [[1], [3], [4]],
    }
    solution = {"solution_correct": "2+ sum", "solution_wrong_easy": list("abc"), "solution_wrong_hard": list("def")}
    whole = [{**row, **solution, "review": f"Why is this {number}?"} for number in range(count - 1)]
    return [*whole, {**row, "review": "Drop it.", "type_correct": "remove_only", "type_wrong": ["add_only", "modify"]}]


@pytest.fixture
def probes(pytester: pytest.Pytester) -> Path:
    """A project with a set of three rows: 13 probes, of which the last row has three."""
    file = pytester.path / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows(3)))
    import_codereviewqa(file, pytester.path / "probes")
    pytester.makeini("[pytest]")
    return pytester.path


def summary(folder: Path) -> dict[str, Any]:
    found = json.loads((folder / ".crab" / "report" / "probes.json").read_text())
    return {answerer["answerer"]: answerer for answerer in found["answerers"]}


def test_right_is_right_and_one_letter_is_a_third_or_a_quarter(probes: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--answerer=right", "--answerer=constant", "probes")
    result.assert_outcomes(passed=3, failed=3)
    found = summary(probes)
    assert (found["right"]["overall"]["caught"], found["right"]["overall"]["known"]) == (13.0, 13)
    assert found["constant"]["overall"]["caught"] == 0
    means = {probe: languages["all"]["mean"] for probe, languages in found["constant"]["probes"].items()}
    assert means == {"change-type": pytest.approx(1 / 3), **dict.fromkeys(list(means)[1:], pytest.approx(1 / 4))}
    assert len(means) == 5
    assert found["right"]["probes"]["solution-hard"]["python"] == {
        "questions": 2,
        "mean": 1.0,
        "agreement": 1.0,
        "letters": {"A": 12, "B": 12, "C": 12, "D": 12},
    }
    assert found["constant"]["measure"] == "fixed"
    assert "answered correctly in every order" in (probes / ".crab" / "report" / "probes.md").read_text()
    result.stdout.fnmatch_lines(
        ["*answerers right, constant*", "Answers of constant (fixed, ours)*", "change-type *33.3%*"]
    )


def test_reports_of_answerers_have_words_and_columns_of_their_own(probes: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("--answerer=right", "--answerer=constant", "probes")
    lines = result.stdout.str()
    table = lines[lines.rindex("=== results") :]
    assert re.search(r"^Answerer +by +Wording +Overall +95% +Macro +/known +Unknown$", table, re.MULTILINE)
    assert re.search(
        r"^right: 100.0% \(13 of 13 probes caught; 95% interval .*, rows like these\)$", table, re.MULTILINE
    )
    report = probes / ".crab" / "report"
    for text in (table, (report / "probes.md").read_text()):
        assert not set(re.findall(r"[a-z]+", text.lower())) & {
            "oracle",
            "oracles",
            "reviewer",
            "reviewers",
            "repository",
        }
    assert not (report / "trials.jsonl").exists()  # no trial poses as what it is not
    assert not (report / "summary.json").exists()
    assert [found["cost_usd"] for found in summary(probes).values()] == [0.0, 0.0]


def test_reviewers_and_answerers_of_one_run_are_apart(probes: Path, pytester: pytest.Pytester) -> None:
    options = ("--reviewer=human", "--agent=suggestions", "--answerer=constant", "--crab-allow-unconfined")
    result = pytester.runpytest(*options, "--crab-runtime=local", "probes", "--crab-junit=junit.xml")
    result.stdout.fnmatch_lines(["*0 of 3 instances fully caught, 0 of 3 pull requests fully caught in *"])
    result.stdout.fnmatch_lines(
        [
            "crab: reviewers human*; agent suggestions; answerers constant",
            "human[*]: 0.0% (0 of 3 comments caught; *",
            "Reviewer *",
            "by probe * constant",
            "Answerer *",
            "constant: 0.0% (0 of 13 probes caught; *",
        ]
    )
    report = probes / ".crab" / "report"
    reviewers = json.loads((report / "summary.json").read_text())["reviewers"]
    assert [one["reviewer"] for one in reviewers] == ["human"]
    assert list(summary(probes)) == ["constant"]
    suites = {suite.get("name"): suite for suite in ElementTree.parse(probes / "junit.xml").getroot().iter("testsuite")}
    assert {name: suite.get("failures") for name, suite in suites.items()} == {"human": "3", "constant": "13"}
    known = {one.get("name"): one.get("value") for one in suites["constant"].iter("property")}
    assert (known["crab.measure"], known["crab.wording"], known["crab.rate"]) == ("fixed", "ours", "0")


RAISES = """\
from dataclasses import dataclass


@dataclass
class Raises:
    measure, singly, raw = "mine", False, False

    def identity(self):
        return None

    def answer(self, questions, services, note=None):
        raise KeyError("mine")
"""


def test_an_answerer_that_raises_breaks_its_probes(probes: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(mine=RAISES)
    (probes / "crab.yaml").write_text("answerers: {mine: {use: 'mine:Raises'}}\n")
    pytester.syspathinsert()
    result = pytester.runpytest("--answerer=mine", "probes")
    result.assert_outcomes(errors=3)
    fault = "broken: pytest-crab or one of its hooks failed: KeyError: 'mine'"
    assert summary(probes)["mine"]["unknown_causes"] == {fault + " (and alike in 2 more items)": 13}


def test_a_junit_file_has_a_case_for_each_probe(probes: Path, pytester: pytest.Pytester) -> None:
    model = Model(failing=8)  # in the second probe of the first row
    with ScriptedProvider() as provider:
        provider.script = model
        probes.joinpath("crab.yaml").write_text(CRAB_YAML.format(url=provider.openai_url))
        options = ("--answerer=chat", "--answerer=constant", "--crab-jobs=1", "probes")
        pytester.runpytest(*options, "--crab-junit=junit.xml", "--crab-junit-misses=skipped")
    found = {
        (suite.get("name"), case.get("classname"), case.get("name")): [one.tag for one in case]
        for suite in ElementTree.parse(probes / "junit.xml").getroot().iter("testsuite")
        for case in suite.iter("testcase")
    }
    assert len(found) == 26
    assert found["chat", "python-000", "change-type"] == ["system-out"]
    assert found["chat", "python-000", "lines-easy"] == ["error"]
    assert found["constant", "python-002", "lines-hard"] == ["skipped"]
    store = str(probes / ".crab")
    shown = CliRunner().invoke(main, ["show", "python-000::chat", "--store", store]).output
    assert "unknown  lines-easy: " in shown
    assert "  letters of change-type by letters, ours: AABCBC" in shown
    assert "constant" not in shown
    missing = CliRunner().invoke(main, ["show", "python-009", "--store", store])
    assert (missing.exit_code, "there" in missing.output) == (1, True)


class Model:
    """Knows each correct option; counts what it is asked, and fails from the given request on."""

    def __init__(self, failing: int | None = None) -> None:
        self.asked = 0
        self.failing = failing

    def __call__(self, asked: Asked) -> Reply:
        self.asked += 1
        if self.failing is not None and self.asked >= self.failing:
            return fail(400, "no more")
        text = str(asked.body["messages"][0]["content"])
        lines = [line for line in text.rpartition("Options:")[2].splitlines() if line[1:3] == ". "]
        deletes = "Drop it." in text
        right = {"line 2", "2+ sum", "only delete lines" if deletes else "modify existing code"}
        (letter,) = (line[0] for line in lines if line[3:] in right)
        return say(letter, usage={"input": 1000, "output": 1})


def test_answers_are_paid_once_also_after_a_failure_in_the_middle(probes: Path, pytester: pytest.Pytester) -> None:
    with ScriptedProvider(model := Model(failing=70)) as provider:
        (probes / "crab.yaml").write_text(CRAB_YAML.format(url=provider.openai_url))
        first = pytester.runpytest("--answerer=chat", "--crab-jobs=1", "probes")
        broken = summary(probes)["chat"]
        assert {used["model"] for used in broken["usage"]} == {"m"}
        assert sum(used["failed_requests"] for used in broken["usage"]) == model.asked - 69
        first.stdout.fnmatch_lines(["Asked of models * Failed *", "chat answers: m *", "chat failed: m *"])
        first.stdout.no_fnmatch_line("*unknown model*")
        assert broken["outcomes"]["answerer error"] > 0
        assert broken["outcomes"]["missed"] == 0
        assert broken["cost_usd"] == pytest.approx(69 * 1002 / 1e6)  # also what came to nothing
        assert broken["failed_usd"] > 0
        kept = broken["outcomes"]["caught"]
        assert 0 < kept < 13
        model.failing, before = None, model.asked
        plan = pytester.runpytest("--answerer=chat", "--crab-plan", "probes")
        plan.stdout.fnmatch_lines(["chat: would run the answers of 3 items; *"])
        assert model.asked == before
        pytester.runpytest("--answerer=chat", "probes").assert_outcomes(passed=3)
        whole = summary(probes)["chat"]
        assert whole["overall"]["caught"] == 13
        asked = model.asked - before
        assert 0 < asked < 3 * 6 + 10 * 24  # what was answered before is not asked again
        pytester.runpytest("--answerer=chat", "probes").assert_outcomes(passed=3)
        assert (model.asked - before, summary(probes)["chat"]["cost_usd"]) == (asked, whole["cost_usd"])
        # The easy and the hard question on lines are the same here, and paid for once.
        assert whole["cost_usd"] == pytest.approx((3 * 6 + 7 * 24) * 1002 / 1e6)


@pytest.mark.parametrize(("options", "again"), [([], 1), (["--crab-rerun=answers"], 40)])
def test_a_killed_run_is_resumed_in_the_middle_of_a_probe(
    probes: Path, pytester: pytest.Pytester, options: list[str], again: int
) -> None:
    """Only the question that was under way is asked again, unless the step is to be made anew."""
    model, alone = Model(), CRAB_YAML.replace("provider: here}", "provider: here, parallel: 1}")
    killed: list[subprocess.Popen[bytes]] = []

    def kill_at_the_fortieth(asked: Asked) -> Reply:
        reply = model(asked)
        if model.asked == 40:
            killed[0].kill()
            killed[0].wait()
        return reply

    with ScriptedProvider(kill_at_the_fortieth) as provider:
        (probes / "crab.yaml").write_text(alone.format(url=provider.openai_url))
        command = [sys.executable, "-m", "pytest", "--answerer=chat", "--crab-jobs=1", "probes"]
        killed.append(pytester.popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        killed[0].wait()
        assert model.asked == 40
        pytester.runpytest("--answerer=chat", "probes", *options).assert_outcomes(passed=3)
    questions = 3 * 6 + 7 * 24
    assert model.asked == questions + again
    found = summary(probes)["chat"]
    assert found["cost_usd"] == pytest.approx(questions * 1002 / 1e6)
    assert [(used["model"], used["requests"]) for used in found["usage"]] == [("m", questions)]
    assert not list((probes / ".crab" / "parts").iterdir())


class OneByOne(Model):
    """Notes how many of its requests were under way at once, each of which takes a moment."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[float] = []
        self.most = 0

    def __call__(self, asked: Asked) -> Reply:
        now = time.monotonic()
        self.ends = [*(end for end in self.ends if end > now), now + 0.02]
        self.most = max(self.most, len(self.ends))
        return replace(super().__call__(asked), delay=0.02)


@pytest.mark.parametrize(("limit", "alone"), [(", parallel: 1", True), ("", False)])
def test_a_server_that_answers_one_at_a_time_is_not_asked_by_many(
    probes: Path, pytester: pytest.Pytester, limit: str, *, alone: bool
) -> None:
    model = OneByOne()
    with ScriptedProvider() as provider:
        provider.script = model
        text = CRAB_YAML.format(url=provider.openai_url).replace("api: openai}", f"api: openai{limit}}}")
        probes.joinpath("crab.yaml").write_text(text)
        options = ("--answerer=chat", "--crab-probe=change-type", "--crab-jobs=3", "probes")
        pytester.runpytest(*options).assert_outcomes(passed=3)
    assert model.asked == 18
    assert (model.most == 1) is alone


def test_a_gate_and_a_comparison_read_probes_as_they_read_oracles(probes: Path, pytester: pytest.Pytester) -> None:
    pytester.runpytest("--answerer=right", "probes", "--crab-report=before")
    same = pytester.runpytest("--answerer=right", "probes", "--crab-fail-under=0.9")
    assert same.ret == 0
    (probes / "crab.yaml").write_text("answerers: {right: {use: constant}}")
    worse = pytester.runpytest("--answerer=right", "probes", "--crab-baseline=before", "--crab-gate-unit=pull-request")
    assert worse.ret in (7, 8)


@pytest.mark.parametrize("runtime", ["auto", "docker", "local"])
def test_a_run_of_answerers_alone_asks_no_engine_and_names_no_runtime(
    probes: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, runtime: str
) -> None:
    def asked(*_arguments: object, **_settings: object) -> str:
        raise AssertionError("the engine was asked")

    monkeypatch.setattr(docker_status, "look", asked)
    options = (f"--crab-runtime={runtime}", "--crab-allow-unconfined")
    result = pytester.runpytest("--answerer=right", *options, "probes")
    result.assert_outcomes(passed=3)
    header = [line for line in result.outlines if line.startswith("crab: ")][:2]
    assert header[0] == "crab: answerers right"
    assert re.fullmatch(r"crab: \d+ at a time; store \S+", header[1])
    printed = result.stdout.str().replace(str(probes), "")
    assert not {"runtime", "sandbox", "image", "environments"} & set(re.findall(r"[a-z]+", printed))


def test_a_host_without_a_sandbox_will_do(
    probes: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "problem", lambda: "bwrap is not on PATH")
    pytester.runpytest("--answerer=right", "--crab-runtime=local", "probes").assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--answerer=rigth"], "did you mean right"),
        (["--answerer=letters"], "model"),
        (["--answerer=right", "--reviewer=right"], "right"),
        (["--answerer=simulated"], "is shown the answer"),
        (["--answerer=tool-loop"], "model"),
    ],
)
def test_a_wrong_answerer_is_a_usage_error(
    probes: Path, pytester: pytest.Pytester, arguments: list[str], said: str
) -> None:
    result = pytester.runpytest(*arguments, "probes")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{said}*"])


AGENT = """\
import dataclasses
from pytest_crab.types import Revision

LINES = ["--- a/snippet.py", "+++ b/snippet.py", "@@ -1,4 +1,4 @@", " def total(prices):", "-    return 1"]

@dataclasses.dataclass(frozen=True)
class Agent:
    line: str

    def identity(self):
        return {"line": self.line}

    def revise(self, pull_request, findings, checkout):
        assert "+    return 1" in pull_request.diff
        with checkout.workspace() as workspace:  # a clone, since a piece of code has no environment
            assert workspace.run(["cat", "snippet.py"], seconds=60).stdout.startswith(b"def total(prices):")
        return Revision(diff="\\n".join([*LINES, f"+    return {self.line}", " ", " ", ""]))
"""


@pytest.mark.bubblewrap
def test_an_agent_is_measured_by_exact_match_with_the_reference(probes: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(fixer=AGENT)
    agents = 'good: {use: "fixer:Agent", line: sum(prices)}, near: {use: "fixer:Agent", line: sum( prices )}'
    (probes / "crab.yaml").write_text(f"agents: {{{agents}}}")
    pytester.syspathinsert()
    for agent, reason, equal in (("good", "correct", 4), ("near", "incorrect", 1)):
        pytester.runpytest("--reviewer=human", f"--agent={agent}", "--crab-runtime=local", "probes")
        first = json.loads((probes / ".crab" / "report" / "trials.jsonl").read_text().splitlines()[0])
        (score,) = first["scores"]
        assert (score["scorer"], score["reason"]) == ("refinement", reason), first
        released = score["evidence"].pop("release")
        assert (sum(score["evidence"].values()), released["em_no_space"]) == (equal, True)
        said = "the file differs from the reference's (equal by em_no_space alone)"
        assert score.get("detail") == (None if agent == "good" else said)


QUIZZED = """\
import dataclasses
import re
from pytest_crab.types import Revision, Usage

DIFF = ["--- /dev/null", "+++ b/answer.txt", "@@ -0,0 +1,1 @@", "+LETTER", ""]

@dataclasses.dataclass(frozen=True)
class Agent:
    right: str = "2"

    def identity(self):
        return {"right": self.right}

    def revise(self, pull_request, findings, checkout):
        (finding,) = findings
        assert "answer.txt" in finding.body and "+    return 1" in pull_request.diff
        deletes = "Drop it." in finding.body
        wanted = [f"line {self.right}", "2+ sum", "only delete lines" if deletes else "modify existing code"]
        (letter,) = [found[1] for found in re.finditer(r"(?m)^([A-D])\\. (.*)$", finding.body) if found[2] in wanted]
        used = Usage(input_tokens=10, output_tokens=1, cost_usd=0.001, requests=1, models=("m",))
        if letter == "A":
            return Revision(notes="A", usage=used)
        head = ["diff --git a/answer.txt b/answer.txt", "new file mode 100644"]
        return Revision(diff="\\n".join([*head, *DIFF]).replace("LETTER", letter), usage=used)
"""


@pytest.mark.bubblewrap
def test_the_agent_of_a_run_answers_by_its_file_or_its_last_message(probes: Path, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(quizzed=QUIZZED)
    (probes / "crab.yaml").write_text(
        'agents: {mender: {use: "quizzed:Agent"}}\nanswerers: {wrong: {use: mender, right: "3"}}'
    )
    pytester.syspathinsert()
    file = probes / "row.jsonl"
    file.write_text(json.dumps(rows(1)[0]))
    import_codereviewqa(file, probes / "one")
    result = pytester.runpytest("--answerer=mender", "--answerer=wrong", "--crab-runtime=local", "one")
    result.assert_outcomes(passed=1, failed=1)
    found = summary(probes)
    assert (found["mender"]["measure"], found["mender"]["overall"]["caught"]) == ("agent", 3.0)
    assert found["mender"]["cost_usd"] == pytest.approx((6 + 24) * 0.001)  # what is stored below, each paid for once
    assert found["wrong"]["probes"]["lines-easy"]["all"]["mean"] == 0.0
    assert found["wrong"]["probes"]["change-type"]["all"]["mean"] == 1.0
    answers = list((probes / ".crab" / "steps" / "answers").glob("*/*.json"))
    assert len(answers) == 2 * (6 + 24)  # each by itself; the easy and the hard question are the same in this row
    plan = pytester.runpytest("--answerer=mender", "--crab-runtime=local", "--crab-plan", "one")
    plan.stdout.fnmatch_lines(["*1 stored*", "*answers stored"])


def test_the_page_and_the_junit_file_have_questions_answers_and_rulings(
    probes: Path, pytester: pytest.Pytester
) -> None:
    options = ("--answerer=right", "--answerer=constant", "probes", "--crab-fail-under=50%", "--crab-junit=junit.xml")
    assert pytester.runpytest(*options, "--crab-probe=lines-easy").ret == 1
    page = (probes / ".crab" / "report" / "index.html").read_text()
    for part in (
        '<a href="#probes">Probes</a>',
        "Why is this 0?",
        "line 2 (correct)",
        "return 1",
        "below the floor of 50%",
    ):
        assert part in page
    rows = re.findall(r'<tr><th scope="row">line 2 \(correct\)</th>(.*)</tr>', page)
    assert rows == ["<td>24</td><td>6</td>"] * 3  # the only letter of one stands before it in a quarter of the orders
    suites = {suite.get("name"): suite for suite in ElementTree.parse(probes / "junit.xml").getroot().iter("testsuite")}
    rulings = {case.get("name"): [one.tag for one in case] for case in suites["gate on answerers"].iter("testcase")}
    assert rulings == {"right": ["system-out"], "constant": ["failure"]}


def test_show_prints_what_was_asked_and_answered(probes: Path, pytester: pytest.Pytester) -> None:
    with ScriptedProvider(Model()) as provider:
        (probes / "crab.yaml").write_text(CRAB_YAML.format(url=provider.openai_url))
        pytester.runpytest("--answerer=chat", "--crab-probe=change-type", "probes")
    store = str(probes / ".crab")
    shown = CliRunner().invoke(main, ["show", "python-000::chat", "--transcript", "--store", store]).output
    assert "Why is this 0?" in shown
    assert "modify existing code" in shown
    whole = CliRunner().invoke(main, ["show", "python-000::chat", "--store", store]).output
    assert "modify existing code" not in whole
