"""A summary as plain data with each oracle once: its reviewers have their verdicts, and the oracle's number."""

from __future__ import annotations

import dataclasses
import operator
from typing import Any

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.results.outcomes import OracleRecord
from pytest_crab.results.summary import Summary

#: What a reviewer may have of an oracle beside the verdicts.
_OWN = ("repeats", "reviews", "alone")

#: What is the same of it whoever reviews, and so stands in the list of all.
_SHARED = tuple(one.name for one in dataclasses.fields(OracleRecord) if one.name not in {"verdicts", *_OWN})
_plain = operator.attrgetter(*(name for name in _SHARED if name != "labels"))


def with_table(summary: Summary) -> dict[str, Any]:
    """Return the data of a summary: ``oracles`` are all of them, and a reviewer's say which one each is, from 0."""
    numbers: dict[tuple[Any, ...], int] = {}
    oracles: list[dict[str, Any]] = []

    def row(record: OracleRecord) -> dict[str, Any]:
        number = numbers.setdefault((*_plain(record), *record.labels.items()), len(oracles))
        if number == len(oracles):
            oracles.append({name: value for name in _SHARED if (value := getattr(record, name)) is not None})
        own = {name: value for name in _OWN if (value := getattr(record, name))}
        return {"oracle": number, "verdicts": record.verdicts, **own}

    reviewers = [{**serialization.unfold(own), "oracles": list(map(row, own.oracles))} for own in summary.reviewers]
    return {**serialization.unfold(summary), "reviewers": reviewers, "oracles": oracles}


def without_table(data: Any, where: str) -> Any:
    """Return such data with whole records of oracles in each reviewer. Raises BadInput, which names ``where``."""
    if not (isinstance(data, dict) and {"oracles", "reviewers"} <= data.keys()):
        raise BadInput(where, ["is no summary of a run; name a report's folder, or the summary.json in it"])
    try:
        shared = {repr(number): one for number, one in enumerate(data.pop("oracles"))}  # "True" is not "1"
        for own in data["reviewers"]:
            left = shared.copy()
            own["oracles"] = [dict(**left.pop(repr(one.pop("oracle"))), **one) for one in own["oracles"]]
    except (AttributeError, KeyError, TypeError):
        sentence = (
            "each oracle of a reviewer should be a number of the list of oracles, once, with the reviewer's own alone"
        )
        raise BadInput(where, [sentence]) from None
    return data
