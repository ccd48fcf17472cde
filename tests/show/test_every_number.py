"""Every cell of the page, and every number of the terminal, recomputed from the lines of trials.jsonl."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any
from xml.etree import ElementTree

import numpy
import pytest
import scipy
from report_reading import percent, results, tables

from pytest_crab.results.files import read_summary, write_summary, write_trials
from pytest_crab.results.summary import summarise
from pytest_crab.show.junit import write_junit
from pytest_crab.show.page.rows import index_row
from pytest_crab.show.terminal import summary_lines
from pytest_crab.show.write_report import render
from pytest_crab.types import (
    CONTROL,
    Category,
    CommentResult,
    Finding,
    Kind,
    Reason,
    Review,
    Revision,
    StepRecord,
    Trial,
    Usage,
)

NAMES = ("one", "two", "none")
GREEN, RED, LOST = Reason.GREEN, Reason.FAILED, Reason.AGENT_ERROR
#: What becomes of the three oracles of each of eight pull requests, by reviewer.
FATES = {
    "one": [GREEN, RED, GREEN, GREEN, LOST, GREEN, RED, GREEN, GREEN, RED, RED, GREEN] * 2,
    "two": [GREEN, GREEN, RED, RED, GREEN, RED, RED, LOST, GREEN, RED, GREEN, RED] * 2,
    "none": [RED, RED, GREEN, RED, RED, RED, RED, RED, GREEN, RED, RED, RED] * 2,
}
STEPS = ("image", "review", "revision", "verdict")
DIFF = "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,3 @@\n one\n-two\n+three\n+four\n"

#: The page's name of the table of rates by category.
CATEGORIES = "caught of known oracles by category, with 95% intervals"

Line = dict[str, Any]


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory,
    make_trial: Callable[..., Trial],
    make_result: Callable[..., CommentResult],
) -> Path:
    """A report of two reviewers and a control over eight pull requests of seven repositories, with costs and times."""
    tmp_path, words, trials = tmp_path_factory.mktemp("every"), list(Category), []
    for name in NAMES:
        for at in range(8):
            results = [
                make_result(
                    f"c{own}",
                    FATES[name][3 * at + own],
                    category=words[(at + own) % 4],
                    kind=Kind.STRUCTURAL if own else Kind.BEHAVIORAL,
                    path="m.py",
                    lines=(10 + 40 * own, 12 + 40 * own),
                    resolvable=own != 1,
                )
                for own in range(3)
            ]
            count = 0 if name == "none" else 1 + at % 3
            spots = (Finding(body="x", path="m.py", start=15 + 40 * own, end=15 + 40 * own) for own in range(count))
            usage = Usage(cost_usd=0.125 * (1 + NAMES.index(name)))
            trial = make_trial(
                name,
                f"i{at}",
                *results,
                repo=f"owner/r{at % 7}",
                seconds=4.0 + at,
                regressions=at % 4 == 0,
                review=Review(findings=tuple(spots), usage=None if name == "none" else usage),
                revision=Revision(diff=DIFF, usage=Usage(cost_usd=0.25)),
                variant=CONTROL if name == "none" else None,
                steps=tuple(StepRecord(step=step, reused=False, seconds=1.5) for step in STEPS),
            )
            trials.append(trial)
    write_trials(tmp_path / "trials.jsonl", trials)
    summary = summarise(trials)
    write_summary(tmp_path / "summary.json", summary)
    write_junit(tmp_path / "crab.xml", trials, summary)
    render(tmp_path, summary)
    return tmp_path


class Clustered:
    """CR2 of a mean over clusters by the matrices of Bell and McCaffrey (2002), with scipy's Student's t."""

    def __init__(self, values: list[float], repos: list[str]) -> None:
        self.values, names = numpy.array(values), numpy.array(repos)
        self.clusters = [names == name for name in sorted(set(repos))]
        count = len(values)
        residual_maker = numpy.eye(count) - 1 / count
        parts, columns = [], []
        for own in self.clusters:
            eigenvalues, vectors = numpy.linalg.eigh(residual_maker[numpy.ix_(own, own)])
            weights = (vectors @ numpy.diag(eigenvalues**-0.5) @ vectors.T).sum(axis=0) / count
            parts.append(weights @ (residual_maker @ self.values)[own])
            columns.append(residual_maker[:, own] @ weights)
        gram = numpy.array(columns) @ numpy.array(columns).T
        self.df = numpy.trace(gram) ** 2 / (gram**2).sum()
        self.error = math.sqrt(sum(part**2 for part in parts))
        independent = self.values.var(ddof=1) / count
        self.alike = independent < 1e-12
        self.effect = 0.0 if self.alike else max(0.5, sum(part**2 for part in parts) / independent)

    def effect_with(self, assumed: float) -> float:
        """The design effect, from an assumed correlation where all values are the same."""
        crowd = sum(own.sum() ** 2 for own in self.clusters) / len(self.values)
        return 1 + assumed * (crowd - 1) if self.alike else self.effect

    def rate(self) -> tuple[float, float]:
        """The rates that a score test with the effective count and Student's t does not reject."""
        mean, count = self.values.mean(), len(self.values)
        if self.alike:
            size, df = count / self.effect_with(0.3), self.df
        else:
            size = mean * (1 - mean) / (self.effect * self.values.var(ddof=1) / count)
            rarer = min(sum(self.values[own].any() for own in self.clusters),
                        sum(not self.values[own].all() for own in self.clusters))  # fmt: skip
            df = min(self.df, 1.5 * rarer)
        share = scipy.stats.t.ppf(0.975, df) ** 2 / size
        low, high = sorted(numpy.roots([1 + share, -2 * mean - share, mean**2]).real)  # (mean - r)² = share * r(1 - r)
        return low, high

    def difference(self) -> tuple[float, float]:
        """The mean with CR2's error on both sides; it holds 0 unless swapping the runs by cluster shows a change."""
        half = scipy.stats.t.ppf(0.975, self.df) * self.error
        low, high = self.values.mean() - half, self.values.mean() + half
        shown = self.p_one_sided() < 0.025
        return max(-1.0, low if shown else min(low, 0.0)), min(1.0, high if shown else max(high, 0.0))

    def p_one_sided(self) -> float:
        """The share of all ways to swap the runs by cluster whose sum is at least as far to the same side."""
        sums = [self.values[own].sum() for own in self.clusters]
        swapped = [numpy.dot(signs, sums) for signs in itertools.product((1, -1), repeat=len(sums))]
        return fmean(value >= abs(sum(sums)) - 1e-9 for value in swapped)

    def p(self) -> float:
        """The share of all ways to swap the runs by cluster whose sum is at least as far from 0."""
        sums = [self.values[own].sum() for own in self.clusters]
        swapped = [abs(numpy.dot(signs, sums)) for signs in itertools.product((1, -1), repeat=len(sums))]
        return fmean(value >= abs(sum(sums)) - 1e-9 for value in swapped)


