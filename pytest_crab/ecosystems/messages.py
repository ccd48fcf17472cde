"""The words of programs, of any language, about what went wrong."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from pytest_crab.ecosystems import installed
from pytest_crab.text import cut, last_line, split_lines


class Patterns(NamedTuple):
    """The messages of all ecosystems together."""

    banner: re.Pattern[str]
    cause: re.Pattern[str]
    telling: re.Pattern[str]
    pointing: re.Pattern[str]
    cause_first: re.Pattern[str]


@functools.cache
def patterns() -> Patterns:
    """Return the patterns; those of builds match letters of either case. Raises BadInput as ``installed`` does."""
    all_of_them = [one.messages for one in installed()]

    def joined(name: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
        found = [expression for one in all_of_them if (expression := getattr(one, name))]
        return re.compile("|".join(f"(?:{one})" for one in found) or r"(?!)", flags)

    return Patterns(
        joined("banner", 0), joined("cause", 0), joined("telling"), joined("pointing"), joined("cause_first")
    )


#: A line that is nothing but marks, whatever printed it.
_BLANK = re.compile(r"\s*$|\W+$")


def telling_line(*outputs: bytes | str, limit: int = 300) -> str:
    """Return the last line of the first output that is not blank which is no banner of a runtime, stripped and cut."""
    known = patterns()

    def is_banner(line: str) -> bool:
        return (_BLANK.match(line) or known.banner.match(line)) is not None

    for output in outputs:
        lines = split_lines(output if isinstance(output, str) else output.decode(errors="replace"))
        told = [line for line in lines if not is_banner(line)]
        if not told:
            continue
        ended = next(line for line in reversed(lines) if line.strip())
        causes = [line for line in told if known.cause.match(line)] if is_banner(ended) else []
        return cut((causes or told)[-1].strip(), limit)
    return last_line(*outputs, limit=limit)
