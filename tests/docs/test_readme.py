"""The first run of the README, word for word but for the installation; the tutorial explains the same table."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial" / "first-run.md"


@pytest.mark.bubblewrap
def test_the_first_run_prints_what_readme_and_tutorial_show(
    first_run: Path,
    as_shown: Callable[[Path, list[str]], None],
    shown_in: Callable[[str, str], bool],
    environ: Callable[..., dict[str, str]],
    tmp_path: Path,
) -> None:
    printed = json.loads((first_run / "printed.json").read_text())
    as_shown(ROOT / "README.md", printed)
    (output,) = printed
    told = re.findall(r"^```console\n([_=].*?)^```$", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
    failure, table = (text for text in told if "test session starts" not in text)
    assert shown_in(table, output)
    words = f"{sys.executable} -m pytest --reviewer=ruff first/ledger-8-csv-import --crab-report={tmp_path}"
    done = subprocess.run(
        words.split(), cwd=first_run, env=environ(CRAB_PROOF_RUNS="1"), capture_output=True, text=True
    )
    assert shown_in(failure, done.stdout)
