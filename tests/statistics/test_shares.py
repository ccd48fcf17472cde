from __future__ import annotations

import pytest

from pytest_crab.statistics.shares import Share


@pytest.mark.parametrize(
    ("results", "share", "rate"),
    [
        ([True, False, False, None, False], Share(part=1, known=4, unknown=1), 0.25),
        ([False, False], Share(part=0, known=2, unknown=0), 0.0),
        ([None, None], Share(part=0, known=0, unknown=2), None),
        ([], Share(), None),
    ],
)
def test_a_share_is_of_what_is_known(results: list[bool | None], share: Share, rate: float | None) -> None:
    found = Share.of(results)
    assert found == share
    assert found.rate == rate


def test_nothing_is_no_share() -> None:
    assert (Share().part, Share().known, Share().unknown) == (0, 0, 0)
