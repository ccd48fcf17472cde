"""Draw docs/explanation/layers.svg from the import contract of pyproject.toml: ``python tests/docs/layers.py``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "explanation" / "layers.svg"
WIDTH, ROW, GAP, FONT = 960, 34, 12, 13


def layers() -> list[list[str]]:
    """The layers of the contract, the top one first, each with the names of its modules."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (contract,) = [one for one in contracts if one["type"] == "layers"]
    return [
        [module.strip().removeprefix("pytest_crab.") for module in layer.replace(":", "|").split("|")]
        for layer in contract["layers"]
    ]


def picture() -> str:
    """The layers as boxes, one row each; a module may import from rows below its own."""
    rows = layers()
    height = len(rows) * (ROW + GAP) + GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
    style = f"text{{font:{FONT}px sans-serif;fill:#1f2933}}rect{{fill:#e8f0f7;stroke:#5b7c99}}"
    lines = [f'{head} aria-label="The layers of pytest_crab">', f"<style>{style}</style>"]
    for at, names in enumerate(rows):
        lines.extend(_row(names, GAP + at * (ROW + GAP)))
    return "\n".join([*lines, "</svg>", ""])


def _row(names: list[str], top: int) -> Iterator[str]:
    width = (WIDTH - GAP * (len(names) + 1)) / len(names)
    for at, name in enumerate(names):
        left = GAP + at * (width + GAP)
        yield f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{ROW}" rx="4"/>'
        middle, line = left + width / 2, top + ROW / 2 + FONT / 3
        yield f'<text x="{middle:.1f}" y="{line:.1f}" text-anchor="middle">{name}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
