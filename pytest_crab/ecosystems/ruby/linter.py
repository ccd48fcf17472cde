"""RuboCop with its departments that name a likely fault, by its own defaults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pytest_crab.ecosystems.linters import Linter


def _remarks(text: str) -> Iterator[dict[str, Any]]:
    """Yield the findings of RuboCop's own report."""
    for file in json.loads(text)["files"]:
        for one in file["offenses"]:
            yield {
                "path": file["path"],
                "start": one["location"]["start_line"],
                "end": one["location"]["last_line"],
                "message": one["message"],
                "severity": "ERROR" if one["severity"] in ("error", "fatal") else "WARNING",
                "rule": one["cop_name"],
            }


LINTER = Linter(
    program="rubocop",
    arguments=("--force-default-config", "--cache", "false", "--only", "Lint,Security", "--format", "json", "--"),
    remarks=_remarks,
    stopping=("Lint/Syntax",),
    apart="ruby -e 'puts RUBY_VERSION' > .ruby-version",  # else it reads the syntax of an old Ruby
    source="it is a package of Debian, and a gem",
)
