"""Answers as models really give them, each with what must come of it: findings, no findings, or no review."""

from __future__ import annotations

import html
import json

import pytest

from pytest_crab.parsing.findings_in_text import read_findings

FILES = {"src/app.py", "src/old.py", "a/kept.py"}
ONE = {"path": "src/app.py", "start": 59, "end": 61, "title": "Zero", "body": "Divides by zero.", "severity": "high"}
TWO = {"path": "src/old.py", "start": 3, "body": "Leaks the file."}
DRAFT = {"path": "src/old.py", "start": 1, "body": "A first thought."}
LIST, BOTH, DRAFTS = json.dumps([ONE]), json.dumps([ONE, TWO], indent=2), json.dumps([DRAFT])

#: The answer and the bodies that must come of it; None: no review, and a reason.
ZERO, LEAK = "Divides by zero.", "Leaks the file."
MESSY: dict[str, tuple[str, list[str] | None]] = {
    "bare": (BOTH, [ZERO, LEAK]),
    "fenced": (f"```json\n{BOTH}\n```", [ZERO, LEAK]),
    "prose around": (f"Sure! I looked at f(x)[0] and {{a}}.\n\n{LIST}\n\nHope [this] helps {{you}}.", [ZERO]),
    "thinking with an empty list": (f"<think>Maybe [] is right? Or {DRAFTS}.</think>\n{LIST}", [ZERO]),
    "thinking with fenced json": (f"<think>\n```json\n[]\n```\nno, wait\n</think>\n```json\n{LIST}\n```", [ZERO]),
    "thinking before no findings": (f"<think>{DRAFTS} is wrong</think>\n[]", []),
    "thinking tag": (f"<thinking>{DRAFTS}</thinking>{LIST}", [ZERO]),
    "reasoning tag": (f'<reasoning effort="high">[]</reasoning>\n{LIST}', [ZERO]),
    "kimi's tag": (f"◁think▷ [] {DRAFTS} ◁/think▷{LIST}", [ZERO]),
    "mistral's tag": (f"[THINK]{DRAFTS}[/THINK]{LIST}", [ZERO]),
    "harmony": (f"<|channel|>analysis<|message|>{DRAFTS}<|end|><|channel|>final<|message|>{LIST}", [ZERO]),
    "thinking begun by the template": (f"First {DRAFTS}, then []\n</think>\n\n{LIST}", [ZERO]),
    "nested thinking": (f"<think>a<think>{DRAFTS}</think>[]</think>{LIST}", [ZERO]),
    "thinking that does not end": (f"<think>I would say\n[]\nor {LIST}", None),
    "only thinking": (f"<think>{LIST}</think>", None),
    "thinking in upper case": (f"<THINK>[]</THINK>{LIST}", [ZERO]),
    "a tag in a finding": (json.dumps([{**ONE, "body": "<think> [] </think>"}]), ["<think> [] </think>"]),
    "a tag in words": (f"The `<think>` tag is read.\n{LIST}", [ZERO]),
    "several lists": (f"Draft:\n{DRAFTS}\nFinal:\n{LIST}", [ZERO]),
    "an empty list, then a full one": (f"[]\n{LIST}", [ZERO]),
    "a full list, then an empty one": (f"{LIST}\nNone of these holds.\n\n[]", []),
    "a full list, then code": (f"{LIST}\nThe default `x=[]` stays, and so does d = [] there.", [ZERO]),
    "the same twice": (f"{LIST}\n{LIST}", [ZERO]),
    "a schema first": ('{"type": "array", "title": "t", "description": "d", "items": {}}\n' + LIST, [ZERO]),
    "a schema alone": ('{"type": "array", "title": "t", "description": "d", "items": {}}', None),
    "nested lists": (json.dumps([[ONE], [TWO]]), [ZERO, LEAK]),
    "under findings": (json.dumps({"summary": "Bad.", "findings": [ONE]}), [ZERO]),
    "findings further in": (json.dumps({"review": {"findings": [ONE]}}), [ZERO]),
    "no findings further in": (json.dumps({"review": {"findings": []}}), []),
    "by severity": (json.dumps({"critical": [ONE], "minor": [TWO], "style": []}), [ZERO, LEAK]),
    "one object": (json.dumps(ONE), [ZERO]),
    "lines of objects": (f"{json.dumps(ONE)}\n{json.dumps(TWO)}\n", [ZERO, LEAK]),
    "trailing commas": ('[{"path": "src/app.py", "body": "Divides by zero.",},]', [ZERO]),
    "single quotes": ("[{'path': 'src/app.py', 'body': 'Divides by zero.'}]", [ZERO]),
    "python's repr": (repr([{**ONE, "end": None, "sure": True, "body": "It's \"zero\"."}]), ["It's \"zero\"."]),
    "bare keys": ('[{path: "src/app.py", body: "Divides by zero."}]', [ZERO]),
    "comments": ('[ // mine\n {"path": "src/app.py", /* it */ "body": "Divides by zero."} # last\n]', [ZERO]),
    "NaN": ('[{"path": "src/app.py", "start": NaN, "body": "Divides by zero."}]', [ZERO]),
    "escaped as HTML": (html.escape(LIST), [ZERO]),
    "typeset quotes": ("[{~path^: ~src/app.py^, ~body^: ~Divides by zero.^}]".translate({126: 8220, 94: 8221}), [ZERO]),
    "a JSON text": (json.dumps(LIST), [ZERO]),
    "escaped quotes and newlines": (BOTH.replace('"', '\\"').replace("\n", "\\n"), [ZERO, LEAK]),
    "escaped newlines": (BOTH.replace("\n", "\\n"), [ZERO, LEAK]),
    "BOM and CRLF": ("\ufeff" + BOTH.replace("\n", "\r\n"), [ZERO, LEAK]),
    "raw newlines in a text": ('[{"path": "src/app.py", "body": "Divides\nby zero."}]', ["Divides\nby zero."]),
    "fences in a text": (json.dumps([{**ONE, "body": "Say\n```python\nx = []\n```"}]), ["Say\n```python\nx = []\n```"]),
    "windows path": ('[{"path": "C:\\workspace\\src\\app.py", "body": "Divides by zero."}]', [ZERO]),
    "no findings": ("[]", []),
    "no findings, fenced": ("Here you are:\n```json\n[]\n```\nAsk me for more.", []),
    "no findings, said": ("I found nothing to report: []", []),
    "no findings, object": ('```\n{"findings": []}\n```', []),
    "an empty list in prose": ("In src/app.py:59 the default [] is shared: def f(x=[]): ...", None),
    "an empty list in code": ("Line 59 is wrong:\n```python\nitems = []\n```\n", None),
    "a check list": ("- [ ] src/app.py:59 divides by zero\n- [ ] src/old.py leaks", None),
    "truncated": (BOTH[:-40], None),
    "truncated object": (json.dumps({"findings": [ONE, TWO]})[:-30], None),
    "truncated after an empty one": (f"[]\nNo, wait:\n{BOTH[:-40]}", None),
    "truncated after a whole one": (f"{LIST}\nAnd again:\n{BOTH[:-40]}", [ZERO]),
    "unreadable after an empty one": ('[]\n[{"path": "src/app.py", "body": "he said "no" to it"}]', None),
    "one unreadable of three": (f'[{json.dumps(ONE)}, {{"body": "say "no""}}, {json.dumps(TWO)}]', [ZERO, LEAK]),
    "all unreadable": ('[{"path": "src/app.py", "body": "he said "no" to it"}]', None),
    "one without words": (json.dumps([ONE, {"path": "src/old.py"}, "and so on"]), [ZERO]),
    "a list of texts": (json.dumps(["src/app.py:59 divides by zero"]), None),
    "texts under findings": (json.dumps({"findings": ["src/app.py:59 divides by zero"]}), None),
    "findings null": ('{"findings": null}', None),
    "an error": ('{"error": {"message": "overloaded"}}', None),
    "a message": ('{"message": "I cannot help with that."}', None),
    "an apology": ("I'm sorry, I cannot review this.", None),
    "praise": ("LGTM! No issues found.", None),
    "a table": ("| path | line | body |\n|---|---|---|\n| src/app.py | 59 | Divides by zero. |", None),
    "xml": ("<findings><finding><path>src/app.py</path><body>Divides.</body></finding></findings>", None),
    "yaml": ("- path: src/app.py\n  start: 59\n  body: Divides by zero.", None),
    "empty": ("", None),
    "blank": (" \n\t", None),
}  # fmt: skip


