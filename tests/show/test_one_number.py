"""A number is the same wherever it stands: in terminal, JUnit, summary.json, summary.md, page and records."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any
from xml.etree import ElementTree

import pytest
from report_reading import percent, results, tables

from pytest_crab.results.files import read_summary, read_trials, write_summary, write_trials
from pytest_crab.results.summary import summarise
from pytest_crab.show.junit import write_junit
from pytest_crab.show.terminal import summary_lines
from pytest_crab.show.write_report import render
from pytest_crab.types import CONTROL, Category, CommentResult, Finding, Kind, Reason, Review, Revision, Trial, Usage

REVIEWERS = ("codex", "pr-agent", "quiet")
REASONS = (Reason.GREEN, Reason.FAILED, Reason.NO_FINDINGS, Reason.REVIEWER_ERROR, Reason.GREEN, Reason.BROKEN)


@pytest.fixture
def folder(tmp_path: Path, make_trial: Callable[..., Trial], make_result: Callable[..., CommentResult]) -> Path:
    """A report of three reviewers over nine pull requests, with repeats, unknowns and empty reviews."""
    words, trials = list(Category), []
    for place, reviewer in enumerate(REVIEWERS):
        for at in range(9):
            for repeat in (1, 2):
                results = [
                    make_result(
                        f"c{one}",
                        REASONS[(at * (place + 2) + one * 3 + repeat * (at % 2)) % len(REASONS)],
                        category=words[(at + one) % 4],
                        kind=Kind.BEHAVIORAL if (at + one) % 3 else Kind.STRUCTURAL,
                    )
                    for one in range(1 + at % 3)
                ]
                trials.append(
                    make_trial(
                        reviewer, f"i{at}", *results, repo=f"owner/r{at % 4}", repeat=repeat, findings=(at + place) % 4
                    )
                )
    write_trials(tmp_path / "trials.jsonl", trials)
    summary = summarise(read_trials(tmp_path / "trials.jsonl"))
    write_summary(tmp_path / "summary.json", summary)
    write_junit(tmp_path / "crab.xml", list(read_trials(tmp_path / "trials.jsonl")), summary)
    render(tmp_path, summary)
    return tmp_path


def recomputed(folder: Path, reviewer: str, **only: str) -> dict[str, Any]:
    """The numbers from the lines of trials.jsonl, as a reader of the paper would count them."""
    known: dict[tuple[str, str], list[bool]] = defaultdict(list)
    findings: dict[str, list[int]] = defaultdict(list)
    for line in (folder / "trials.jsonl").read_text().splitlines():
        trial = json.loads(line)
        if trial["reviewer"] != reviewer or trial["repo"] != only.get("repo", trial["repo"]):
            continue
        findings[trial["instance"]].append(len(trial["review"]["findings"]))
        for result in results(trial):
            if all(result[name] == word for name, word in only.items() if name != "repo"):
                runs = known[trial["instance"], result["comment"]]
                if result["verdict"] != "unknown":
                    runs.append(result["verdict"] == "caught")
    values = {key: fmean(runs) for key, runs in known.items() if runs}
    by_instance = defaultdict(list)
    for (instance, _), value in values.items():
        by_instance[instance].append(value)
    return {
        "oracles": len(known),
        "known": len(values),
        "caught": sum(values.values()),
        "micro": fmean(values.values()) if values else None,
        "macro": fmean(map(fmean, by_instance.values())) if values else None,
        "comments": sum(map(fmean, findings.values())),
    }


def trials_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def results_of(folder: Path) -> list[dict[str, Any]]:
    return [result for trial in trials_of(folder) for result in results(trial)]


def outcomes(folder: Path, reviewer: str) -> dict[str, float]:
    """The shares of oracles, each repeat of which counts as much as the others, by what became of them."""
    runs: dict[tuple[str, str], list[str]] = defaultdict(list)
    for trial in trials_of(folder):
        for result in results(trial) if trial["reviewer"] == reviewer else ():
            word = result["reason"] if result["verdict"] == "unknown" else result["verdict"]
            runs[trial["instance"], result["comment"]].append(word)
    words = {word for own in runs.values() for word in own}
    return {word: sum(own.count(word) / len(own) for own in runs.values()) for word in words}


def table_of(lines: list[str]) -> list[str]:
    """The lines from the head of the terminal's table on."""
    return lines[next(at for at, line in enumerate(lines) if line.startswith("Reviewer ")) :]


def count(value: float) -> str:
    return str(round(value)) if abs(value - round(value)) < 1e-9 else f"{value:.1f}"


