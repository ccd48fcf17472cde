"""clippy, and rustc's own lints where a toolchain has no clippy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from pytest_crab.ecosystems.linters import Linter, rdjson
from pytest_crab.text import output_lines

#: Of each package with one of the files. Paths that the compiler prints begin at the workspace, which is told first.
_SCRIPT = """\
command -v cargo > /dev/null || exit 0
lint=clippy
cargo clippy --version > /dev/null 2>&1 || lint=check
export CLIPPY_CONF_DIR=$(mktemp -d)
for file; do
    folder=$(dirname "$file")
    while [ ! -f "$folder/Cargo.toml" ] && [ "$folder" != . ]; do folder=$(dirname "$folder"); done
    [ ! -f "$folder/Cargo.toml" ] || echo "$folder"
done | sort -u | {
    while IFS= read -r folder; do
        (
            cd "$folder"
            cargo locate-project --workspace
            cargo "$lint" --all-targets --message-format=json
        ) || failed=1
    done
    exit ${failed:-0}
}
"""


def _remarks(text: str) -> Iterator[dict[str, Any]]:
    root = PurePosixPath()
    for line in output_lines(text):
        one = json.loads(line)
        if "root" in one:
            root = PurePosixPath(one["root"]).parent
        if one.get("reason") != "compiler-message":
            continue
        message = one["message"]
        for place in message["spans"]:
            if place["is_primary"]:
                yield {
                    "path": str(root / place["file_name"]),
                    "start": place["line_start"],
                    "end": place["line_end"],
                    "message": "\n".join([message["message"], *_helps(message)]),
                    "severity": "ERROR" if message["level"] == "error" else "WARNING",
                    "rule": (message["code"] or {}).get("code"),
                }


def _helps(message: dict[str, Any]) -> Iterator[str]:
    """Yield what the compiler advises; why the lint is on is no advice."""
    for child in message["children"]:
        if child["level"] == "help" and "rust-clippy" not in child["message"]:
            written = [place["suggested_replacement"] for place in child["spans"] if place["suggested_replacement"]]
            yield f"help: {child['message']}" + (f": `{written[0]}`" if len(written) == 1 else "")


def told(text: str) -> str:
    """Return the findings that the compiler's messages are, each once: targets of a package share files."""
    found = {json.dumps(one): one for one in _remarks(text)}
    return rdjson(found.values())


LINTER = Linter(
    program="cargo", script=_SCRIPT, version=("clippy", "--version"), format="rdjson", told=told,
    source="rustup component add clippy",
)  # fmt: skip
