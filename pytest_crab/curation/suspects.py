"""Oracles that may be flaky by what they use: time, chance, threads, the network. They are proved with more runs."""

from __future__ import annotations

import re

#: A test that fails in half of its runs agrees with itself in so many of them in one case of 128.
SUSPECT_RUNS = 8

_SIGNS = re.compile(
    r"\b(?:sleep\(|time\.time|perf_counter|monotonic|now\(|utcnow\(|today\(|timeout=\w"
    r"|random\.\w|randint\(|shuffle\(|uuid[14]\(|urandom\(|secrets\."
    r"|Thread\(|threading\b|concurrent\.|multiprocessing\b|asyncio\b|anyio\b|trio\b|await\b|socket\b"
    r"|requests\.|urllib\.request|urlopen\(|http\.(?:client|server)|httpx\b|aiohttp\b|fetch\("
    r"|setTimeout\(|setInterval\(|Date\.now|new Date\(\)|Promise\b)"
)


def suspect(text: str) -> str | None:
    """Return the first word of an oracle for which two runs of it may differ; None if it has none."""
    found = _SIGNS.search(text)
    return found[0] if found else None
