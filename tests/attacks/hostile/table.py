"""The tables of docs/reference/defences.md. Run as a program it plays this folder's tests and writes what they saw.

What was seen is in measured.json, one entry for each attack; the page is made of that and is held against it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from hostile.catalogue import ATTACKS, RESIDUAL
from hostile.shape import Kind

if TYPE_CHECKING:
    import pytest

FOLDER = Path(__file__).parents[1]
PAGE = FOLDER.parents[1] / "docs" / "reference" / "defences.md"
MEASURED = Path(__file__).parent / "measured.json"
_OTHER = {"pytest": "`isolation: process`", "node": "the project started by the oracle"}


class Collector:
    """A plugin that keeps what tests tell of the attacks: of one attack, what all of them say."""

    def __init__(self) -> None:
        self.seen: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a test has told, once it is over; what is not refused in one place is not refused."""
        for name, facts in report.user_properties if report.when == "teardown" else ():
            if name != "attack":
                continue
            known = self.seen.setdefault(facts["name"], {})
            refused = {"refused": known["refused"] and facts.get("refused", True)} if "refused" in known else {}
            known.update((key, value) for key, value in {**facts, **refused}.items() if key != "name")


def measured() -> dict[str, dict[str, Any]]:
    """What the last measurement saw of each attack."""
    return json.loads(MEASURED.read_text("utf-8"))  # type: ignore[no-any-return]


def recorded(name: str, seen: dict[str, dict[str, Any]]) -> str:
    """What the record of a whole run said of it, or what others of its kind are called there."""
    said = seen[name].get("recorded")
    return str(said) if said else next(attack.recorded for attack in ATTACKS if attack.name == name)


def refused() -> str:
    """One line for each class, counted from what was measured."""
    seen = measured()
    lines = [
        "| Class | Attempts | Live without the defence | Caught falsely | In a whole run | Recorded as |",
        "|---|---|---|---|---|---|",
    ]
    for kind in (*Kind, None):
        names = [attack.name for attack in ATTACKS if kind in (attack.kind, None)]
        live = sum(seen[name]["live"] for name in names)
        taken = sum(not seen[name]["refused"] for name in names)
        whole = sum("recorded" in seen[name] for name in names)
        told = ", ".join(sorted({recorded(name, seen) for name in names})) if kind else ""
        lines.append(f"| {kind.value if kind else 'all'} | {len(names)} | {live} | {taken} | {whole} | {told} |")
    return "\n".join(line.replace("  |", " |") for line in lines)


def residual() -> str:
    """One line for each attack that succeeds in the oracle's process, as it was measured."""
    seen = measured()
    lines = ["| Attack | Runner | In the oracle's process | In a process of its own |", "|---|---|---|---|"]
    for one in RESIDUAL:
        facts = seen[one.name]
        lines.append(
            f"| {one.name} | {one.runner} | {facts['inside']} | {facts['outside']}, with {_OTHER[one.runner]} |"
        )
    return "\n".join(lines)


BLOCKS: dict[str, Callable[[], str]] = {"refused": refused, "residual": residual}


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(
        rf"(<!-- {name}: made by tests/attacks/hostile/table\.py -->\n\n)(.*?)(\n\n<!-- end -->)", re.DOTALL
    )


def block(text: str, name: str) -> str | None:
    """What a page holds between the marks of a block."""
    found = _pattern(name).search(text)
    return found.group(2) if found else None


def measure(arguments: list[str]) -> dict[str, dict[str, Any]]:
    """Play the tests, without those that hold the page, and return what they saw; ends where an attack was not seen."""
    import pytest

    collector = Collector()
    chosen = [str(FOLDER), "-q", "-m", "", f"--ignore={FOLDER / 'test_catalogue.py'}"]  # the slow ones too
    pytest.main([*chosen, *arguments], plugins=[collector])
    wanted = {attack.name: {"live", "refused"} for attack in ATTACKS} | {one.name: {"inside"} for one in RESIDUAL}
    missing = [name for name, keys in wanted.items() if not keys <= collector.seen.get(name, {}).keys()]
    if missing:
        sys.exit(f"{len(missing)} attacks were not seen, such as: {', '.join(missing[:5])}; nothing was written")
    return dict(sorted(collector.seen.items()))


def main(arguments: list[str]) -> None:
    """Measure, with further arguments of pytest, and write every block into the page; with --page write only that."""
    if arguments != ["--page"]:
        MEASURED.write_text(json.dumps(measure(arguments), indent=1) + "\n", "utf-8")
    text = PAGE.read_text("utf-8")
    for name, made in BLOCKS.items():
        text, count = _pattern(name).subn(lambda found, made=made: f"{found[1]}{made()}{found[3]}", text)
        if count != 1:
            sys.exit(f"{PAGE} has no block called {name}")
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
