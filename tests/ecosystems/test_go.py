"""The releases of Go that an environment may be made of."""

from __future__ import annotations

import pytest

from pytest_crab.ecosystems.go.tools import GoTools


@pytest.mark.go
@pytest.mark.usefixtures("needs_an_index")
def test_no_release_is_proposed_that_does_not_know_the_flags_of_a_build() -> None:
    assert next(GoTools().releases(1, 12)).startswith("1.18.")
    assert next(GoTools().releases(1, 21)).startswith("1.21.")
