"""The funnel of c-CRAB's release: stated, printed and counted."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_crab.benchmarks.ccrab.funnel import funnel_notes

STAGES = [
    ("stage0_full_test_split", 671, 1313),
    ("stage1_comment_filter", 410, 595),
    ("stage2_docker_image", 410, 595),
    ("stage3_testgen_verified", 339, 485),
    ("stage4_agent_resolved", 2, 3),
]


def stage_file(folder: Path) -> Path:
    rows = [{"name": name, "description": "", "instances": pulls, "comments": said} for name, pulls, said in STAGES]
    (folder / "summary.json").write_text(json.dumps({"stages": rows}))
    return folder / "stage4_agent_resolved.jsonl"


def test_each_stage_is_held_against_the_paper_and_the_archives(tmp_path: Path) -> None:
    attempts = {"a": (2, 2), "b": (3, 1), "c": (1, 0)}
    notes = list(funnel_notes([stage_file(tmp_path)], attempts))
    assert len(notes) == 5
    assert "671 pull requests and 1313 comments" in notes[0]
    assert "table 3" not in notes[0]
    assert "the paper's table 3 has 339 and 481; the archives count 3 and 6" in notes[3]
    assert notes[4].endswith("the paper's table 3 has 184 and 234; the archives count the same")


def test_a_release_without_its_stages_has_no_funnel(tmp_path: Path) -> None:
    assert not list(funnel_notes([tmp_path / "stage4_agent_resolved.jsonl"], {}))
