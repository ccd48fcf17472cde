"""The page on a benchmark of one's own has a whole one in at most 150 lines, which is found and used as it stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "your-own-benchmark.md"
MODULES = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages with the page's benchmark, registered as the page says."""
    for name, text in MODULES:
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).write_text(text)
    (entry,) = re.findall(r'^(\w+) = "(tinybench:\w+)"$', PAGE.read_text("utf-8"), re.MULTILINE)
    info = tmp_path / "site" / "tinybench-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tinybench\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[pytest_crab.benchmarks]\n{entry[0]} = {entry[1]}\n")
    return tmp_path / "site"


def test_it_is_small() -> None:
    assert 0 < sum(len(text.splitlines()) for _, text in MODULES) <= 150


@pytest.mark.slow(reason="a package is built, and its commands run")
def test_its_release_commands_and_scorer_are_found(
    site: Path,
    tmp_path: Path,
    environ: Callable[..., dict[str, str]],
    run_page: Callable[[Path, Path, Mapping[str, str]], list[str]],
) -> None:
    (printed,) = run_page(PAGE, tmp_path, environ(PYTHONPATH=str(site), HOME=str(tmp_path)))
    assert "tiny: 1 instances, 1 comments, no oracles" in printed
    assert "shop.py: 1\n" in printed
    assert "Alpha: 1 found\nBeta: 0 found\n" in printed
    assert re.search(r"^tiny-words +100\.0% of 2$", printed, re.MULTILINE)
