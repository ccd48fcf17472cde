"""Reports of linters and review tools, each in its own format."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.parsing.report_formats import LAYOUTS, ReportFormat
from pytest_crab.parsing.review_output import read_review
from pytest_crab.reviewers.ruff import ruff_program
from pytest_crab.types import Review, Side

PATH = "src/my app.py"


def sarif(*results: dict[str, Any]) -> str:
    return json.dumps({"$schema": "https://x/sarif.json", "version": "2.1.0", "runs": [{"results": list(results)}]})


def sarif_result(**more: Any) -> dict[str, Any]:
    region = {"startLine": 3, "startColumn": 1, "endLine": 4, "endColumn": 9}
    place = {"physicalLocation": {"artifactLocation": {"uri": "src/my%20app.py"}, "region": region}}
    return {"ruleId": "R1", "level": "warning", "message": {"text": "Wrong."}, "locations": [place], **more}


CHECKSTYLE = (
    '<?xml version="1.0" encoding="utf-8"?>\n<checkstyle version="4.3"><file name="{path}">{errors}</file></checkstyle>'
)
ERROR = '<error line="3" column="1" severity="warning" message="Wrong." source="R1"/>'
QUALITY = {
    "description": "Wrong.", "check_name": "R1", "severity": "warning", "fingerprint": "x",
    "location": {"path": PATH, "lines": {"begin": 3, "end": 4}},
}  # fmt: skip
DIAGNOSTIC = {
    "message": "Wrong.", "severity": "warning", "code": {"value": "R1", "url": "https://x"},
    "location": {"path": PATH, "range": {"start": {"line": 3, "column": 1}, "end": {"line": 4, "column": 2}}},
}  # fmt: skip
COMMENT = {"path": PATH, "start_line": 3, "line": 4, "side": "RIGHT", "body": "Wrong.", "id": 7, "commit_id": "a" * 40}
NOTE = {"type": "DiffNote", "body": "Wrong.", "position": {"new_path": PATH, "new_line": 3, "old_line": None}}

#: A report with one finding, and one without any.
REPORTS: dict[str, tuple[ReportFormat, str, str]] = {
    "sarif": (ReportFormat.SARIF, "\ufeff" + sarif(sarif_result()), sarif()),
    "github's comments": (ReportFormat.GITHUB, json.dumps([COMMENT]), "[]"),
    "a review for github": (ReportFormat.GITHUB, json.dumps({"body": "x", "comments": [COMMENT]}), '{"comments": []}'),
    "commands to github": (
        ReportFormat.GITHUB, f"Checked.\n::warning title=R1,file={PATH},line=3,endLine=4::Wrong.\n", "\n",
    ),
    "gitlab's code quality": (ReportFormat.GITLAB, json.dumps([QUALITY]), "[]"),
    "gitlab's discussions": (ReportFormat.GITLAB, json.dumps([{"id": "a", "notes": [NOTE]}]), '[{"notes": []}]'),
    "rdjson": (ReportFormat.RDJSON, json.dumps({"source": {}, "diagnostics": [DIAGNOSTIC]}), '{"diagnostics": []}'),
    "rdjsonl": (ReportFormat.RDJSON, f"{json.dumps(DIAGNOSTIC)}\n{json.dumps({**DIAGNOSTIC, 'message': ' '})}\n", "[]"),
    "checkstyle": (
        ReportFormat.CHECKSTYLE, CHECKSTYLE.format(path=PATH, errors=ERROR), CHECKSTYLE.format(path=PATH, errors="")
    ),
    "crab": (ReportFormat.CRAB, json.dumps([{"path": PATH, "line": 3, "message": "Wrong."}]), "[]"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REPORTS)
def test_a_report_is_read_full_and_empty(kind: str) -> None:
    form, full, empty = REPORTS[kind]
    problems: list[str] = []
    review = read_review(full, problems, kind=form, files={PATH})
    assert review is not None, problems
    (finding,) = review.findings
    assert (finding.path, finding.start, finding.side, finding.body) == (PATH, 3, Side.RIGHT, "Wrong.")
    assert finding.end in (None, 4)
    assert review.unplaced == ()
    assert read_review(empty, problems, kind=form) == Review()
    assert problems == []


@pytest.mark.parametrize("form", [form for form in ReportFormat if form is not ReportFormat.CRAB])
@pytest.mark.parametrize(
    "text",
    ["Done, all is well.", "{", "[1", '{"error": "no"}', '{"runs": [{"results": null}]}', "<x/>", "[" * 100_000, "3"],
)
def test_what_is_no_report_is_no_review(form: ReportFormat, text: str) -> None:
    problems: list[str] = []
    assert read_review(text, problems, kind=form) is None
    assert f"format {form}" in problems[0]


def test_what_a_tool_found_to_be_well_is_no_finding() -> None:
    text = sarif(
        sarif_result(kind="pass"), sarif_result(suppressions=[{"kind": "inSource"}]), sarif_result(kind="fail")
    )
    review = read_review(text, [], kind=ReportFormat.SARIF)
    assert review is not None
    assert len(review.findings) == 1
    replies = json.dumps([{**COMMENT, "in_reply_to_id": 3}])
    assert read_review(replies, [], kind=ReportFormat.GITHUB) == Review()


@pytest.mark.parametrize(
    "entities",
    ['<!DOCTYPE x [<!ENTITY a "b">]>', '<!DOCTYPE x SYSTEM "file:///etc/passwd">'],
)
def test_xml_makes_no_entities(entities: str) -> None:
    problems: list[str] = []
    text = (
        f"<?xml version='1.0'?>{entities}<checkstyle><file name='a'><error line='1' message='&a;'/></file></checkstyle>"
    )
    assert read_review(text, problems, kind=ReportFormat.CHECKSTYLE) is None
    assert "DOCTYPE" in problems[0]


def test_files_in_files_are_read_once() -> None:
    many = 800
    errors = "<error line='1' message='m'/>" * many
    opened, closed = "<file name='a.py'>" * many, "</file>" * many
    text = f"<checkstyle>{opened}{errors}{closed}</checkstyle>"
    review = read_review(text, [], kind=ReportFormat.CHECKSTYLE)
    assert review is not None
    assert len(review.findings) == many


def test_what_github_escapes_is_unescaped() -> None:
    review = read_review("::error file=a%2Cb.py,line=2::50%25 of it%0Ais wrong", [], kind=ReportFormat.GITHUB)
    assert review is not None
    assert [(one.path, one.body, one.severity) for one in review.findings] == [
        ("a,b.py", "50% of it\nis wrong", "error")
    ]


@pytest.mark.parametrize("form", ["sarif", "github", "gitlab", "rdjson"])
def test_reports_of_a_real_linter_are_read(form: str, tmp_path: Path) -> None:
    ruff = str(ruff_program())
    (tmp_path / "a.py").write_text("x = 1\nimport os\n")
    argv = [ruff, "check", "--isolated", "--no-cache", "--select=F401", f"--output-format={form}", "a.py"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    problems: list[str] = []
    review = read_review(done.stdout, problems, kind=ReportFormat(form), root=str(tmp_path), files={"a.py"})
    assert review is not None, problems
    (finding,) = review.findings
    assert (finding.path, finding.start, review.unplaced) == ("a.py", 2, ())
    assert "os" in finding.body


def test_every_format_but_our_own_has_a_layout() -> None:
    assert set(LAYOUTS) == set(ReportFormat) - {ReportFormat.CRAB}