class Truth:
    """What a reader of trials.jsonl would count of one reviewer."""

    def __init__(self, folder: Path, name: str) -> None:
        lines = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
        self.trials: list[Line] = [line for line in lines if line["reviewer"] == name]
        self.oracles = [(trial, result) for trial in self.trials for result in results(trial)]
        self.findings = [one for trial in self.trials for one in trial["review"].get("findings", ())]
        steps = [step for trial in self.trials for step in (trial["review"], trial["revision"])]
        costs = [step["usage"]["cost_usd"] for step in steps if step.get("usage")]
        self.cost = sum(costs)
        self.seconds = sum(trial["seconds"] for trial in self.trials)
        counted = ("review", "revision", "verdict")
        self.steps = sum(step["seconds"] for trial in self.trials for step in trial["steps"] if step["step"] in counted)

    def known(self, **only: Any) -> dict[tuple[str, str], tuple[str, float]]:
        """Repository and value by oracle, of those with a verdict."""
        return {
            (trial["instance"], result["comment"]): (trial["repo"], float(result["verdict"] == "caught"))
            for trial, result in self.oracles
            if result["verdict"] != "unknown"
            and all({**result, "repo": trial["repo"]}.get(key) == word for key, word in only.items())
        }

    def rate(self, **only: Any) -> str:
        values = [value for _, value in self.known(**only).values()]
        return percent(fmean(values)) if values else "-"

    def of(self, **only: Any) -> str:
        known = self.known(**only)
        return f"{sum(value for _, value in known.values()):.0f}/{len(known)}"

    def share(self, *verdicts: str) -> float:
        return sum(result["verdict"] in verdicts for _, result in self.oracles) / len(self.oracles)

    def interval(self) -> tuple[float, float]:
        known = self.known().values()
        return Clustered([value for _, value in known], [repo for repo, _ in known]).rate()

    def here(self) -> tuple[float, float]:
        known = self.known()
        return Clustered([value for _, value in known.values()], [instance for instance, _ in known]).rate()

    def macro(self) -> str:
        pulls: dict[str, list[float]] = {}
        for (instance, _), (_, value) in self.known().items():
            pulls.setdefault(instance, []).append(value)
        return percent(fmean(map(fmean, pulls.values())))


