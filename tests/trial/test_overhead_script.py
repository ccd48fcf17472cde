"""bench/overhead.py and rivals.py: a rival answers or says why not, and our overhead is held against each."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "bench"


@pytest.fixture
def rivals(benchmark_script: Callable[[str], Any]) -> Any:
    return benchmark_script("rivals")


@pytest.fixture
def overhead(benchmark_script: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return benchmark_script("overhead")


def test_inspect_ai_is_not_asked_for_on_an_old_engine(rivals: Any, tmp_path: Path) -> None:
    with rivals.inspect_ai(tmp_path, "image", "", "", "20.10.24+dfsg1") as told:
        assert ("Docker Engine 24" in told, "20.10.24+dfsg1" in told) == (True, True)


def test_inspect_ai_is_not_asked_for_without_compose(
    rivals: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docker").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with rivals.inspect_ai(tmp_path, "image", "", "", "26.1.5") as told:
        assert "needs docker compose" in told


@pytest.mark.parametrize(
    ("answer", "problem"),
    [('{"problem": "it scored I"}', "it scored I"), ("", "its process ended")],
)
def test_a_run_without_a_right_result_has_no_seconds(rivals: Any, answer: str, problem: str) -> None:
    argv = [sys.executable, "-c", f"input(); print({answer!r}, end='')"]
    with (
        subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process,
        pytest.raises(RuntimeError, match=problem),
    ):
        rivals.Rival(process).run()


def test_what_a_harness_does_is_answered_with_seconds_or_the_problem(rivals: Any) -> None:
    def fails(name: str) -> Callable[[], str | None]:
        raise ValueError(f"{name} needs\n  an engine")

    assert set(rivals.evaluated(lambda _name: lambda: None, "run0")) == {"seconds"}
    assert rivals.evaluated(lambda name: lambda: f"{name} was wrong", "run0") == {"problem": "run0 was wrong"}
    assert rivals.evaluated(fails, "run0") == {"problem": "run0 needs an engine"}


def test_our_overhead_is_held_against_each_rivals(overhead: Any, capsys: pytest.CaptureFixture[str]) -> None:
    seconds = {"ours, unproved": 2.0, "by hand, before and after": 2.0, "ours, proved": 1.2, "by hand, after": 1.0}
    ways = {name: lambda took=took: took for name, took in seconds.items()}
    verdicts = overhead.Verdicts()
    overhead.one_instance(verdicts, {**ways, "inspect-ai": lambda: 3.0}, 2)
    told = capsys.readouterr().out
    assert "/ swebench's: not measured" in told
    assert "/ inspect-ai's: 0.100 (quartiles 0.100 to 0.100); budget 0.25: met" in told
    assert verdicts.good
    overhead.one_instance(verdicts, {**ways, "swebench": lambda: 1.5}, 2)
    assert "/ swebench's: 0.400 (quartiles 0.400 to 0.400); budget 0.25: EXCEEDED" in capsys.readouterr().out
    assert not verdicts.good
