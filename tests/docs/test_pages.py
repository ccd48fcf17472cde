"""What all pages promise: links lead somewhere, options exist, crab.yaml examples load, no machine is named."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_crab.agents import AGENTS
from pytest_crab.benchmarks.codereviewqa.items import ANSWERER, PROBE
from pytest_crab.option_table import OPTIONS
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.scoring.judges import JUDGES
from pytest_crab.settings import load_settings
from pytest_crab.types import Instance
from pytest_crab.yaml_reader import read_document

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose(page: Path) -> str:
    """The page without its blocks of code."""
    return _FENCE.sub("", page.read_text())


def anchors(page: Path) -> set[str]:
    """What the headings of a page can be linked by."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


def yaml_blocks() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for language, text in _FENCE.findall(page.read_text()):
            if language == "yaml":
                yield name(page), text


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_relative_link_leads_to_a_file_and_its_heading(page: Path) -> None:
    wrong = []
    for link in _LINK.findall(prose(page)):
        target, _, anchor = link.partition("#")
        if "://" in link:
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            wrong.append(link)
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_option_that_is_named_exists(page: Path) -> None:
    options = (*OPTIONS, ANSWERER, PROBE)
    known = {f"crab-{option.name}" for option in options}
    variables = {option.variable for option in options} | {
        "CRAB_CLIENTS",
        "CRAB_GIT_MIRROR",
        "CRAB_PYTHON",
        "CRAB_PROGRAM",
    }
    text = page.read_text()
    assert set(re.findall(r"--(crab-[a-z-]*[a-z])", text)) <= known
    assert {word for word in re.findall(r"\bCRAB_[A-Z_]+\b", text) if not word.startswith("CRAB_TEST_")} <= variables


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_page_names_a_place_of_one_machine_or_a_registry(page: Path) -> None:
    assert not re.findall(r"/work/|/tmp/|/root/|pypi\.org|pythonhosted|docker\.io|ghcr\.io|quay\.io", page.read_text())


def test_crab_yaml_examples_load_and_name_what_exists(tmp_path: Path) -> None:
    examples = [(page, text) for page, text in yaml_blocks() if re.match(r"(reviewers|agents|judges):", text)]
    assert len(examples) > 3
    for page, text in [*examples, ("docs/examples", (ROOT / "docs/examples/crab.yaml").read_text())]:
        (tmp_path / "crab.yaml").write_text(text)
        settings = load_settings(tmp_path)
        for family, variants in ((REVIEWERS, settings.reviewers), (AGENTS, settings.agents), (JUDGES, settings.judges)):
            assert {variant.use for variant in variants.values()} <= set(family.members), page


def test_the_example_of_an_instance_has_no_unknown_key(tmp_path: Path) -> None:
    (text,) = [text for _, text in yaml_blocks() if text.startswith("schema:")]
    path = tmp_path / "instance.yaml"
    path.write_text(text)
    document = read_document(path)
    assert set(document) <= set(Instance.__dataclass_fields__)


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r"- (?:[\w ]+: )?([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert listed == {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]}


def test_the_overview_leads_to_every_page() -> None:
    linked = {link.partition("#")[0] for link in _LINK.findall((ROOT / "docs" / "index.md").read_text())}
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]}
    assert {page for page in pages if "/decisions/" not in page} - linked == {"index.md"}