class Both:
    """The second against the first, over the oracles that are known of both."""

    def __init__(self, first: Truth, second: Truth) -> None:
        before, after = first.known(), second.known()
        self.keys = [key for key in before if key in after]
        self.values = [(before[key][1], after[key][1]) for key in self.keys]
        self.changes = [new - old for old, new in self.values]
        own = Clustered(self.changes, [instance for instance, _ in self.keys])
        self.interval, self.p = own.difference(), own.p()

    def count(self, *pair: float) -> int:
        return self.values.count((pair[0], pair[1]))

    def kappa(self) -> float:
        size = len(self.values)
        one, two = (sum(own) / size for own in zip(*self.values, strict=True))
        chance = one * two + (1 - one) * (1 - two)
        return ((self.count(1, 1) + self.count(0, 0)) / size - chance) / (1 - chance)


def span(interval: tuple[float, float], sign: str = "") -> str:
    return " to ".join(f"{100 * end:{sign}.1f}" for end in interval)


def lift(folder: Path, name: str) -> Both:
    return Both(Truth(folder, "none"), Truth(folder, name))


def broken(own: Truth) -> int:
    return sum(score.get("label") == "broken" for trial in own.trials for score in trial["scores"])


def idle(own: Truth) -> int:
    """The findings in reviews after which no oracle was caught."""
    return sum(
        len(trial["review"].get("findings", ()))
        for trial in own.trials
        if not any(result["verdict"] == "caught" for result in results(trial))
    )


def rates_row(folder: Path, name: str) -> list[str]:
    own, both = Truth(folder, name), lift(folder, name)
    broke = broken(own)
    return [
        name,
        own.rate(),
        span(own.here()),
        span(own.interval()),
        own.of(),
        str(len(own.oracles) - len(own.known())),
        f"{len(own.findings) / 8:.1f}",
        percent(idle(own) / len(own.findings)) if own.findings else "-",
        f"{own.cost:.2f}",
        "-" if name == "none" else f"{100 * fmean(both.changes):+.1f} (95%: {span(both.interval, '+')})",
        f"{own.of(resolvable=True)} {own.rate(resolvable=True)}%",
        own.rate(kind="behavioral"),
        own.rate(kind="structural"),
        own.macro(),
        f"{percent(own.share('caught'))} to {percent(own.share('caught', 'unknown'))}",
        f"{broke} of 8",
        str(len(own.findings)),
    ]


