"""--crab-since: older instances and those without a date are deselected, and a line says so."""

from __future__ import annotations

import pytest

INSTANCE = """\
schema: 1
id: {id}
provenance: github
repo: owner/shop
license: MIT
pull_request: {{number: 7, title: Add a cart{merged}}}
source:
  git: {{url: https://git.invalid/owner/shop, base: {base}, head: {head}, merged: {base}}}
environment: {{dockerfile: python}}
comments:
  - {{id: c0, path: shop.py, body: No., category: functional}}
"""


@pytest.fixture
def instances(pytester: pytest.Pytester) -> None:
    days = {"old": ", merged_at: 2023-12-31", "new": ", merged_at: 2024-01-01", "none": ""}
    for name, merged in days.items():
        folder = pytester.path / "set" / name
        folder.mkdir(parents=True)
        text = INSTANCE.format(id=name, merged=merged, base="1" * 40, head="2" * 40)
        (folder / "instance.yaml").write_text(text)


@pytest.mark.usefixtures("instances")
def test_what_is_older_or_has_no_date_is_left_out(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_own="def test_own(): pass")
    arguments = ["--reviewer=none", "--agent=simulated", "--crab-since=2024-01", "--collect-only", "set", "test_own.py"]
    result = pytester.runpytest_inprocess(*arguments)
    result.stdout.fnmatch_lines([
        "crab: since 2024-01-01, left out: 1 merged before 2024-01-01, 1 without a date",
        "*InstanceFile new/instance.yaml*",
        "*2/4 tests collected (2 deselected)*",
    ])  # fmt: skip


@pytest.mark.usefixtures("instances")
def test_a_day_that_is_none_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--reviewer=none", "--crab-since=soon", "set")
    result.stderr.fnmatch_lines(["ERROR: --crab-since is 'soon'; it should be a day such as 2024-05-01"])
