"""ESLint with the rules that it and typescript-eslint recommend."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Iterator
from typing import Any

from pytest_crab.ecosystems.linters import Linter, needs

_CONFIG = (importlib.resources.files(__package__) / "lint" / "eslint.config.mjs").read_text(encoding="utf-8")

_SCRIPT = f"""\
{needs("node")}config=$(mktemp -d)/eslint.config.mjs
cat > "$config" << 'END'
{_CONFIG}END
node "$0" --no-config-lookup --config "$config" --no-warn-ignored --format json -- "$@" || [ $? -eq 1 ]
"""

#: Begins the words on a comment for a plug-in that is not here.
_UNKNOWN = "Definition for rule"


def _remarks(text: str) -> Iterator[dict[str, Any]]:
    """Yield the findings of ESLint's own report."""
    for file in json.loads(text):
        for one in file["messages"]:
            if not one["message"].startswith(_UNKNOWN):
                yield {
                    "path": file["filePath"],
                    "start": one.get("line") or 1,
                    "end": one.get("endLine"),
                    "message": one["message"],
                    "severity": "ERROR" if one["severity"] == 2 else "WARNING",
                    "rule": one["ruleId"] or ("syntax" if one.get("fatal") else None),
                }


LINTER = Linter(
    program="eslint", script=_SCRIPT, above=3, remarks=_remarks, stopping=("syntax",), exit_codes=(0,),
    source="npm install -g eslint @eslint/js typescript-eslint",
)  # fmt: skip
