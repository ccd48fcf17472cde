"""What a user's record says: runs of pytest in which each attack is a reviewer of its own, and their trials.jsonl."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_REVIEW = """\
import json, os, sys
sys.stdin.read()
print(json.load(open(os.environ["PLAYS"]))[os.environ["PLAY"]]["review"])
"""
#: Knows the attack by the rule that its finding names.
_REVISE = """\
import base64, json, os, sys
findings = json.load(sys.stdin)["findings"]
play = json.load(open(os.environ["PLAYS"]))[findings[0]["rule"]]
for path, content in play["files"].items():
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    content = base64.b64decode(content)
    with open(path, "wb") as file:
        file.write(content)
    if content[:2] == b"#!":
        os.chmod(path, 0o755)
exec(play["code"])
"""


@dataclass(frozen=True, kw_only=True)
class Play:
    """One contestant: what its reviewer prints (a review with ``finding``), what its agent writes and then runs."""

    name: str
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    code: str = ""
    review: str | None = None
    finding: Mapping[str, Any] = field(default_factory=dict)

    def data(self, key: str) -> dict[str, Any]:
        finding = {"path": "ledger.py", "start": 2, "body": "Add, do not subtract.", **self.finding, "rule": key}
        contents = {path: text if isinstance(text, bytes) else text.encode() for path, text in self.files.items()}
        return {
            "review": self.review or json.dumps({"schema": 1, "findings": [finding]}), "code": self.code,
            "files": {path: base64.b64encode(content).decode() for path, content in contents.items()},
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Record:
    """What a run left: its exit status, what it printed, and its trials by the play's name and by the instance's."""

    status: int
    printed: str
    trials: Mapping[str, Mapping[str, Any]]
    by_instance: Mapping[str, Mapping[str, Any]]


def said(trial: Mapping[str, Any]) -> str:
    """The verdict and its reason in a trial of one oracle, in the words of the page."""
    (result,) = trial["scores"]
    return f"{result.get('label', 'unknown')} ({result['reason']})"


def run(
    folder: Path, arguments: Sequence[str], plays: Iterable[Play], agent: Mapping[str, Any] | None = None
) -> Record:
    """Run pytest on ``folder``/set with a reviewer for each play, and one agent for all of them."""
    named = {f"r{number:03d}": play for number, play in enumerate(plays)}
    (folder / "plays.json").write_text(json.dumps({key: play.data(key) for key, play in named.items()}))
    command = {"use": "command", "files": ["review.py", "revise.py", "plays.json"]}
    told = {"PLAYS": str(folder / "plays.json")}
    reviewers = {
        key: {**command, "command": [sys.executable, "review.py"], "env": {**told, "PLAY": key}} for key in named
    }
    evil = agent or {**command, "command": [sys.executable, "revise.py"], "env": told}
    for name, text in {"review.py": _REVIEW, "revise.py": _REVISE}.items():
        (folder / name).write_text(text)
    settings = {"reviewers": reviewers, "agents": {"evil": evil}}
    chosen = ["--agent=evil", *(f"--reviewer={key}" for key in named)]
    done, lines = start(folder, [*arguments, *chosen], settings)
    return Record(
        status=done.returncode, printed=done.stdout + done.stderr,
        trials={named[line["reviewer"]].name: line for line in lines},
        by_instance={line["instance"]: line for line in lines},
    )  # fmt: skip


def start(
    folder: Path, arguments: Sequence[str], settings: Mapping[str, Any]
) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    """Run pytest on ``folder``/set with this crab.yaml, and read its trials.jsonl."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "crab.yaml").write_text(json.dumps(settings))
    plugins = ("-pno:cacheprovider", "-pno:xdist")
    argv = [sys.executable, "-m", "pytest", *plugins, "set", "--crab-report=report", *arguments]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "CRAB_TEST"))}
    env["PYTEST_ADDOPTS"] = os.environ["PYTEST_ADDOPTS"]
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, errors="surrogateescape")
    trials = folder / "report" / "trials.jsonl"
    assert trials.exists(), done.stdout + done.stderr
    return done, [json.loads(line) for line in trials.read_text().splitlines()]
