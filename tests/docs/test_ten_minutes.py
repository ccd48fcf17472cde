"""The page for people with a bot of their own, run from a clone as they would, with the outputs that it shows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "ten-minutes.md"


@pytest.mark.slow(reason="the page is run whole, from an installation to a table")
@pytest.mark.bubblewrap
def test_a_bot_is_measured_as_a_command_and_as_a_package(
    tmp_path: Path, needs_an_index: None, run_page: Callable[..., None], environ: Callable[..., dict[str, str]]
) -> None:
    (tmp_path / "instances").symlink_to(ROOT / "instances")
    site = tmp_path / "site"
    # The package goes beside the environment of the tests, not into it.
    aside = tmp_path / "bin" / "pip"
    aside.parent.mkdir()
    aside.write_text(f'#!/bin/sh\nshift\nexec {sys.executable} -m pip install --target {site} "$@"\n')
    aside.chmod(0o755)
    path = os.pathsep.join([str(aside.parent), environ()["PATH"]])
    reader = environ(PATH=path, CRAB_PROOF_RUNS="1", PYTHONPATH=str(site))
    run_page(PAGE, tmp_path, {name: text for name, text in reader.items() if not name.startswith("PIP_")})
