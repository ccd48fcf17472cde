"""The reference's tables of keys hold exactly the keys of the records and adapters that they describe."""

from __future__ import annotations

import dataclasses
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_crab import serialization, types
from pytest_crab.agents import AGENTS
from pytest_crab.curation.stages import PERMIT, STAGES
from pytest_crab.registry import instance_fields
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.scoring.judges import JUDGES
from pytest_crab.trial.retries import RETRIES

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = DOCS / "reference"

#: The record behind each heading of instances.md, and the fields that no file holds.
RECORDS: dict[str, tuple[Any, set[str]]] = {
    "instance.yaml": (types.Instance, {"folder", "extra"}),
    "pull_request": (types.PullRequestFacts, set()),
    "source": (types.Source, set()),
    "source.git": (types.GitSource, set()),
    "source.sdist": (types.SdistSource, set()),
    "source.tree": (types.TreeSource, set()),
    "environment": (types.Environment, set()),
    "comments": (types.Comment, set()),
    "oracle": (types.Oracle, set()),
}


def section(page: Path, heading: str) -> str:
    """What stands below a heading and above the next one."""
    body = re.split(rf"^#+ {re.escape(heading)}$", page.read_text(), flags=re.MULTILINE)[1]
    return re.split(r"^#+ ", body, flags=re.MULTILINE)[0]


def rows(page: Path, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading."""
    lines = [line for line in section(page, heading).splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def keys(page: Path, heading: str) -> list[str]:
    return [row[0].strip("` ") for row in rows(page, heading)]


@pytest.mark.parametrize("heading", RECORDS)
def test_instances_page_has_every_key_and_no_other(heading: str) -> None:
    record, hidden = RECORDS[heading]
    wanted = [serialization.key_of(field) for field in dataclasses.fields(record) if field.name not in hidden]
    wanted += instance_fields() if record is types.Instance else []
    assert keys(REFERENCE / "instances.md", heading) == wanted


def test_what_is_tried_again_stands_on_the_page_on_trials() -> None:
    told = {
        name.strip("`"): (most, wait)
        for name, _, most, wait in rows(DOCS / "explanation" / "trial.md", "What is tried again")
    }
    assert told == {name: (str(one.most), f"{one.wait:g} s") for name, one in RETRIES.items()}


@pytest.mark.parametrize("heading", RECORDS)
def test_needed_keys_are_called_needed(heading: str) -> None:
    record, hidden = RECORDS[heading]
    needed = {
        serialization.key_of(field)
        for field in dataclasses.fields(record)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    } - hidden
    said = {row[0].strip("` ") for row in rows(REFERENCE / "instances.md", heading) if row[2] == "needed"}
    assert said == needed


ADAPTERS = [
    (family.noun, name, path) for family in (REVIEWERS, AGENTS, JUDGES) for name, path in sorted(family.members.items())
]


@pytest.mark.parametrize(("noun", "name", "path"), ADAPTERS, ids=[f"{noun}-{name}" for noun, name, _ in ADAPTERS])
def test_adapters_page_has_every_setting_and_no_other(noun: str, name: str, path: str) -> None:
    module, _, cls = path.partition(":")
    fields = dataclasses.fields(getattr(importlib.import_module(module), cls))
    page = REFERENCE / "reviewers-and-agents.md"
    both = name in REVIEWERS.members and name in AGENTS.members
    heading = f"{name} ({noun})" if both else name
    heading = heading if f"\n### {heading}\n" in page.read_text() else f"{noun.capitalize()}s"
    shared = re.findall(r"\[(settings of a \w+)\]\(#", section(page, heading))
    own = [] if heading.startswith(noun.capitalize()) else keys(page, heading)
    told = [*own, *(key for title in shared for key in keys(page, title.capitalize()))]
    assert set(told) == {serialization.key_of(field) for field in fields if field.init}


def test_adapters_page_lists_every_name() -> None:
    page = REFERENCE / "reviewers-and-agents.md"
    assert sorted(keys(page, "Reviewers")) == sorted(REVIEWERS.members)
    assert sorted(keys(page, "Agents")) == sorted(AGENTS.members)
    assert sorted(keys(page, "Judges")) == sorted(JUDGES.members)


@pytest.mark.parametrize("name", sorted({*STAGES.members} - {PERMIT}))
def test_page_on_curation_has_every_setting_and_no_other(name: str) -> None:
    module, _, cls = STAGES.members[name].partition(":")
    fields = dataclasses.fields(getattr(importlib.import_module(module), cls))
    assert keys(DOCS / "how-to" / "curate.md", f"The rules of {name}") == [field.name for field in fields]
