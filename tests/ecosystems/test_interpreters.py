"""CPythons of this machine, wherever it keeps them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_crab.ecosystems import interpreters, pyenv


@pytest.fixture
def unreadable(tmp_path: Path) -> Iterator[Path]:
    """A pyenv that holds a CPython and is closed to the user that this test runs as, who is never root."""
    (tmp_path / "versions" / "3.99.1" / "bin").mkdir(parents=True)
    (tmp_path / "versions" / "3.99.1" / "bin" / "python3.99").symlink_to(sys.executable)
    tmp_path.chmod(0)
    if os.getuid() == 0:
        os.seteuid(65534)
    yield tmp_path
    os.seteuid(os.getuid())
    tmp_path.chmod(0o700)


def test_a_pyenv_that_cannot_be_read_has_no_interpreters(unreadable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYENV_ROOT", str(unreadable))
    with pytest.raises(PermissionError):
        (unreadable / "versions").stat()
    assert interpreters.find("3.99") is None


def test_a_user_without_a_home_has_no_interpreters_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    monkeypatch.setenv("HOME", "/dev/null")
    assert interpreters.find("3.98") is None


def test_the_newest_of_a_version_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("3.98.2", "3.98.10", "3.98-dev", "3.9.8", "3.98.11-broken"):
        (tmp_path / "versions" / name / "bin").mkdir(parents=True)
    for name in ("3.98.2", "3.98.10"):
        (tmp_path / "versions" / name / "bin" / "python3.98").symlink_to(sys.executable)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    found = [Path(program).parent.parent.name for program in pyenv.programs("3.98")]
    assert found == ["3.98.10", "3.98.2"]


def test_the_running_one_is_known_as_if_it_had_been_asked() -> None:
    assert interpreters.find(interpreters.running_version()) == interpreters.inspect(sys.executable)
