"""The pages about models hold the keys, paths and fields that there are, and no others."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.models.api_formats import API_FORMATS
from pytest_crab.models.cassettes import RECORDED
from pytest_crab.models.ledger import LedgerEntry
from pytest_crab.models.request_key import DROPPED
from pytest_crab.models.usage import Tokens
from pytest_crab.settings import ModelSettings, Price, Provider
from pytest_crab.testing.dialogue import Reply

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


def keys(page: str, heading: str) -> list[str]:
    """The names in the first column of the first table below a heading, or of the page."""
    text = (REFERENCE / page).read_text()
    body = re.split(rf"^#+ {re.escape(heading)}$", text, flags=re.MULTILINE)[1]
    body = re.split(r"^#+ ", body, flags=re.MULTILINE)[0]
    firsts = [line.strip("|").split(" | ")[0] for line in body.splitlines() if line.startswith("| `")]
    return [name for first in firsts for name in re.findall(r"`([^`]+)`", first)]


@pytest.mark.parametrize(
    ("heading", "record"), [("models", ModelSettings), ("A provider", Provider), ("A price", Price)]
)
def test_crab_yaml_page_has_every_key(heading: str, record: Any) -> None:
    assert keys("crab-yaml.md", heading) == [field.name for field in dataclasses.fields(record)]


def test_gateway_page_has_every_path() -> None:
    paths = {path.partition("/v1")[2] for path in keys("gateway.md", "Paths")} - {"/..."}
    assert paths == set().union(*(api_format.posts for api_format in API_FORMATS.values()))


def test_gateway_page_has_every_field_of_the_ledger() -> None:
    entry = LedgerEntry(
        time="t", trial="t", step="s", attempt=1, provider="p", path="/p", model="m", status=200, tries=1, seconds=0.0,
        complete=True, tokens=Tokens(input=1, output=1), cost=1.0, estimate=1.0, replayed=True, cut=True,
            recorded_by="o",
    )  # fmt: skip
    assert set(keys("gateway.md", "Usage and cost")) == set(entry.plain())


def test_gateway_page_says_what_is_dropped_and_recorded() -> None:
    text = (REFERENCE / "gateway.md").read_text()
    first = keys("gateway.md", "Recordings")
    assert set(first[: len(DROPPED)]) == DROPPED
    statuses = re.search(r"answers with status ([0-9, and]+) are recorded", text)
    assert statuses is not None
    assert {int(number) for number in re.findall(r"\d+", statuses.group(1))} == RECORDED


def test_provider_page_names_fields_of_a_reply() -> None:
    text = (REFERENCE / "scripted-provider.md").read_text()
    named = re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)
    assert named
    assert set(named) <= {field.name for field in dataclasses.fields(Reply)}
