"""The report command, from end to end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main


def record(tool: str, name: str, repo: str, verdicts: dict[str, Any], **more: Any) -> None:
    path = Path("set", "recorded", tool, f"{name}.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schema": 1, "repo": repo, "verdicts": verdicts, "source": "x", **more}))


@pytest.fixture(autouse=True)
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    record("human", "a", "o/a", {"c0": True, "c1": True, "c2": False}, kinds={"c0": "behavioral", "c1": "structural"})
    record("human", "b", "o/b", {"c0": True})
    record("eve", "a", "o/a", {"c0": True, "c1": None, "c2": True}, findings=4)
    record("bob", "b", "o/b", {"c0": True}, findings=None)
    record("bob", "a", "o/a", {"c0": True, "c1": False})


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["report", *arguments], catch_exceptions=False)


def test_the_tables() -> None:
    assert run("--recorded", "set").output.splitlines() == [
        "recorded verdicts, nothing was run: 3 oracles, 2 instances, 2 repositories",
        "",
        "reviewer  comments  per PR  behavioral *  structural *  caught   micro   macro",
        "bob              -       -        100.0%          0.0%     2/3   66.7%   75.0%",
        "eve              4     2.0        100.0%          0.0%     1/3   33.3%   25.0%",
        "human            3     1.5        100.0%        100.0%     3/3  100.0%  100.0%",
        "",
        "kinds are inferred: 1 behavioral, 1 structural; the columns of kinds are no numbers of the paper",
        "caught by any of 2 tools: 2/3 (66.7%)",
        "     1  none",
        "     1  bob only",
        "     0  eve only",
        "     1  bob and eve",
        "",
        "repository  oracles         bob        eve",
        "o/a               2   1 (50.0%)  1 (50.0%)",
        "o/b               1  1 (100.0%)   0 (0.0%)",
        "",
        "eve: no result of 1 instances, which count as missed: b",
        "eve: no verdict on 1 oracles, which count as missed: a: c1",
    ]


def test_the_data() -> None:
    data = json.loads(run("--recorded", "set", "--json").output)
    assert (data["together"]["union"], data["together"]["oracles"]) == (2, 3)
    macros = [(own["reviewer"], own["overall"]["macro"]) for own in data["reviewers"]]
    assert macros == [("bob", 0.75), ("eve", 0.25), ("human", 1.0)]


def test_without_a_place_the_store_is_reported(tmp_path: Path) -> None:
    missing = run()
    assert (missing.exit_code, ".crab: there is no trials.jsonl" in missing.output) == (1, True), missing.output
    Path(".crab", "report").mkdir(parents=True)
    Path(".crab", "report", "trials.jsonl").touch()
    assert run().output.endswith(f"report: {Path('.crab', 'report', 'index.html')}\n")
    summary = Path(".crab", "report", "summary.json")
    summary.write_text('{"schema": 1, "errors_as_misses": true, "reviewers": []}')
    assert run().exit_code == 0, "what another version wrote is made anew"
    assert json.loads(summary.read_text())["errors_as_misses"] is True
    for refused in (("--against", "set"), ("--recorded", "set", "set"), ("--out", "new")):
        assert run(*refused).exit_code == 2


def test_every_bad_record_is_one_sentence() -> None:
    Path("set", "recorded", "eve", "a.json").write_text("{")
    record("bob", "a", "o/a", {"c0": "perhaps"})
    record("bob", "b", "o/b", {}, schema=2)
    result = run("--recorded", "set")
    assert result.exit_code == 1
    where = "set/recorded: "
    lines = result.output.removeprefix("Error: ").splitlines()
    assert lines[0] == f"{where}bob/a.json: verdicts.c0 is 'perhaps'; it should be true or false"
    assert lines[1] == f"{where}bob/b.json: schema is 2; this version reads 1"
    assert lines[2].startswith(f"{where}eve/a.json: it is no JSON (")


def test_a_folder_that_holds_nothing_recorded_is_named(tmp_path: Path) -> None:
    Path("empty").mkdir()
    result = run("--recorded", "empty")
    assert result.exit_code == 1
    (sentence,) = result.output.splitlines()
    assert sentence.startswith("Error: empty: it holds no recorded results")
    assert all(name in sentence for name in ("c-CRAB", "Martian", "BC-Bench", "SWE-PRBench", "AACR-Bench"))


def test_the_store_is_that_of_runs_where_none_is_named(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", "from pytest_crab.cli import main; main()", "report"]
    env = {**os.environ, "CRAB_STORE": str(tmp_path / "kept")}
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode != 0
    assert str(tmp_path / "kept") in done.stderr
