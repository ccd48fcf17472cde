"""clippy, and rustc's own lints where a toolchain has no clippy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from pytest_crab.ecosystems.linters import COMPILER, Linter, in_each_folder, remarks_of
from pytest_crab.text import output_lines

#: Of each package with one of the files. Paths that the compiler prints begin at the workspace, which is told first.
#: The project's own word on which of its lints are errors is not followed, since no more is looked at after an error.
_SCRIPT = """\
if cargo clippy --version > /dev/null 2>&1; then
    lint() { cargo clippy "$@" -- --cap-lints warn; }
else
    lint() { cargo check "$@"; }
fi
export CLIPPY_CONF_DIR=$(mktemp -d)
folders() {
    for file; do
        folder=$(dirname "$file")
        while [ ! -f "$folder/Cargo.toml" ] && [ "$folder" != . ]; do folder=$(dirname "$folder"); done
        echo "$folder"
    done
}
""" + in_each_folder(
    "cargo", 'folders "$@"', "cargo locate-project --workspace && lint --all-targets --message-format=json"
)


def _remarks(text: str) -> Iterable[Mapping[str, Any]]:
    """Return the findings that the compiler's messages are, each once: targets of a package share files.

    Raises ReviewerError.
    """
    return {json.dumps(one): one for one in remarks_of("cargo", text, _remarks_in)}.values()


def _remarks_in(folder: str, text: str) -> Iterator[dict[str, Any]]:
    root = PurePosixPath(folder)
    for line in output_lines(text):
        if not line.startswith("{"):  # it is of stderr
            continue
        one = json.loads(line)
        if "root" in one:
            root = PurePosixPath(one["root"]).parent
        if one.get("reason") != "compiler-message":
            continue
        message = one["message"]
        is_error = message["level"].startswith("error")
        code = (message["code"] or {}).get("code")
        words = f"{message['message']} [{code}]" if is_error and code else message["message"]
        for place in message["spans"]:
            if place["is_primary"]:
                yield {
                    "path": str(root / place["file_name"]),
                    "start": place["line_start"],
                    "end": place["line_end"],
                    "message": "\n".join([words, *_helps(message)]),
                    "severity": "ERROR" if is_error else "WARNING",
                    "rule": COMPILER if is_error else code,
                }


def _helps(message: dict[str, Any]) -> Iterator[str]:
    """Yield what the compiler advises; why the lint is on is no advice."""
    for child in message["children"]:
        if child["level"] == "help" and "rust-clippy" not in child["message"]:
            written = [place["suggested_replacement"] for place in child["spans"] if place["suggested_replacement"]]
            yield f"help: {child['message']}" + (f": `{written[0]}`" if len(written) == 1 else "")


LINTER = Linter(
    program="cargo", script=_SCRIPT, version=("clippy", "--version"), remarks=_remarks,
    stopping=(COMPILER,), exit_codes=(0,), source="rustup component add clippy",
)  # fmt: skip
