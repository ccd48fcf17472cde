"""ruff, with those of its rules that name a likely fault."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_crab.ecosystems.linters import Linter

#: Rules that only ask for another layout or more annotations are left out.
SELECT = ("E4", "E7", "E9", "F", "A", "B", "S", "BLE", "C4", "DTZ", "SIM", "PERF", "PLE", "PLW", "RET", "ARG", "RUF")
#: An assert is how a test is written.
IGNORE = ("S101",)
#: The newest, so that new syntax is no fault.
NEWEST = "py313"


def arguments(select: Sequence[str], ignore: Sequence[str], target_version: str, *, output: str) -> tuple[str, ...]:
    """Return the arguments before the files, by which ruff reads no settings of the tree."""
    rules = ("--select", ",".join(select), *(("--ignore", ",".join(ignore)) if ignore else ()))
    shape = ("--isolated", "--no-cache", "--exit-zero", "--output-format", output)
    return ("check", *shape, "--target-version", target_version, *rules, "--")


LINTER = Linter(
    program="ruff",
    arguments=arguments(SELECT, IGNORE, NEWEST, output="sarif"),
    format="sarif",
    exit_codes=(0,),
    stopping=("invalid-syntax",),
    source="pip install ruff",
)
