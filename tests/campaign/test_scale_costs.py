"""The input of bench/scale.py: costs that steps.py measured, numbers in their bounds, files that are there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MEASURED = {"image": 28.6, "megabytes": 28.2, "proof": 8.75, "examine": 2.52}


@pytest.fixture(scope="module")
def script(benchmark_script: Callable[[str], Any]) -> Any:
    return benchmark_script("scale")


@pytest.fixture
def played(script: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Runs the script on a command line, its checks and its plays left out; gives the samples it would play."""

    def run(*argv: str) -> list[Any]:
        taken: list[Any] = []
        monkeypatch.setattr("sys.argv", ["scale.py", *argv])
        monkeypatch.setattr(script, "check", lambda: None)
        monkeypatch.setattr(script, "table", lambda _setting, samples, *_: taken.extend(samples) or [])
        assert script.main() == 0
        return taken

    return run


def test_measured_costs_take_the_place_of_the_defaults(played: Callable[..., list[Any]], tmp_path: Path) -> None:
    (tmp_path / "costs.json").write_text(json.dumps({**MEASURED, "instance": "parse-sub"}))
    samples = played("--costs", str(tmp_path / "costs.json"))
    assert {(one.image, one.megabytes, one.proof, one.examine) for one in samples} == {tuple(MEASURED.values())}
    assert [one.review for one in samples] == [one.review for one in played()]


def test_records_say_nothing_of_megabytes_so_an_image_has_those_of_the_costs(
    script: Any, played: Callable[..., list[Any]], tmp_path: Path
) -> None:
    steps = [{"step": name, "seconds": 1.0, "reused": False} for name in ("image", "proof", "review")]
    (tmp_path / "trials.jsonl").write_text(json.dumps({"steps": steps, "review": None, "revision": None}))
    (tmp_path / "costs.json").write_text(json.dumps(MEASURED))
    records = ("--records", str(tmp_path / "trials.jsonl"))
    assert [one.megabytes for one in played(*records)] == [script.DEFAULT.megabytes]
    (sample,) = played(*records, "--costs", str(tmp_path / "costs.json"))
    assert (sample.image, sample.megabytes) == (1.0, 28.2)


@pytest.mark.parametrize("argument", ["--workers=0", "--slots=0", "--jobs=-1", "--registry=nan", "--instances=1.5"])
def test_a_number_out_of_bounds_is_a_sentence(
    played: Callable[..., list[Any]], capsys: pytest.CaptureFixture[str], argument: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        played(argument)
    assert ended.value.code == 2
    assert f"argument {argument.partition('=')[0]}: " in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("option", ["--costs", "--records"])
@pytest.mark.parametrize(("text", "said"), [(None, "cannot be read: No such file"), ("[]", ""), ('{"image": -1}', "")])
def test_a_file_that_is_not_what_was_named_is_a_sentence(
    played: Callable[..., list[Any]], tmp_path: Path, option: str, text: str | None, said: str
) -> None:
    path = tmp_path / "file"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SystemExit) as ended:
        played(option, str(path))
    assert str(ended.value.code).startswith(f"{path}")
    assert said in str(ended.value.code)
