"""The operating systems: what runs on each of them, in one sentence."""

from __future__ import annotations

import platform

#: What is said on each system besides Linux, by the name that Python has for it.
_ELSEWHERE = {
    "Windows": "on Windows pytest-crab runs within WSL 2 alone, where it is as on Linux: install it and call it there",
    "Darwin": (
        "on macOS what runs no code works, such as reports and comparisons; trials need Docker and are not tested "
        "there, and the local runtime needs Linux"
    ),
}
_UNKNOWN = "pytest-crab is made for Linux and not tested on this system"


def shortcomings() -> str | None:
    """Return what does not run on this system, as one sentence; None on Linux, where all of it does."""
    system = platform.system()
    return None if system == "Linux" else _ELSEWHERE.get(system, _UNKNOWN)


def refusal() -> str | None:
    """Return why nothing but pytest's own tests can run on this system; None if something can."""
    return shortcomings() if platform.system() == "Windows" else None


def description() -> str:
    """Return this system and its processor in a few words."""
    inside = " within WSL" if "microsoft" in platform.release().lower() else ""
    return f"{platform.system()}{inside} {platform.release()} on {platform.machine()}"
