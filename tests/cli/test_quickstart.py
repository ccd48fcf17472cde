"""The quickstart command copies the package's set, whole or not at all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.instances import load_instances

SET = Path(__file__).parents[2] / "instances" / "quickstart"


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.mark.parametrize("there", [False, True])
def test_the_set_is_copied_whole(tmp_path: Path, *, there: bool) -> None:
    target = tmp_path / "my set"
    if there:
        target.mkdir()
    result = CliRunner().invoke(main, ["quickstart", str(target)])
    assert result.exit_code == 0, result.output
    assert result.output.splitlines() == [f"{target}: 17 instances", f"now run: pytest --reviewer=human '{target}'"]
    assert files(target) == files(SET)
    assert len(list(load_instances(target))) == 17
    assert os.listdir(tmp_path) == ["my set"]


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set/mine").write_text("mine\n")
    (tmp_path / "file").write_text("mine\n")
    for name in ("set", "file", "file/below"):
        result = CliRunner().invoke(main, ["quickstart", str(tmp_path / name)])
        assert result.exit_code == 1
        assert str(tmp_path / name) in result.output
        assert len(result.output.splitlines()) == 1
    assert sorted(os.listdir(tmp_path)) == ["file", "set"]
    assert os.listdir(tmp_path / "set") == ["mine"]


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.copy2

    def full(source: str, target: str, **more: bool) -> str:
        if os.fspath(source).endswith("crab.lock"):
            raise OSError(28, "No space left on device")
        return str(real(source, target, **more))

    monkeypatch.setattr(shutil, "copy2", full)
    monkeypatch.setattr(shutil.copytree, "__defaults__", (False, None, full, False, False))
    result = CliRunner().invoke(main, ["quickstart", str(tmp_path / "set")])
    assert result.exit_code == 1
    assert "cannot be copied there" in result.output
    assert os.listdir(tmp_path) == []
