"""The page on a language of one's own has a whole one in at most 120 lines, which is found and used as it stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "your-own-language.md"
FILES = re.findall(r"^```(\w+)\n# (\S+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_it_is_small() -> None:
    assert 0 < sum(len(text.splitlines()) for kind, _, text in FILES if kind == "python") <= 120


@pytest.mark.bubblewrap
@pytest.mark.slow(reason="a run of its own, with an environment to build")
def test_its_instance_is_proved_and_judged(
    tmp_path: Path,
    environ: Callable[..., dict[str, str]],
    run_page: Callable[[Path, Path, Mapping[str, str]], list[str]],
) -> None:
    for kind, name, text in FILES:
        place = tmp_path / ("site" if kind == "python" else "work") / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    info = tmp_path / "site" / "crab_perl-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: crab-perl\nVersion: 1.0\n")
    (entry,) = re.findall(r'^perl = "(crab_perl:\w+)"$', PAGE.read_text("utf-8"), re.MULTILINE)
    (info / "entry_points.txt").write_text(f"[pytest_crab.ecosystems]\nperl = {entry}\n")
    run_page(PAGE, tmp_path / "work", environ(PYTHONPATH=str(tmp_path / "site"), HOME=str(tmp_path)))
