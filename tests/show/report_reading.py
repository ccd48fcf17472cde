"""Reads the files of a report as a person would: trials.jsonl by lines, the page by its tables; a run adds to them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.types import Trial

Rows = list[list[str]]


def append(trials_file: Path, *trials: Trial) -> None:
    """Add records to a trials.jsonl, as a run that goes on does."""
    with trials_file.open("ab") as file:
        file.writelines(serialization.canonical(trial).encode() + b"\n" for trial in trials)


def results(trial: dict[str, Any]) -> list[dict[str, Any]]:
    """The scores of a trial's comments, each with the comment's own fields and labels beside it."""
    places = {one["id"]: {"comment": one["id"], **one, **one["labels"]} for one in trial["comments"]}
    scores = [score for score in trial["scores"] if score["unit"] == "comment"]
    return [{**places[one["subject"]], **one, "verdict": one.get("label", "unknown")} for one in scores]


def tables(folder: Path) -> dict[str, Rows]:
    """The cells of the page's tables by name, heads first; what follows in a further part is beside the first."""
    found: dict[str, Rows] = {}
    page = (folder / "index.html").read_text()
    for name, body in re.findall(r'<table data-table="([^"]+)">(.*?)</table>', page, re.DOTALL):
        rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
        cells = (
            [re.sub(r"<[^>]+>", " ", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)] for row in rows
        )
        rows = [[" ".join(cell.split()) for cell in row] for row in cells]
        whole = name.partition(", part ")[0]
        found[whole] = rows if whole == name else [had + row[1:] for had, row in zip(found[whole], rows, strict=True)]
    return found


def percent(rate: float | None) -> str:
    """A rate in percent with one digit; a dash for none."""
    return "-" if rate is None else f"{100 * rate:.1f}"
