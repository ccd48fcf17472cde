"""A set as rows and back: the same files, whatever they hold, and nothing outside of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from pytest_crab.cli import main
from pytest_crab.instances.files import folder_digest

GITHUB = Path("instances/github")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Two instances of GitHub, with the set's files, and bytes that are no text beside one oracle."""
    source = request.config.rootpath / GITHUB
    place = tmp_path_factory.mktemp("rows") / "small"
    place.mkdir()
    folders = sorted(path.parent for path in source.glob("*/instance.yaml"))[
        9:11
    ]  # the first of the oracles is not as it was measured
    for folder in folders:
        shutil.copytree(folder, place / folder.name)
    for path in source.iterdir():
        if path.is_file():
            shutil.copy(path, place)
    (place / folders[0].name / "more.bin").write_bytes(b"\xff\x00")
    (place / folders[0].name / "run.sh").write_text("true\n")
    (place / folders[0].name / "run.sh").chmod(0o755)
    return place


@pytest.mark.parametrize("more", [[], ["--parquet"]])
def test_a_set_comes_back_as_it_was_with_a_card_beside_it(small: Path, tmp_path: Path, more: list[str]) -> None:
    if more:
        pytest.importorskip("pyarrow")
    done = CliRunner().invoke(main, ["export", "set", str(small), "--out", str(tmp_path / "rows"), *more])
    assert done.exit_code == 0, done.output
    card = (tmp_path / "rows" / "README.md").read_text("utf-8")
    for part in ("2 instances", "## Licences", "false accepts of 1 of", "## Training cut-offs", "## Difficulty"):
        assert part in card
    done = CliRunner().invoke(main, ["set", "import", str(tmp_path / "rows"), "--out", str(tmp_path / "back")])
    assert done.exit_code == 0, done.output
    assert folder_digest(tmp_path / "back") == folder_digest(small)
    again = CliRunner().invoke(main, ["set", "import", str(tmp_path / "rows"), "--out", str(tmp_path / "back")])
    assert again.exit_code == 1


def test_the_card_says_how_hard_injected_faults_are_to_see(small: Path, tmp_path: Path) -> None:
    shutil.copytree(small, tmp_path / "set")
    files = sorted((tmp_path / "set").glob("*/instance.yaml"))
    for file, far in zip(files, ("near", "far"), strict=True):
        document = yaml.safe_load(file.read_text("utf-8"))
        for comment in document["comments"]:
            comment["labels"] = {"seen-by": "one", "seen-from": far}
        file.write_text(yaml.safe_dump(document), "utf-8")
    done = CliRunner().invoke(main, ["export", "set", str(tmp_path / "set"), "--out", str(tmp_path / "rows")])
    assert done.exit_code == 0, done.output
    card = (tmp_path / "rows" / "README.md").read_text("utf-8").splitlines()
    assert [line for line in card if line.startswith("- seen-")] == [
        "- seen-by: 2 comments one",
        "- seen-from: 1 comment far, 1 comment near",
    ]


def test_a_set_that_holds_its_code_is_handed_on_as_a_folder(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    quickstart = request.config.rootpath / "instances" / "quickstart"
    done = CliRunner().invoke(main, ["export", "set", str(quickstart), "--out", str(tmp_path / "rows")])
    assert (done.exit_code, "hand on the folder" in done.output) == (1, True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", ["../out.py", "/tmp/out.py", ".git/../../out.py"])
def test_rows_write_nothing_outside_of_the_set(small: Path, tmp_path: Path, path: str) -> None:
    assert CliRunner().invoke(main, ["export", "set", str(small), "--out", str(tmp_path / "rows")]).exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "rows" / "instances.jsonl").read_text("utf-8").splitlines()]
    rows[0]["files"].append({"path": path, "text": "x"})
    (tmp_path / "rows" / "instances.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    done = CliRunner().invoke(main, ["set", "import", str(tmp_path / "rows"), "--out", str(tmp_path / "back")])
    assert (done.exit_code, "no set that was exported" in done.output) == (1, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows"]
