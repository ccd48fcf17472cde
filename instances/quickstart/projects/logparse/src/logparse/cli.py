"""The command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from logparse.access import parse_access_line
from logparse.applog import parse_app_line
from logparse.reader import read_records
from logparse.stats import count_by, top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(prog="logparse", description="Read access and application logs.")
    parser.add_argument("kind", choices=("access", "app"))
    parser.add_argument("file")
    arguments = parser.parse_args(argv)
    try:
        lines = _access(arguments.file) if arguments.kind == "access" else _app(arguments.file)
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for line in lines:
        print(line)
    return 0


def _access(path: str) -> list[str]:
    records = read_records(path, parse_access_line)
    return [f"{count:>8}  {path}" for path, count in top(records, key=lambda record: record.path)]


def _app(path: str) -> list[str]:
    levels = count_by(read_records(path, parse_app_line), key=lambda record: record.level)
    return [f"{count:>8}  {level}" for level, count in sorted(levels.items())]
