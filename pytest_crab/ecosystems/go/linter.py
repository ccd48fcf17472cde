"""``go vet``, which comes with Go."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pytest_crab.ecosystems.linters import Linter, rdjson

#: It compiles what it looks at, so it is run on whole packages, each in its own module.
_SCRIPT = """\
command -v go > /dev/null || exit 0
for file; do dirname "$file"; done | sort -u | {
    while IFS= read -r folder; do
        (cd "$folder" && go vet -json . 2>&1) || failed=1
    done
    exit ${failed:-0}
}
"""

#: The compiler's word on a package, which is looked at no further.
_COMPILER = re.compile(r"(?:vet: )?(?P<path>[^\s:]+\.go):(?P<start>\d+):\d+: (?P<message>.+)")


def _remarks(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    at = 0
    while at < len(text):
        if text.startswith("{", at):
            packages, at = decoder.raw_decode(text, at)
            for rule, found in ((rule, found) for own in packages.values() for rule, found in own.items()):
                yield from (_remark(rule, one) for one in (found if isinstance(found, list) else ()))
            continue
        line, _, _ = text[at:].partition("\n")
        at += len(line) + 1
        if match := _COMPILER.match(line):
            yield {**match.groupdict(), "start": int(match["start"]), "rule": "compiler", "severity": "ERROR"}


def _remark(rule: str, one: dict[str, str]) -> dict[str, Any]:
    path, line, _ = one["posn"].rsplit(":", 2)
    end = one.get("end", one["posn"]).rsplit(":", 2)[1]
    return {"path": path, "start": int(line), "end": int(end), "message": one["message"], "rule": rule}


def told(text: str) -> str:
    """Return the findings of all packages; what the compiler cannot read is one too."""
    return rdjson(_remarks(text))


LINTER = Linter(
    program="go", script=_SCRIPT, version=("version",), format="rdjson", told=told, source="it comes with Go"
)
