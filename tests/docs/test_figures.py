"""bench/figures.py: each figure of the page on overhead is said by a script, and is written by the command alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def figures(benchmark_script: Callable[[str], Any]) -> Any:
    return benchmark_script("figures")


def test_every_place_is_of_a_script_that_says_a_figure(figures: Any) -> None:
    names = [found["name"] for found in figures.MARK.finditer(figures.PAGE.read_text("utf-8"))]
    assert len(names) == len(set(names)) > 20
    assert {name.partition(".")[0] for name in names} == set(figures.SCRIPTS)
    for script in figures.SCRIPTS:
        assert f"{script}.when" in names
        assert "tell(" in (ROOT / "bench" / f"{script}.py").read_text("utf-8")


def test_no_place_is_nested_or_left_open(figures: Any) -> None:
    page = figures.PAGE.read_text("utf-8")
    begun, ended = len(re.findall(r"<!--=", page)), page.count("<!--.-->")
    assert begun == ended == len(figures.MARK.findall(page))


def test_what_a_script_says_is_written_and_the_rest_stays(figures: Any, capsys: Any) -> None:
    figures.tell("one.ratio", figures.middle([3.0, 1.0, 2.0], 2))
    figures.tell("one.memory", "210", good=False)
    told = figures.told(f"other words\n{capsys.readouterr().out}figure it: out")
    assert told == {"one.ratio": "2.00 (1.50 to 2.50)", "one.memory": "**210, over its budget**"}
    page = "a <!--= one.ratio -->9<!--.--> | <!--= one.memory --><!--.--> | <!--= two.ratio -->5<!--.--> b\n"
    new = figures.rewritten(page, told)
    assert new == page.replace(">9<", ">2.00 (1.50 to 2.50)<").replace("y --><", "y -->**210, over its budget**<")
    assert figures.rewritten(new, told) == new


def test_a_figure_without_a_place_is_an_error(figures: Any) -> None:
    with pytest.raises(ValueError, match=r"one\.lost"):
        figures.rewritten("<!--= one.ratio -->9<!--.-->", {"one.ratio": "8", "one.lost": "7"})


def test_a_script_that_fails_leaves_its_figures(figures: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "speed.md"
    page.write_text("<!--= good.ratio -->9<!--.--> <!--= good.when --><!--.--> <!--= bad.ratio -->9<!--.-->")
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "good.py").write_text("print('figure good.ratio: 1')\nraise SystemExit(1)")
    (tmp_path / "bench" / "bad.py").write_text("print('figure bad.ratio: 1')\nraise SystemExit(2)")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "PAGE", page)
    monkeypatch.setattr(figures, "SCRIPTS", {"bad": (), "good": ()})
    monkeypatch.setattr("sys.argv", ["figures.py"])
    assert figures.main() == 1
    text = page.read_text()
    assert ("<!--= good.ratio -->1<!--.-->" in text, "<!--= bad.ratio -->9<!--.-->" in text) == (True, True)
    assert re.search(r"<!--= good\.when -->\d+ cores", text)
