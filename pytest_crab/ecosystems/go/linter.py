"""``go vet``, which comes with Go."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_crab.ecosystems.linters import COMPILER, Linter, in_each_folder, remarks_of
from pytest_crab.errors import ReviewerError

#: It compiles what it looks at, so it is run on whole packages, each in its own module.
_SCRIPT = in_each_folder("go", 'for file; do dirname "$file"; done', "go vet -json .")

#: The compiler's word on a package, which is looked at no further.
_COMPILER = re.compile(r"(?:vet: )?(?P<path>[^\s:]+\.go):(?P<start>\d+):\d+: (?P<message>.+)")
#: Is found in its word on a package that is not here, which is no fault of the code.
_MISSING = re.compile(r"no required module|cannot find (?:module|package)|could not import|is not in std|go\.sum entry")


def _remarks(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the findings of all packages; what the compiler cannot read is one too. Raises ReviewerError."""
    return remarks_of("go vet", text, _remarks_in)


def _remarks_in(folder: str, text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    at = 0
    while at < len(text):
        if text.startswith("{", at):
            packages, at = decoder.raw_decode(text, at)
            for rule, found in ((rule, found) for own in packages.values() for rule, found in own.items()):
                if not isinstance(found, list):
                    raise ReviewerError(f"go vet failed in {folder}, by its rule {rule}: {found}; run it there by hand")
                yield from (_remark(folder, rule, one) for one in found)
            continue
        line, _, _ = text[at:].partition("\n")
        at += len(line) + 1
        if match := _COMPILER.match(line):
            if _MISSING.search(match["message"]):
                raise ReviewerError(f"go vet failed in {folder}: {line!r}; the environment should have this package")
            path = posixpath.normpath(posixpath.join(folder, match["path"]))
            message = match["message"]
            yield {
                "path": path,
                "start": int(match["start"]),
                "message": message,
                "rule": COMPILER,
                "severity": "ERROR",
            }


def _remark(folder: str, rule: str, one: dict[str, str]) -> dict[str, Any]:
    path, line, _ = one["posn"].rsplit(":", 2)
    end = one.get("end", one["posn"]).rsplit(":", 2)[1]
    path = posixpath.normpath(posixpath.join(folder, path))
    return {"path": path, "start": int(line), "end": int(end), "message": one["message"], "rule": rule}


LINTER = Linter(
    program="go", script=_SCRIPT, version=("version",), remarks=_remarks, stopping=(COMPILER,),
    exit_codes=(0,), source="it comes with Go",
)  # fmt: skip
