"""Reports with hostile records, and a real browser to look at their pages with."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_crab.instances.pull_requests import Subject, SubjectComment, write_subject
from pytest_crab.results.files import write_summary, write_trials
from pytest_crab.results.summary import summarise
from pytest_crab.show.transcripts import write_transcripts
from pytest_crab.show.write_report import render
from pytest_crab.store import FileStore
from pytest_crab.types import Category, Finding, Kind, PartResult, Reason, Review, Revision, Trial, Usage

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

#: What a hostile reviewer, agent or pull request might write to run, fetch, hide or steer something.
HOSTILE = (
    "<script>document.title='owned'</script></script><img src=//example.org/x onerror=document.title='owned'>"
    "\x1b[31mred\x1b]0;title\x07 user\u202etxt.exe \u2066 <!-- --> {{ 7*7 }} javascript:alert(1) \ud800 &amp;"
)

DESCRIPTION = (
    "\n\n- one\n- two <b>\n\n`<img src=x>` **bold** [docs](https://example.org/a) [bad](javascript:alert(2))\n"
    "```python\nf()  <i>\n```\n\n    indented()\n\n        more()\nafter\n"
)

DIFF = (
    "diff --git a/src/m.py b/src/m.py\n--- a/src/m.py\n+++ b/src/m.py\n@@ -1,3 +1,5 @@ def f():\n"
    " one\n+two = load('<b>')\n+three = two\n-old\n last\n"
)

#: What nobody comments on.
FAR = "diff --git a/docs/far.md b/docs/far.md\n--- a/docs/far.md\n+++ b/docs/far.md\n@@ -1 +1,2 @@\n one\n+two\n"


@pytest.fixture(scope="session")
def make_report(make_trial: Callable[..., Trial], make_result: Callable[..., Any]) -> Callable[[Path, int], Path]:
    """``make_report(folder, instances)`` writes a report of two reviewers, with hostile text wherever there is text."""

    def make(folder: Path, instances: int) -> Path:
        trials = [
            _trial(make_trial, make_result, f"owner__name-{at}@abc", reviewer, at)
            for at in range(instances)
            for reviewer in ("codex", "pr-agent")
        ]
        write_trials(folder / "trials.jsonl", trials)
        store = FileStore(folder / "store")
        for key in {key for trial in trials for key in trial.transcripts}:
            store.put("transcript", key, {"step": "review", "name": HOSTILE, "text": json.dumps({"said": HOSTILE})})
            write_transcripts(folder, store, [key])
        for instance in {trial.instance for trial in trials}:
            write_subject(folder, _subject(instance))
        summary = summarise(trials)
        write_summary(folder / "summary.json", summary)
        return render(folder, summary)

    return make


def _trial(
    make_trial: Callable[..., Trial], make_result: Callable[..., Any], instance: str, reviewer: str, at: int
) -> Trial:
    words = list(Category)
    reasons = (Reason.GREEN, Reason.FAILED, Reason.REVIEWER_ERROR)
    results = [
        make_result(
            f"c{one}",
            reasons[(at * 2 + one + (reviewer == "codex")) % 3],
            category=words[(at + one) % len(words)],
            kind=Kind.BEHAVIORAL if one else Kind.STRUCTURAL,
            path="src/m.py",
            lines=(2, 3),
            detail=HOSTILE,
            parts=(PartResult(asks=HOSTILE, resolved=True), PartResult(asks="Say two.", resolved=False)),
        )
        for one in range(2)
    ]
    body = HOSTILE + ("x" * 1_000_000 if at == 0 else "")
    findings = (Finding(body=body, path="src/m.py", start=2, end=3, title=HOSTILE), Finding(body="on it all"))
    trial = make_trial(reviewer, instance, *results, repo=f"owner{at % 3}/name", seconds=1.5)
    return dataclasses.replace(
        trial,
        review=Review(findings=findings, usage=Usage(cost_usd=0.01 * (1 + (reviewer == "codex")))),
        revision=Revision(diff=DIFF if at % 2 else HOSTILE, usage=Usage(cost_usd=0.02), notes=HOSTILE),
        versions={"pytest_crab": HOSTILE},
        transcripts=(f"{at:064x}", "f" * 64),
        started=f"2026-01-02T03:{at % 60:02}:00+00:00",
    )


def _subject(instance: str) -> Subject:
    comment = SubjectComment(
        id="c0", path="src/m.py", lines=(2, 2), body=HOSTILE, labels={"category": "security", "kind": "behavioral"}
    )
    return Subject(
        instance=instance,
        repo="owner/name",
        language="python",
        title=HOSTILE,
        body=HOSTILE + DESCRIPTION,
        url="javascript:alert(1)",
        diff=DIFF + FAR,
        comments=(comment,),
    )


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium, the system's own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        new_context = browser.new_context

        def patient_context(**options: Any) -> Any:
            context = new_context(**options)
            context.set_default_timeout(300_000)  # only ends a hang: other workers may keep both processors busy
            return context

        browser.new_context = patient_context
        browser.new_page = lambda **options: patient_context(**options).new_page()
        yield browser
        browser.close()


@pytest.fixture
def look(tmp_path: Path) -> Callable[[Page, str], None]:
    """``look(page, name)`` keeps pictures of a whole page, where CI wants them, and checks that all can read it.

    It is looked at light and dark, wide and narrow; axe, which is slow, sees each of these once. The page's context has
    to let axe in: ``bypass_csp``.
    """
    from axe_playwright_python.sync_playwright import Axe

    folder = Path(os.environ.get("CRAB_TEST_SHOTS", tmp_path / "shots"))
    folder.mkdir(parents=True, exist_ok=True)

    def look_at(page: Page, name: str) -> None:
        for scheme, width in itertools.product(("light", "dark"), (1280, 400)):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 900})
            # as high as the page, since long tables and pictures are laid out only near the window
            height = page.evaluate("document.documentElement.scrollHeight")
            page.set_viewport_size({"width": width, "height": height})
            page.screenshot(path=folder / f"{name}-{scheme}-{width}.png", full_page=True)
            if (scheme, width) in (("light", 1280), ("dark", 400)):
                found = Axe().run(page).response["violations"]
                assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page scrolls sideways"

    return look_at