@pytest.mark.parametrize("reviewer", REVIEWERS)
def test_rates_are_the_same_everywhere(folder: Path, reviewer: str) -> None:
    truth = recomputed(folder, reviewer)
    summary = read_summary(folder / "summary.json")
    (own,) = [one for one in summary.reviewers if one.reviewer == reviewer]
    assert own.overall.micro == pytest.approx(truth["micro"])
    assert own.overall.macro == pytest.approx(truth["macro"])
    assert own.comments == pytest.approx(truth["comments"])

    wanted = [f"{count(truth['caught'])}/{truth['known']}", percent(truth["micro"]), percent(truth["macro"])]
    lines = [line.text for line in summary_lines(summary)]
    terminal = next(line for line in table_of(lines) if line.startswith(reviewer))
    assert [cell for cell in terminal.split() if cell in wanted] == wanted

    page = tables(folder)
    heads, *rows = page["rates"]
    shown = dict(zip(heads, next(row for row in rows if row[0] == reviewer), strict=True))
    assert [shown["Caught / known"], shown["Rate %"], shown["Mean over PRs %"]] == wanted
    assert shown["Comments"] == count(truth["comments"])
    interval = own.overall.interval
    assert interval is not None
    assert shown["95%, other repositories too"] == f"{percent(interval.low)} to {percent(interval.high)}"
    for kind in ("behavioral", "structural"):
        rate = percent(recomputed(folder, reviewer, kind=kind)["micro"])
        assert shown[f"{kind.capitalize()} %"] == rate

    row = next(line for line in (folder / "summary.md").read_text().splitlines() if line.startswith(f"| {reviewer} "))
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert (cells[5], cells[7]) == (wanted[1], wanted[0])

    suite = next(
        suite
        for suite in ElementTree.parse(folder / "crab.xml").getroot().iter("testsuite")
        if reviewer in suite.attrib["name"]
    )
    properties = {one.attrib["name"]: one.attrib["value"] for one in suite.iter("property")}
    told = {name.removeprefix("crab."): value for name, value in properties.items()}
    for name, value in (("rate", truth["micro"]), ("macro", truth["macro"]), ("comments", truth["comments"])):
        assert float(told[name]) == pytest.approx(value, abs=1e-4), name
    assert (int(told["oracles"]), int(told["known"])) == (truth["oracles"], truth["known"])
    for place in ("category", "kind"):
        for word in {result[place] for result in results_of(folder)}:
            rate = recomputed(folder, reviewer, **{place: word})["micro"]
            assert float(told[f"rate.{word}"]) == pytest.approx(rate, abs=1e-4), word
    for outcome, share in outcomes(folder, reviewer).items():
        assert float(told[f"outcome.{outcome.replace(' ', '-')}"]) == pytest.approx(share, abs=1e-4), outcome
    cases = list(suite.iter("testcase"))
    assert len(cases) == sum(1 for trial in trials_of(folder) if trial["reviewer"] == reviewer for _ in results(trial))


@pytest.mark.parametrize("reviewer", REVIEWERS)
def test_categories_and_repositories_are_the_same_everywhere(folder: Path, reviewer: str) -> None:
    summary = read_summary(folder / "summary.json")
    page = tables(folder)
    lines = [line.text for line in summary_lines(summary)]
    column = REVIEWERS.index(reviewer)
    assert len(page["caught of known oracles by category, with 95% intervals"]) == 5
    for word, *cells in page["caught of known oracles by category, with 95% intervals"][1:]:
        truth = recomputed(folder, reviewer, category=word)
        ratio = f"{count(truth['caught'])}/{truth['known']}"
        assert cells[column].startswith(f"{ratio} {percent(truth['micro'])}%")
        shown = re.findall(r"[\d.]+/\d+ [\d.]+%", next(line for line in lines if line.startswith(word)))
        assert shown[column] == f"{ratio} {percent(truth['micro'])}%"
    assert len(page["repositories"]) == 5
    for repo, *cells in page["repositories"][1:]:
        truth = recomputed(folder, reviewer, repo=repo)
        assert cells[column] == f"{count(truth['caught'])}/{truth['known']} {percent(truth['micro'])}%"


def test_net_lift_and_cost_are_those_of_one_run(tmp_path: Path, make_trial: Callable[..., Trial]) -> None:
    """Counted by hand: of 6 oracles the agent alone resolves 1, and with the review 4; two repeats at 0.75 USD each."""
    trials = []
    for at in range(6):
        caught = Reason.GREEN if at < 4 else Reason.FAILED
        alone = Reason.GREEN if at == 0 else Reason.FAILED
        trials.append(make_trial("none", f"i{at}", alone, repo=f"owner/r{at}", variant=CONTROL))
        trials += [
            make_trial(
                "mine",
                f"i{at}",
                caught,
                repo=f"owner/r{at}",
                repeat=repeat,
                review=Review(findings=(Finding(body="x"),), usage=Usage(cost_usd=0.5)),
                revision=Revision(usage=Usage(cost_usd=0.25)),
            )
            for repeat in (1, 2)
        ]
    summary = summarise(trials)
    write_trials(tmp_path / "trials.jsonl", trials)
    write_summary(tmp_path / "summary.json", summary)
    render(tmp_path, summary)
    data = json.loads((tmp_path / "summary.json").read_text())
    (mine,) = [one for one in data["reviewers"] if one["reviewer"] == "mine"]
    assert (mine["lift"]["net"], mine["lift"]["cost_usd"], mine["cost_usd"]) == (3, 6 * 0.75 / 3, 2 * 6 * 0.75)
    assert (mine["overall"]["low"], mine["burden"]["findings"], mine["burden"]["idle"]) == (4 / 6, 12, 4)
    told = "\n".join(" ".join(line.text.split()) for line in summary_lines(summary, 200))
    written = (tmp_path / "summary.md").read_text().replace("\\", "").replace(" | ", " ")
    for text in (told, written):
        assert "net lift +50.0 points" in text
        assert "USD per net caught oracle - 1.50" in text
        assert "Findings, all repeats - 12" in text
        assert "In reviews that caught nothing - 4" in text
    rows = tables(tmp_path)
    heads, *rates = rows["rates"]
    shown = dict(zip(heads, next(row for row in rates if row[0] == "mine"), strict=True))
    assert shown["Net lift, points"].startswith("+50.0 (95%: ")
    assert "1.125" in (tmp_path / "index.html").read_text(), "4.50 USD a run for 4 caught oracles"