@pytest.mark.parametrize("kind", MESSY)
def test_an_answer_is_findings_an_honest_empty_list_or_no_review(kind: str) -> None:
    text, bodies = MESSY[kind]
    problems: list[str] = []
    review = read_findings(text, problems, files=FILES)
    assert (None if review is None else [finding.body for finding in review.findings]) == bodies
    assert bool(problems) == (bodies is None)


@pytest.mark.parametrize(("kind", "count"), [("one unreadable of three", 1), ("one without words", 2), ("bare", 0)])
def test_what_is_set_aside_is_counted(kind: str, count: int) -> None:
    review = read_findings(MESSY[kind][0], [], files=FILES)
    assert review is not None
    assert len(review.set_aside) == count


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("src/app.py", "src/app.py"),
        ("b/src/app.py", "src/app.py"),
        ("a/src/app.py", "src/app.py"),
        ("./src/app.py", "src/app.py"),
        ("/workspace/src/app.py", "src/app.py"),
        ("/tmp/x/checkout/src/app.py", "src/app.py"),
        ("/src/app.py", "src/app.py"),
        ("src\\app.py", "src/app.py"),
        ("a/kept.py", "a/kept.py"),
        ("b/other.py", "b/other.py"),
        ("/etc/passwd", "etc/passwd"),
    ],
)
def test_a_path_is_the_file_of_the_diff_that_it_means(path: str, meant: str) -> None:
    review = read_findings(json.dumps([{**ONE, "path": path}]), [], files=FILES)
    assert review is not None
    assert review.findings[0].path == meant


@pytest.mark.parametrize(
    ("start", "end", "lines"),
    [
        (59.0, 61.0, (59, 61)),
        ("59", "61", (59, 61)),
        ("59.0", None, (59, None)),
        ("L59", "L61", (59, 61)),
        ("59-61", None, (59, 61)),
        ([59, 61], None, (59, 61)),
        (59.5, None, (None, None)),
        ("here", None, (None, None)),
        (True, None, (None, None)),
        (0, 3, (None, None)),
    ],
)
def test_whole_numbers_are_lines_however_they_are_written(
    start: object, end: object, lines: tuple[int | None, ...]
) -> None:
    review = read_findings(json.dumps([{**ONE, "start": start, "end": end}]), [], files=FILES)
    assert review is not None
    assert (review.findings[0].start, review.findings[0].end) == lines
