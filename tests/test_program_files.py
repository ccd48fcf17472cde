"""What a program of this machine needs in a sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_crab.program_files import needed_paths


def test_a_system_s_program_behind_an_alternative_needs_nothing_more(tmp_path: Path) -> None:
    awk = Path("/usr/bin/awk")
    if not awk.is_symlink():
        pytest.skip("there is no alternative for awk on this machine")
    script = tmp_path / "script"
    script.write_text(f"#!{awk} -f\n")
    assert needed_paths(script) == [script]
