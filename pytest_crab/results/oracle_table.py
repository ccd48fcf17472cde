"""A summary as plain data with each oracle once: its reviewers have their verdicts, and the oracle's number."""

from __future__ import annotations

from typing import Any

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.results.outcomes import OracleRecord
from pytest_crab.results.summary import Summary

#: What is the same of an oracle whoever reviews, and so stands in the list of all.
_SHARED = ("instance", "comment", "repo", "labels", "resolvable", "digest")

#: What a reviewer may have of it beside the verdicts.
_OWN = ("repeats", "reviews", "alone")


def with_table(summary: Summary) -> dict[str, Any]:
    """Return the data of a summary: ``oracles`` are all of them, and a reviewer's say which one each is, from 0."""
    numbers: dict[tuple[Any, ...], int] = {}
    oracles: list[dict[str, Any]] = []

    def row(record: OracleRecord) -> dict[str, Any]:
        key = (*record.key, record.repo, record.resolvable, record.digest, *record.labels.items())
        number = numbers.setdefault(key, len(oracles))
        if number == len(oracles):
            shared = ((name, getattr(record, name)) for name in _SHARED)
            oracles.append({name: value for name, value in shared if value is not None})
        own = {name: value for name in _OWN if (value := getattr(record, name))}
        return {"oracle": number, "verdicts": record.verdicts, **own}

    reviewers = [{**serialization.unfold(own), "oracles": list(map(row, own.oracles))} for own in summary.reviewers]
    return {**serialization.unfold(summary), "reviewers": reviewers, "oracles": oracles}


def without_table(data: Any, where: str) -> Any:
    """Return such data with whole records of oracles in each reviewer. Raises BadInput, which names ``where``."""
    try:
        oracles = data.pop("oracles")
        for own in data["reviewers"]:
            own["oracles"] = [{**oracles[one.pop("oracle")], **one} for one in own["oracles"]]
    except (AttributeError, IndexError, KeyError, TypeError):
        sentence = "the oracles of each of its reviewers should have their numbers in its list of oracles"
        raise BadInput(where, [sentence]) from None
    return data
