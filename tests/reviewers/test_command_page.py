from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from fake_checkout import FakeCheckout
from pytest_crab import reviewers
from pytest_crab.commands import request
from pytest_crab.parsing.agent_output import read_agent_output
from pytest_crab.parsing.finding_names import LISTS, NAMES
from pytest_crab.parsing.findings import LONGEST_TEXT, MOST_FINDINGS
from pytest_crab.parsing.report_formats import LAYOUTS, PARTS, ReportFormat
from pytest_crab.parsing.review_output import read_review
from pytest_crab.reviewers.command import CommandReviewer
from pytest_crab.types import Finding, Side, Usage

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGE = (REFERENCE / "command.md").read_text()


def block(word: str) -> str:
    (found,) = re.findall(rf"^```{word}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


def schema(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((REFERENCE / "schemas" / f"{name}.schema.json").read_text())
    return read


def names(record: type) -> set[str]:
    return {field.name for field in dataclasses.fields(record)}


def allowed(described: dict[str, Any], value: Any) -> bool:
    """As much of JSON schema as the files use."""
    types: dict[str, type] = {
        "string": str,
        "integer": int,
        "number": float,
        "object": dict,
        "array": list,
        "null": type(None),
    }
    kinds = described.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return (
        (not kinds or isinstance(value, tuple(types[kind] for kind in kinds)))
        and ("enum" not in described or value in described["enum"])
        and ("const" not in described or value == described["const"])
        and ("pattern" not in described or re.search(described["pattern"], value) is not None)
        and all(key in value for key in described.get("required", ()))
        and all(allowed(inner, value[key]) for key, inner in described.get("properties", {}).items() if key in value)
        and all(allowed(described["items"], item) for item in (value if "items" in described else ()))
    )


def test_the_worked_example_works(tmp_path: Path) -> None:
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "todo.py").write_text(block("python"))
    settings = yaml.load(block("yaml"), yaml.BaseLoader)["reviewers"]["todo"]
    reviewer = reviewers.REVIEWERS.make(settings.pop("use"), settings, tmp_path / "house")
    assert isinstance(reviewer, CommandReviewer)
    checkout = FakeCheckout(tmp_path / "x", head={"a.py": b"# TODO\n1\n2\n# TODO\n"}, base={"a.py": b"# TODO\n1\n"})
    review = reviewer.review(checkout.pull_request(), checkout)
    assert [(finding.path, finding.start) for finding in review.findings] == [("a.py", 4)]
    assert reviewer.identity() is not None
    assert len(block("python").splitlines()) == 15


def test_the_page_shows_what_is_read() -> None:
    problems: list[str] = []
    review = read_review(block("json reviewer-output"), problems)
    assert review is not None, problems
    assert {name for name in names(Finding) if getattr(review.findings[0], name) is not None} == names(Finding)
    assert review.version == "todo 1.4"
    remarks = read_agent_output(block("json agent-output"))
    assert remarks.usage == Usage(input_tokens=9000, output_tokens=700)
    assert remarks.notes == "Left the second finding alone."


@pytest.mark.parametrize("name", ["reviewer-input", "reviewer-output", "agent-output"])
def test_the_examples_fit_their_schemas(name: str) -> None:
    assert allowed(schema(name), json.loads(block(f"json {name}")))


def test_what_is_sent_fits_the_schemas(tmp_path: Path) -> None:
    pull_request = FakeCheckout(tmp_path / "x", head={"a.py": b"1\n"}).pull_request()
    findings = [Finding(body="B"), Finding(body="B", path="a.py", start=1, end=2, side=Side.LEFT, rule="R")]
    for name, sent in (
        ("reviewer-input", {**request(pull_request), "root": "/x"}),
        ("agent-input", {**request(pull_request, findings), "root": "/x"}),
    ):
        assert allowed(schema(name), sent)
        assert set(sent) == set(schema(name)["required"]) == set(schema(name)["properties"])


def test_the_schemas_are_in_step_with_the_records() -> None:
    output = schema("reviewer-output")
    findings = output["properties"]["findings"]
    finding = findings["items"]
    assert findings == schema("agent-input")["properties"]["findings"]
    assert findings["maxItems"] == MOST_FINDINGS
    assert set(finding["properties"]) == names(Finding)
    assert finding["required"] == ["body"]
    assert finding["properties"]["body"]["maxLength"] == LONGEST_TEXT
    assert set(finding["properties"]["side"]["enum"]) == {*(side.value for side in Side), None}
    assert set(output["properties"]["usage"]["properties"]) == names(Usage)
    assert output["properties"]["usage"] == schema("agent-output")["properties"]["usage"]


def test_the_page_names_every_key_and_schema() -> None:
    named = PAGE[PAGE.index("| key of a finding") : PAGE.index("- Exit code 0")]
    assert set(re.findall(r"`(\w+)`(?=[^|]*\|[^|]*\|[^|]*\|$)", named, re.MULTILINE)) >= names(Finding) - {"path"}
    files = {path.name for path in (REFERENCE / "schemas").iterdir()}
    assert set(re.findall(r"schemas/([\w.-]+)", PAGE)) == files


def test_the_page_and_the_table_of_names_agree() -> None:
    (table,) = re.findall(r"<!-- names: .*?-->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    rows = [re.findall(r"`([^`]+)`", line.rpartition(" | ")[2]) for line in table.splitlines() if "`" in line]
    assert rows == [list(names) for names in (*NAMES.values(), LISTS)]
    assert names(Finding) == {known[0] for part, known in NAMES.items() if part in names(Finding)}


def test_the_page_and_the_layouts_of_reports_agree() -> None:
    (table,) = re.findall(r"<!-- layouts: .*?-->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    head, _, *rows = [line.strip("| ").split(" | ") for line in table.strip().splitlines()]
    assert [cell.strip("`") for cell in head] == [str(kind) for kind in LAYOUTS]
    assert len(rows) == len(PARTS) + 2
    for part, row in zip(("items", *PARTS, "left_out"), rows, strict=True):
        assert row[0].strip("`") in (part, "entries", "left out")
        shown = [tuple(re.findall(r"`([^`]+)`", cell)) for cell in row[1:]]
        assert shown == [getattr(layout, part) for layout in LAYOUTS.values()]
    listed = PAGE[PAGE.index("| format | what |") : PAGE.index("Where the parts of a finding stand")]
    assert re.findall(r"^\| `(\w+)` \|", listed, re.MULTILINE) == [str(kind) for kind in ReportFormat]
