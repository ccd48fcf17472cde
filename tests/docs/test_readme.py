"""The first run of the README, word for word but for the installation; the tutorial explains the same table."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TUTORIAL = ROOT / "docs" / "tutorial" / "first-run.md"


@pytest.mark.bubblewrap
def test_the_first_run_prints_what_readme_and_tutorial_show(
    tmp_path: Path, run_page: Callable[..., list[str]], shown_in: Callable[[str, str], bool]
) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CRAB_", "PYTEST_", "ANTHROPIC"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    (output,) = run_page(README, tmp_path, {**kept, "PATH": path, "CRAB_RUNTIME": "local"})
    told = re.findall(r"^```text\n([_=].*?)^```$", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
    failure, table = (text for text in told if "test session starts" not in text)
    assert shown_in(failure, output)
    assert shown_in(table, output)
