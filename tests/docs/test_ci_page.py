"""The page on CI: from nothing to a gated bot with a comment on its pull request, as a person would go."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scripted_forge import ScriptedForge

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "ci.md"


@pytest.mark.slow(reason="all runs of a page follow each other")
@pytest.mark.bubblewrap
def test_a_person_comes_from_nothing_to_a_gated_bot(
    tmp_path: Path, first_run: Path, run_page: Callable[..., None], environ: Callable[..., dict[str, str]]
) -> None:
    shutil.copytree(first_run / ".crab", tmp_path / ".crab", symlinks=True)  # what is proved is proved
    event = {"pull_request": {"number": 7, "head": {"sha": "b" * 40, "repo": {"full_name": "owner/name"}}}}
    (tmp_path / "event.json").write_text(json.dumps(event))
    with ScriptedForge() as forge:
        github = {
            "GITHUB_API_URL": forge.url, "GITHUB_SERVER_URL": forge.url, "GITHUB_REPOSITORY": forge.project,
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"), "GITHUB_TOKEN": next(iter(forge.accounts)),
        }  # fmt: skip
        shell = environ(CRAB_PROOF_RUNS="1", **github)
        run_page(PAGE, tmp_path, shell)
        subprocess.run(["pytest-crab", "comment", ".crab/report"], cwd=tmp_path / "our-bot", env=shell, check=True)
        (note,) = forge.notes
    assert "**Gate failed, exit status 1.**" in note.body
    assert "mine: 1 lost and 0 gained against the baseline" in note.body
