"""The colours of code in diffs, as a browser shows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_crab.instances.pull_requests import Subject, SubjectComment, write_subject
from pytest_crab.results.files import write_trials
from pytest_crab.show.write_report import remake
from pytest_crab.types import Reason, Trial

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: The lines of a hunk by the name of their file, and its parts that have a colour, without spaces around them: a k is a
#: keyword, s a text, n a number, t a comment, d what is defined.
CODE = [
    (
        "a.py",
        ["+def run(x=1):  # it's one", "+    return 'a#b' if x else None"],
        ["k def", "d run", "n 1", "t # it's one", "k return", "s 'a#b'", "k if", "k else", "k None"],
    ),
    (
        "b.py",
        [' """Two', "+lines, 'if' one", '+"""', "+x = 2"],
        ['s """', "s Two", "s lines, 'if' one", 's """', "n 2"],
    ),
    ("c.py", ["+the end of a text", '+    """', "+    return 3"], ["s the end of a text", 's """', "k return", "n 3"]),
    ("d.py", ["-old = '''", "+new = 4"], ["s '''", "n 4"]),
    ("e.py", ["+<b>bold</b> = '<script>'"], ["s '<script>'"]),
    (
        "a.ts",
        ["+const n = `x", "+${y}`; // if", "+/* for */ let isit"],
        ["k const", "s `", "s x", "s ${y}`", "t // if", "t /*", "t for */", "k let"],
    ),
    ("a.go", ["+ inside", "+ */ func Run() {}"], ["t inside", "t */", "k func", "d Run"]),
    ("a.rs", ["+fn f<'a>(x: &'a str) -> u8 { 7 }"], ["k fn", "d f", "n 7"]),
    ("a.txt", ["+if 'a' # 1"], []),
    ("Makefile", ["+all: # if"], ["t # if"]),
]

COLOURED = """[...document.querySelectorAll("#trial .file")].map((file) =>
  [...file.querySelectorAll("[class^='c-']")].map((one) => one.className.slice(2) + " " + one.textContent.trim()))"""


@pytest.mark.browser
def test_code_has_colours_and_stays_text(browser: Browser, make_trial: Callable[..., Trial], tmp_path: Path) -> None:
    diff = "".join(
        f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n" + "".join(f"{row}\n" for row in rows)
        for name, rows, _ in CODE
    )
    comments = tuple(
        SubjectComment(id=f"c{at}", path=name, lines=(1, 1), body="B") for at, (name, *_) in enumerate(CODE)
    )
    write_subject(
        tmp_path, Subject(instance="one", repo="o/r", language="python", title="t", diff=diff, comments=comments)
    )
    write_trials(tmp_path / "trials.jsonl", [make_trial("a", "one", Reason.GREEN)])
    remake(tmp_path, errors_as_misses=False)
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{(tmp_path / 'index.html').as_uri()}#t=one%3A%3Aa")
    page.wait_for_selector("#trial:not([hidden]) .code")
    shown = dict(zip(page.locator("#trial .file").all(), page.evaluate(COLOURED), strict=True))
    assert list(shown.values()) == [colours for *_, colours in CODE]
    for file, (_, rows, _) in zip(shown, CODE, strict=True):
        told = file.locator(".code td:nth-child(3)").all_text_contents()
        assert [row for row in told if row in rows] == rows, "each line as it is in the diff"
    assert page.locator("#trial .code :is(b, script)").count() == 0
    assert said == []
