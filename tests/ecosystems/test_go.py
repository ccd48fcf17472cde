"""The Go of this machine, and the releases that an environment may be made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_crab.ecosystems.go.tools import GoTools


@pytest.mark.go
@pytest.mark.usefixtures("needs_an_index")
def test_no_release_is_proposed_that_does_not_know_the_flags_of_a_build() -> None:
    assert next(GoTools().releases(1, 12)).startswith("1.18.")
    assert next(GoTools().releases(1, 21)).startswith("1.21.")


@pytest.mark.go
def test_it_is_looked_for_on_the_path_of_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("PATH", str(tmp_path))
        assert GoTools().here() is None
    assert GoTools().here() is not None