def test_every_cell_of_the_page(folder: Path) -> None:
    page = tables(folder)
    truth = {name: Truth(folder, name) for name in NAMES}
    assert page["rates"][1:] == [rates_row(folder, name) for name in NAMES]
    for table, key in ((CATEGORIES, "category"), ("repositories", "repo")):
        words = {trial["repo"] if key == "repo" else result["category"] for trial, result in truth["one"].oracles}
        expected = {
            word: [f"{own.of(**{key: word})} {own.rate(**{key: word})}%" for own in truth.values()] for word in words
        }
        shown = {word: [re.sub(r" \(.*", "", cell) for cell in cells] for word, *cells in page[table][1:]}
        assert shown == expected
    near = {name: [own["start"] // 40 for own in truth[name].findings] for name in NAMES}
    assert {name: len(own) for name, own in near.items()} == {"one": 15, "two": 15, "none": 0}
    for at, name in enumerate(("one", "two")):
        shown = [int(cells[at].split()[0]) for _, *cells in page["findings by nearest comment"][1:]]
        assert sum(shown) == len(near[name])
        assert page["findings by nearest comment"][-1][0] != "elsewhere", "each lies within ten lines of a comment"


def test_who_caught_what_together(folder: Path) -> None:
    one, two = Truth(folder, "one"), Truth(folder, "two")
    both, page = Both(one, two), tables(folder)
    counts = {
        "one": both.count(1, 0),
        "two": both.count(0, 1),
        "one + two": both.count(1, 1),
        "none of them": both.count(0, 0),
    }
    size = len(both.keys)
    document = (folder / "index.html").read_text()
    for who, count in counts.items():
        assert f"caught by exactly {who.replace('+', 'and')}: {count}" in document
    assert f"Of the {size} oracles" in document
    row = ["one, two", counts["one + two"], counts["one"], counts["two"], f"{100 * fmean(both.changes):+.1f}"]
    row += [span(both.interval, "+"), f"{both.p:.3f}", f"{both.kappa():.2f}", f"{two.cost:.2f}"]
    row += ["8 pull requests, for these 7 repositories only"]
    assert page["pairs of reviewers"][1:] == [list(map(str, row))]


def test_every_sentence_of_the_terminal(folder: Path) -> None:
    summary = read_summary(folder / "summary.json")
    lines = [line.text for line in summary_lines(summary, 300)]
    squeezed = [" ".join(line.split()) for line in lines]
    truth = {name: Truth(folder, name) for name in NAMES}
    both = Both(truth["one"], truth["two"])
    expected, details = [], {}
    for name in ("one", "two"):
        own, arm = truth[name], lift(folder, name)
        net = sum(arm.changes)
        change = f"{100 * fmean(arm.changes):+.1f} points (95% interval {span(arm.interval, '+')} over 8 pull requests"
        expected.append(f"{name}: net lift {change}")
        details[name] = {
            "Caught of resolvable": f"{own.of(resolvable=True)} {own.rate(resolvable=True)}%",
            "Findings": len(own.findings),
            "In reviews that caught nothing": str(idle(own)),
            "Lines added, removed": "+16 -8",
            "Revisions": 8,
            "Broke passing tests": f"{broken(own)}/8",
            "Cost (USD)": f"{own.cost:.2f}",
            "USD per net caught oracle": f"{own.cost / net:.2f}",
            "Seconds per net caught oracle": f"{own.steps / net:.0f}",
        }
        lost = len(own.oracles) - len(own.known())
        low, high = percent(own.share("caught")), percent(own.share("caught", "unknown"))
        expected.append(f"{name}: {lost} oracles have no verdict; the rate lies between {low}% and {high}%")
    shown = {name: cells for name, *cells in tables(folder)["repeats, findings, revisions and costs"][1:]}
    for row, own_cell in details["one"].items():
        assert shown[row][:2] == [str(own_cell), str(details["two"][row])]
    for row in details["one"]:
        cells = f"{row} {details['one'][row]} {details['two'][row]}"
        assert any(line.startswith(cells) for line in squeezed), cells
    union = len(both.keys) - both.count(0, 0)
    alone = f"one alone {both.count(1, 0)}, two alone {both.count(0, 1)}"
    expected.append(f"together: {union} of {len(both.keys)} oracles caught by any; {alone}")
    pair = (
        f"one, two {both.count(1, 1)} {both.count(1, 0)} {both.count(0, 1)} {100 * fmean(both.changes):+.1f} "
        f"{span(both.interval, '+')} {both.p:.3f} {both.kappa():.2f} {truth['two'].cost:.2f}"
    )
    assert any(line.startswith(pair) for line in squeezed)
    for text in expected:
        assert any(line.startswith(text) for line in lines), text
    for name, own in truth.items():
        row = next(line for line in lines if re.match(rf"{name} +\d+/", line)).split()
        page = rates_row(folder, name)
        interval = span(own.interval()).replace(" to ", "-")
        assert row == [name, page[4], page[1], interval, page[13], page[11], page[12], page[16], page[6], page[5]]


def test_every_number_of_a_summary_and_of_junit(folder: Path) -> None:
    data = json.loads((folder / "summary.json").read_text())
    suites = {one.attrib["name"]: one for one in ElementTree.parse(folder / "crab.xml").getroot().iter("testsuite")}
    for reviewer in data["reviewers"]:
        own = Truth(folder, reviewer["reviewer"])
        scores = [(reviewer["overall"], {}), (reviewer["resolvable"], {"resolvable": True})]
        groups = reviewer["by_label"].items()
        scores += [(score, {dimension: word}) for dimension, rates in groups for word, score in rates.items()]
        for score, only in scores:
            known = own.known(**only)
            values, repos = [value for _, value in known.values()], [repo for repo, _ in known.values()]
            assert (score["known"], score["caught"]) == (len(values), sum(values))
            assert score["micro"] == pytest.approx(fmean(values))
            if len(set(repos)) > 1:
                ends = (score["interval"]["low"], score["interval"]["high"])
                assert ends == pytest.approx(Clustered(values, repos).rate())
                assert score["interval"]["clusters"] == len(set(repos))
        times = {case.attrib["time"] for case in suites[reviewer["reviewer"]].iter("testcase")}
        assert math.isclose(float(suites[reviewer["reviewer"]].attrib["time"]), own.seconds, abs_tol=0.01)
        assert times == {str(round(trial["seconds"] / 3, 3)) for trial in own.trials}
        properties = {one.attrib["name"]: one.attrib["value"] for one in suites[reviewer["reviewer"]].iter("property")}
        assert float(properties["crab.cost_usd"]) == pytest.approx(own.cost) == pytest.approx(reviewer["cost_usd"])
        assert float(properties["crab.low"]) == pytest.approx(own.share("caught"), abs=1e-5)
        assert float(properties["crab.high"]) == pytest.approx(own.share("caught", "unknown"), abs=1e-5)
        assert float(properties["crab.rate"]) == pytest.approx(reviewer["overall"]["micro"], abs=1e-5)


def test_the_list_of_trials_counts_what_is_on_record(make_trial: Callable[..., Trial]) -> None:
    trial = dataclasses.replace(make_trial("a", "i", GREEN, GREEN, RED, LOST, findings=3), seconds=2.5)
    row = index_row(trial)
    assert (row["v"], row["f"], row["s"]) == ([2, 1, 1], 3, 2.5)
