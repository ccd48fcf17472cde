"""docs/reference/options.md says what the table of options says, no more and no less."""

from __future__ import annotations

from pathlib import Path

from pytest_crab.benchmarks.codereviewqa.items import ANSWERER, PROBE
from pytest_crab.option_table import OPTIONS, Option

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "options.md"

#: The page of the options that name what is no reviewer.
PROBES = PAGE.parents[1] / "how-to" / "probes.md"

#: What a default is called where it depends on the machine or is made of others.
DEFAULTS = {"jobs": "the cores, at most 4", "report": "a new one in `runs` in the store"}


def row(option: Option) -> str:
    """The line of the page that stands for one option."""
    flags = [option.short] if option.short else []
    flags += [f"--crab-{option.name}"] if option.flag else []
    flags += [f"{command} {option.flag_of_commands}" for command in option.commands]
    line = ", ".join(f"`{flag}`" for flag in flags) or f"`{option.dest}`"
    return f"| {line} | {option.type.meaning} | {default(option)} | {option.help} |"


def default(option: Option) -> str:
    if option.name in DEFAULTS:
        return DEFAULTS[option.name]
    if option.default is None or option.default == ():
        return "-"
    if isinstance(option.default, bool):
        return f"`{str(option.default).lower()}`"
    return f"`{option.default}`"


def test_every_option_has_its_row_and_no_row_stands_for_nothing() -> None:
    page, _, _ = PAGE.read_text().partition("## pytest's own options")
    assert not {row(option) for option in (ANSWERER, PROBE)} - {*PROBES.read_text().splitlines()}
    shown = [line for line in page.splitlines() if line.startswith(("| `--", "| `crab_"))]
    assert shown == [row(option) for option in OPTIONS], "\n" + "\n".join(row(option) for option in OPTIONS)
