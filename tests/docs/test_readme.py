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


@pytest.mark.slow(reason="a whole set is proved")
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
    told = re.findall(r"^```console\n([_=C].*?)^```$", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
    failure, answer, details = (text for text in told if "test session starts" not in text)
    assert shown_in(answer, output)
    for arguments, text in (("first/ledger-8-csv-import", failure), ("first -v", details)):
        words = f"{sys.executable} -m pytest --reviewer=ruff {arguments} --crab-report={tmp_path}".split()
        done = subprocess.run(words, cwd=first_run, env=environ(CRAB_PROOF_RUNS="1"), capture_output=True, text=True)
        assert shown_in(text, done.stdout)
