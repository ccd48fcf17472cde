from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Any
from xml.etree import ElementTree

from pytest_crab.results.comparisons import Overlap
from pytest_crab.results.rates import Rate
from pytest_crab.show.page.charts import (
    LANES,
    Bar,
    cost_plot,
    forest_plot,
    heat_map,
    history_plot,
    overlap_plot,
    timeline,
)
from pytest_crab.statistics.comparison import Interval
from pytest_crab.types import TrialId

HOSTILE = "<script>\x1b[31m</script>\u202e\"'&"
RATE = Rate(
    oracles=4, known=4, caught=1.0, micro=0.25, interval=Interval(low=0.1, high=0.5, by="repository", clusters=3)
)
NONE = Rate(oracles=2, known=0, caught=0.0)
FIRST = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


def parts(svg: str, tag: str, kind: str) -> list[dict[str, str]]:
    return [dict(one.attrib) for one in ElementTree.fromstring(svg).iter(tag) if one.get("class") == kind]


def labels(svg: str) -> list[str]:
    return [one["aria-label"] for tag in ("g", "a") for one in parts(svg, tag, "mark")]


def bar(name: str, start: float, seconds: float, **fields: Any) -> Bar:
    start_time = FIRST + timedelta(seconds=start)
    return Bar(
        **{"trial": TrialId("i/1", name), "start": start_time, "seconds": seconds, "counts": (1, 0, 0), **fields}
    )


def test_a_rate_lies_at_its_place_with_its_interval() -> None:
    svg = forest_plot({"codex": RATE, "lost": NONE})
    (point,) = parts(svg, "circle", "point")
    whisker, low, high = parts(svg, "line", "whisker")
    assert point["cx"] == "26.00%", "a quarter of the way along an axis from 2 to 98"
    assert (whisker["x1"], whisker["x2"]) == (low["x1"], high["x1"]) == ("11.60%", "50.00%")
    assert labels(svg) == ["codex: 25.0%, 95% interval 10.0 to 50.0%, 1 of 4 caught"]


def test_a_heat_map_has_a_mark_for_each_cell() -> None:
    svg = heat_map(["a", "b", "c"], [("security", [RATE, NONE, None])])
    assert labels(svg) == [
        "security, a: 25.0%, 95% interval 10.0 to 50.0%, 1 of 4 caught",
        "security, b: not measured",
        "security, c: not measured",
    ]
    assert re.findall(r'class="heat ([^"]+)"', svg) == ["heat-2", "none", "none"]


def test_the_dearest_is_at_the_right_and_labels_do_not_lie_on_each_other() -> None:
    svg = cost_plot([("a", 0.5, RATE), ("b", 0.5, RATE)])
    assert [point["cx"] for point in parts(svg, "circle", "point")] == ["96.00%", "96.00%"]
    heights = [float(one["y"]) for one in parts(svg, "text", "") if one["text-anchor"] == "end"]
    assert abs(heights[0] - heights[1]) >= 13


def test_dots_are_the_reviewers_of_a_set_and_bars_its_size() -> None:
    svg = overlap_plot(
        ["a", "b"],
        [
            Overlap(reviewers=("a", "b"), oracles=8),
            Overlap(reviewers=("b",), oracles=2),
            Overlap(reviewers=(), oracles=4),
        ],
    )
    assert [one["cx"] for one in parts(svg, "circle", "point")] == ["10.00%", "30.00%", "30.00%"]
    assert [one["width"] for one in parts(svg, "rect", "bar-fill")] == ["48.00%", "12.00%"]
    assert [one["width"] for one in parts(svg, "rect", "bar-none")] == ["24.00%"]
    assert labels(svg)[0] == "caught by exactly a and b: 8"


def test_a_line_joins_the_runs_that_have_a_rate() -> None:
    better = Rate(oracles=4, known=4, caught=2.0, micro=0.5)
    svg = history_plot([("old", {"a": RATE}), ("lost", {"a": NONE, "b": RATE}), ("new", {"a": better})])
    (trend,) = parts(svg, "line", "trend")
    assert (trend["x1"], trend["x2"], trend["y1"], trend["y2"]) == ("10.00%", "96.00%", "172.0", "122.0")
    assert [words.partition("%")[0] for words in labels(svg)] == ["old, a: 25.0", "new, a: 50.0", "lost, b: 25.0"]
    assert len(parts(svg, "g", "series-0")) == len(parts(svg, "g", "series-1")) == 1


def test_trials_at_the_same_time_lie_in_rows_of_their_own() -> None:
    svg = timeline([bar("b", 50, 50), bar("a", 0, 60), bar("c", 60, 40)])
    bars = parts(svg, "rect", "bar-caught")
    assert [one["x"] for one in bars] == ["2.00%", "50.00%", "59.60%"]
    assert [one["y"] for one in bars] == ["4.0", "14.0", "4.0"], "the third takes the row that is free again"
    assert [one["width"] for one in bars] == ["57.60%", "48.00%", "38.40%"]
    assert timeline([]) == ""
    many = timeline(bar(f"{at}", 0, 60) for at in range(LANES + 9))
    assert len({one["y"] for one in parts(many, "rect", "bar-caught")}) == LANES


def test_names_are_text_and_addresses() -> None:
    pictures = [
        forest_plot({HOSTILE: RATE}),
        heat_map([HOSTILE], [(HOSTILE, [RATE])]),
        cost_plot([(HOSTILE, 1.0, RATE)]),
        overlap_plot([HOSTILE], [Overlap(reviewers=(HOSTILE,), oracles=1)]),
        timeline([bar(HOSTILE, 0, 1)]),
        history_plot([(HOSTILE, {HOSTILE: RATE})]),
    ]
    for svg in pictures:
        tree = ElementTree.fromstring(svg)
        assert {one.tag for one in tree.iter()} <= {"svg", "g", "a", "line", "rect", "circle", "text"}
        assert "\x1b" not in svg
        assert "\u202e" not in svg
    (link,) = parts(timeline([bar("x[2]", 0, 1)]), "a", "mark")
    assert link["href"] == "#t=i%2F1%3A%3Ax%5B2%5D"
