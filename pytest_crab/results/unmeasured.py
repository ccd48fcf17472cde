"""The reason why a rate measured nothing: every review empty, no finding with a place, every revision empty."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_crab.formats import format_count
from pytest_crab.results.trial_rows import TrialRow


def reason_of(rows: Iterable[TrialRow]) -> str | None:
    """Return why one reviewer's trials measured nothing, as a sentence without its name; None if they measured.

    Controls, placebos, and pull requests without an issue are not meant. A review or a revision that failed
    does not count, since its verdicts are unknown.
    """
    asked = [row for row in rows if row.variant is None and row.oracles]
    reviews = [row.load for row in asked if row.load.findings is not None]
    if not reviews or any(one.caught for one in reviews):
        return None
    how_many = format_count(len(reviews), "review")
    if all(one.findings == 0 for one in reviews):
        return f"measured nothing, since every review is empty ({how_many}); see whether it reads the pull request"
    if not any(one.placed for one in reviews):
        return f"measured nothing, since no finding of {how_many} has a place, a file of the pull request"
    revisions = [one for one in reviews if one.findings and one.added is not None]
    if revisions and not any(one.changed for one in revisions):
        count = format_count(len(revisions), "revision")
        look = "look whether it acts on findings"
        return f"measured nothing, since the agent changed nothing ({count}, every one empty): {look}"
    return None
