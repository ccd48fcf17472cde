"""The tutorial on a first instance, run from an empty folder as a newcomer would, with the outputs that it shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_crab.instances import load_instance

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "first-instance.md"


@pytest.mark.slow(reason="an instance is made, proved and certified by the page's commands")
@pytest.mark.bubblewrap
def test_a_newcomer_ends_with_a_certified_instance(
    tmp_path: Path, needs_an_index: None, run_page: Callable[..., None], environ: Callable[..., dict[str, str]]
) -> None:
    here = tmp_path / "empty"
    here.mkdir()
    run_page(PAGE, here, environ(CRAB_PROOF_RUNS="1", HOME=str(tmp_path), GIT_CONFIG_NOSYSTEM="1"))
    instance = load_instance(here / "mine" / "till-7")
    assert instance.environment.packages
    assert '"proved": true' in (here / "mine" / "proofs.json").read_text()
