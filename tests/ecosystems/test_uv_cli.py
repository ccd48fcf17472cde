"""Where uv is found on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crab.ecosystems import uv_cli

if TYPE_CHECKING:
    import pytest


def test_behind_a_shim_of_pyenv_is_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "versions/3.98.1/bin/uv"
    for path, text in {
        program: "",
        tmp_path / "shims/uv": 'exec pyenv exec uv "$@"',
        tmp_path / "bin/pyenv": f'[ "$1 $2" = "which uv" ] && echo {program}',
    }.items():
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/shims:/usr/bin:/bin")
    monkeypatch.setitem(sys.modules, "uv", None)  # the package that brings the program along is not installed
    assert uv_cli.program() == program
