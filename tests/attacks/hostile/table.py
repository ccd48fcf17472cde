"""The tables of docs/explanation/trust.md, made of both lists; run as a program it writes them into the page."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile.catalogue import ATTACKS
from hostile.catalogue import FIRST_RUN
from hostile.catalogue import RESIDUAL
from hostile.shape import Kind

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "trust.md"
_OTHER = {"pytest": "`isolation: process`", "node": "the project started by the oracle"}


def refused() -> str:
    """One line for each class: every attack has a live twin and is refused, or the suite fails."""
    lines = ["| Class | Attempts | Live without the defence | Caught falsely | Recorded as |", "|---|---|---|---|---|"]
    for kind in Kind:
        attacks = [attack for attack in ATTACKS if attack.kind is kind]
        recorded = ", ".join(sorted({attack.recorded for attack in attacks}))
        lines.append(f"| {kind.value} | {len(attacks)} | {len(attacks)} | 0 | {recorded} |")
    lines.append(f"| all | {len(ATTACKS)} | {len(ATTACKS)} | 0 | |")
    return "\n".join(lines)


def residual() -> str:
    """One line for each attack that succeeds in the oracle's process."""
    lines = ["| Attack | Runner | In the oracle's process | In a process of its own |", "|---|---|---|---|"]
    inside, outside = "caught falsely", "missed (test failed), with"
    made = (f"| {one.name} | {one.runner} | {inside} | {outside} {_OTHER[one.runner]} |" for one in RESIDUAL)
    return "\n".join([*lines, *made])


def first_run() -> str:
    """What the attacks of the second pair of eyes did when they were first run, before anything was mended."""
    if not FIRST_RUN:
        return "The second pair of eyes has not written its attacks yet."
    lines = ["| Attack | First run |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {how} |" for name, how in FIRST_RUN.items())])


BLOCKS: dict[str, Callable[[], str]] = {"refused": refused, "residual": residual, "first-run": first_run}


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"(<!-- {name}: made by tests/attacks/hostile/table\.py -->\n\n)(.*?)(\n\n<!-- end -->)", re.DOTALL
    )


def block(text: str, name: str) -> str | None:
    """What a page holds between the marks of a block."""
    found = _pattern(name).search(text)
    return found.group(2) if found else None


def main() -> None:
    """Write every block into the page."""
    text = PAGE.read_text("utf-8")
    for name, made in BLOCKS.items():
        text, count = _pattern(name).subn(lambda found, made=made: f"{found[1]}{made()}{found[3]}", text)
        if count != 1:
            sys.exit(f"{PAGE} has no block called {name}")
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
