"""A run of injected faults together with comments of people is refused before anything is paid."""

from __future__ import annotations

import pytest

INSTANCE = """\
schema: 1
id: {name}
provenance: {name}
repo: owner/shop
license: MIT
pull_request: {{number: 7, title: Add a cart}}
source:
  git: {{url: https://git.invalid/owner/shop, base: {base}, head: {head}, merged: {base}}}
comments:
  - {{id: c0, path: shop.py, body: No., category: functional}}
"""


@pytest.fixture
def instances(pytester: pytest.Pytester) -> None:
    for name in ("github", "injected"):
        folder = pytester.path / "set" / name
        folder.mkdir(parents=True)
        (folder / "instance.yaml").write_text(INSTANCE.format(name=name, base="1" * 40, head="2" * 40))


@pytest.mark.usefixtures("instances")
def test_both_in_one_run_are_refused_and_either_alone_is_not(pytester: pytest.Pytester) -> None:
    arguments = ["--reviewer=ruff", "--agent=simulated", "set"]
    both = pytester.runpytest_inprocess(*arguments)
    assert both.ret == pytest.ExitCode.USAGE_ERROR
    both.stderr.fnmatch_lines(["ERROR: crab: 1 instance with injected faults and 1 without*provenance=*"])
    assert not (pytester.path / ".crab" / "report").exists()
    spread = pytester.runpytest_subprocess(*arguments, "-n1")
    assert spread.ret == pytest.ExitCode.USAGE_ERROR
    alone = pytester.runpytest_inprocess(*arguments, "-m", 'crab(provenance="injected")')
    assert alone.ret != pytest.ExitCode.USAGE_ERROR
