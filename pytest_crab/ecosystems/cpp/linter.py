"""Cppcheck, which reads files without compiling them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_crab.ecosystems.linters import Linter
from pytest_crab.errors import ReviewerError
from pytest_crab.text import output_lines

#: Its words on a file that it looks at no further. It does not see what the file includes, so the file may be well.
_GIVEN_UP = {
    *("syntaxError", "unknownMacro", "internalError", "internalAstError", "cppcheckError"),
    *("preprocessorErrorDirective", "noValidConfiguration"),
}


def _remarks(text: str) -> Iterator[dict[str, Any]]:
    """Yield the findings of Cppcheck's own lines. Raises ReviewerError for a file that it gave up."""
    for line in output_lines(text):
        path, start, rule, message = line.split("\t", 3)
        if rule in _GIVEN_UP:
            raise ReviewerError(
                f"cppcheck cannot read {path}, at line {start}: {message} ({rule}); leave this file out"
            )
        yield {"path": path, "start": int(start), "message": message, "rule": rule, "severity": "WARNING"}


LINTER = Linter(
    program="cppcheck",
    arguments=(
        *("--quiet", "--inline-suppr", "--enable=warning,performance,portability,style"),
        *("--template={file}\\t{line}\\t{id}\\t{message}", "--output-file=/dev/stdout"),
    ),
    others=((".h", ("--language=c++",)),),
    remarks=_remarks,
    exit_codes=(0,),
    source="it is a package of most systems",
)
