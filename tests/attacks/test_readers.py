"""One trial whose every text is hostile: the record keeps the texts, and each reader of it shows them escaped."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from hostile.screen import Screen
from hostile.texts import BACK, CLEAR, LINK, MARKUP, Tags

from pytest_crab.cli import main
from pytest_crab.results.explain import explain, instance_line
from pytest_crab.results.files import TrialLog, read_trials
from pytest_crab.results.summary import summarise
from pytest_crab.show.junit import render
from pytest_crab.show.terminal import summary_lines
from pytest_crab.testing.trials import comment_result, trial_of
from pytest_crab.types import (
    Category,
    Finding,
    Kind,
    Provenance,
    Reason,
    Review,
    Revision,
    StepRecord,
    TestOutcome,
    Trial,
)

HOSTILE = f"{CLEAR}\x07\x1b]0;title\x07\x9b31m{BACK}{MARKUP} {LINK} </textarea></title>]]>"


def made(text: str) -> Trial:
    """A trial in which reviewer, agent, project and oracle say this wherever they can say anything."""
    finding = Finding(body=text, title=text, severity=text, rule=text, path=text, start=1)
    results = tuple(
        comment_result(
            f"c{number}", path=text, lines=(1, 1), category=Category.FUNCTIONAL, kind=Kind.BEHAVIORAL,
            reason=reason, detail=text,
            tests=(TestOutcome(id=text, outcome="failed", exception=text, where=text),),
        )
        for number, reason in enumerate([Reason.FAILED, Reason.BROKEN, Reason.GREEN])
    )  # fmt: skip
    return trial_of(
        instance="i", repo=f"o/{text}", provenance=Provenance.AUTHORED, reviewer=text, agent=text, runtime=text,
        privileged=(text,), leaky=(text,), review=Review(findings=(finding,), version=text),
        revision=Revision(diff=f"diff --git a/{text}\n{text}\n", version=text, notes=text), results=results,
        error=text, status=text, steps=(StepRecord(step=text, reused=True, seconds=1.0, retried=(text,)),),
        versions={"reviewer": text, "agent": {"client": text, "model": text}, "harness": text},
    )  # fmt: skip


@pytest.fixture
def report(tmp_path: Path) -> Path:
    with TrialLog(tmp_path / "trials.jsonl") as log:
        log.append(made(HOSTILE))
    return tmp_path


def told(report: Path, *arguments: str) -> str:
    done = CliRunner().invoke(main, [*arguments], catch_exceptions=False, color=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_record_keeps_the_text(report: Path) -> None:
    content = (report / "trials.jsonl").read_bytes()
    assert content.isascii()
    assert b"\x1b" not in content
    assert json.loads(content)["review"]["findings"][0]["body"] == HOSTILE
    assert list(read_trials(report / "trials.jsonl")) == [made(HOSTILE)]


def test_no_control_reaches_the_terminal(report: Path) -> None:
    trial = made(HOSTILE)
    lines = [line.text for line in summary_lines(summarise([trial]), 80)]
    printed = "\n".join([*lines, instance_line(trial), *explain(trial)])
    printed += told(report, "report", str(report)) + told(report, "show", "i", "--report", str(report))
    assert printed.replace("\n", "").isprintable()
    screen = Screen()
    screen.feed("missed: c0\r\n" + printed.replace("\n", "\r\n"))
    assert (screen.shown().splitlines()[0], screen.bells) == ("missed: c0", 0)
    assert "\\x1b[2J" in screen.shown()


def test_no_markup_is_live_in_any_file_of_a_report(report: Path) -> None:
    told(report, "report", str(report))
    page = (report / "index.html").read_text("utf-8")
    harmless = report / "harmless"
    harmless.mkdir()
    with TrialLog(harmless / "trials.jsonl") as log:
        log.append(made("text"))
    told(report, "report", str(harmless))
    # long names make other tables and heads of pictures than short ones, of the same elements
    assert set(Tags(page).tags) == set(Tags((harmless / "index.html").read_text("utf-8")).tags)
    assert MARKUP not in page
    summary = (report / "summary.md").read_text("utf-8")
    assert "img" not in Tags(summary.replace("\\<", "")).tags
    for name in ("index.html", "summary.md"):  # oracles.csv is data, as the record is
        text = (report / name).read_text("utf-8")
        assert not {"\x1b", "\x07", "\x9b", BACK} & set(text), name


def test_junit_is_whole_and_plain() -> None:
    trial = made(HOSTILE)
    content = render([trial, dataclasses.replace(trial, repeat=2)], summarise([trial]))
    tree = ElementTree.fromstring(content)
    assert {element.tag for element in tree.iter()} <= {
        *("testsuites", "testsuite", "properties", "property", "testcase", "failure", "error", "skipped", "system-out"),
    }
    texts = [text for element in tree.iter() for text in (element.text or "", *element.attrib.values())]
    assert not {"\x1b", "\x07", "\x9b", BACK} & set("".join(texts))
