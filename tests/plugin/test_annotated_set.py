"""A pull request of AACR-Bench, from a mirror with its history: imported, reviewed hunk by hunk, matched by place."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pytest_crab.benchmarks.aacr.reader import import_aacr
from pytest_crab.cli import main
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, say

pytestmark = pytest.mark.bubblewrap

CRAB_YAML = """\
models:
  providers: {local: {base_url: 'URL', api: openai}}
reviewers:
  no-context: {use: hunks, model: m, provider: local}
  bm25: {use: hunks, model: m, provider: local, context: bm25, k: 1}
"""


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.invalid", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", " ".join(files))
    return git(folder, "rev-parse", "HEAD")


def answer(asked: Asked) -> Reply:
    """A finding on the division, which names further code where there is some."""
    text = asked.body["messages"][0]["content"]
    body = "Further code." if "Further code: ratio.py" in text else "It divides by zero."
    return say(json.dumps([{"start": 5, "end": 5, "body": body}] if "return a / b" in text else []), pieces=1)


def test_a_set_without_environment_is_reviewed_from_a_mirror(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("bm25s")
    folder = lab.path / "mirror" / "one" / "app"
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    old = "def add(a, b):\n    return a + b\n"
    start = commit(folder, calc=old, ratio="import calc\n\n\ndef ratio(a, b):\n    return calc.divide(a, b)\n")
    git(folder, "checkout", "-qb", "topic")
    head = commit(folder, calc=f"{old}\ndef divide(a, b):\n    return a / b\n", notes="NOTES = 1\n")
    git(folder, "checkout", "-q", "main")
    later = commit(folder, other="later = 1\n")
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(lab.path / "mirror"))
    comment = {"is_ai_comment": False, "note": "b may be 0.", "path": "calc.py", "side": "right", "from_line": 5}
    row = {
        "githubPrUrl": "https://github.com/one/app/pull/1",
        "source_commit": later,
        "target_commit": head,
        "project_main_language": "Python",
        "comments": [comment, {**comment, "path": "notes.py", "from_line": 1}],
    }
    lab.write({"rows.json": json.dumps([row])})
    import_aacr(lab.path / "rows.json", lab.path / "aacr")
    with ScriptedProvider(answer) as provider:
        lab.write({"crab.yaml": CRAB_YAML.replace("URL", provider.openai_url)})
        lab.run("--reviewer=no-context", "--reviewer=bm25", "--crab-score=location", "aacr").assert_outcomes(failed=2)
        assert len(provider.asked) == 2 * 2
    plain, beside = lab.records()
    for trial, body in ((plain, "It divides by zero."), (beside, "Further code.")):
        (finding,) = trial["review"]["findings"]
        assert (finding["path"], finding["start"], finding["body"]) == ("calc.py", 5, body)
        assert [score["label"] for score in trial["scores"]] == ["caught", "missed"]
    (file,) = (lab.path / "aacr").glob("*/instance.yaml")
    assert start in file.read_text()  # the merge base, and not the row's commit
    found = CliRunner().invoke(main, ["benchmark", "aacr", "match", str(lab.report), "--json"])
    assert [one["overall"]["line"]["recall"]["value"] for one in json.loads(found.output)["reviewers"]] == [0.5, 0.5]
