"""Cppcheck, which reads files without compiling them."""

from __future__ import annotations

from pytest_crab.ecosystems.linters import Linter

LINTER = Linter(
    program="cppcheck",
    arguments=(
        *("--quiet", "--inline-suppr", "--enable=warning,performance,portability,style"),
        *("--template=::warning file={file},line={line},title={id}::{message}", "--output-file=/dev/stdout"),
    ),
    format="github",
    exit_codes=(0,),
    source="it is a package of most systems",
)
