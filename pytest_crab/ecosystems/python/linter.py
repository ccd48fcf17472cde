"""ruff, with those of its rules that name a likely fault."""

from __future__ import annotations

from pytest_crab.ecosystems.linters import Linter

#: Rules that only ask for another layout or more annotations are left out.
SELECT = ("E4", "E7", "E9", "F", "A", "B", "S", "BLE", "C4", "DTZ", "SIM", "PERF", "PLE", "PLW", "RET", "ARG", "RUF")
#: An assert is how a test is written.
IGNORE = ("S101",)
#: The newest, so that new syntax is no fault.
NEWEST = "py313"

LINTER = Linter(
    program="ruff",
    arguments=(
        *("check", "--isolated", "--no-cache", "--exit-zero", "--output-format", "sarif"),
        *("--target-version", NEWEST, "--select", ",".join(SELECT), "--ignore", ",".join(IGNORE), "--"),
    ),
    format="sarif",
    exit_codes=(0,),
    source="pip install ruff",
)
