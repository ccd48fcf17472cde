"""certify --agent: an agent that reads, one comment that it understands, one that it does not, and one that ends it."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_crab.cli import main
from pytest_crab.errors import BadInput
from pytest_crab.instances import load_instance
from pytest_crab.instances.resolvability import Mark, marks_of, settings_digest, write_marks

INSTANCE = """\
schema: 1
id: shop-1
provenance: authored
repo: owner/shop
license: MIT
pull_request: {number: 7, title: Add a cart}
source:
  tree: {path: tree, head: head.diff, reference: reference.diff}
environment:
  dockerfile: python
  timeout: 60
comments:
"""
COMMENT = """\
  - id: %s
    path: shop.py
    body: %s
    category: functional
    kind: behavioral
    oracle: oracles/test_%s.py
"""
COMMENTS = {"clear": "This should say two.", "vague": "Hmm.", "fatal": "Give up."}
CHANGE = "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -1,2 +1,2 @@\n ONE = 1\n-{}\n+{}\n"

#: Does what a comment says, one at a time, and counts how often it was asked.
AGENT = """\
import json, pathlib, sys
(finding,) = json.load(sys.stdin)["findings"]
if "Give up" in finding["body"]:
    sys.exit("I give up")
shop = pathlib.Path("shop.py")
if "two" in finding["body"]:
    shop.write_text(shop.read_text().replace("3", "2"))
else:
    shop.write_text(shop.read_text() + "# hmm\\n")
print("{}")
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A set of one instance with three comments, and the agent that crab.yaml calls reader."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "set" / "shop-1"
    (folder / "oracles").mkdir(parents=True)
    (folder / "tree").mkdir()
    (folder / "tree" / "shop.py").write_text("ONE = 1\nTWO = 0\n")
    (folder / "head.diff").write_text(CHANGE.format("TWO = 0", "TWO = 3"))
    (folder / "reference.diff").write_text(CHANGE.format("TWO = 3", "TWO = 2"))
    for name in COMMENTS:
        text = f"import shop\n\n\ndef test_{name}():\n    assert shop.TWO == 2\n"
        (folder / "oracles" / f"test_{name}.py").write_text(text)
    text = "".join(COMMENT % (name, body, name) for name, body in COMMENTS.items())
    (folder / "instance.yaml").write_text(INSTANCE + text)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "crab.yaml").write_text(
        f"agents:\n  reader: {{use: command, command: [{sys.executable}, agent.py], files: [agent.py]}}\n"
        f"  other: {{use: command, command: [{sys.executable}, agent.py], files: [agent.py], timeout: 59}}\n"
    )
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["set", "certify", "set", "--runtime=local", *arguments], catch_exceptions=False)


def marks() -> dict[str, Any]:
    agents = json.loads(Path("set/resolved.json").read_text())["agents"]
    return dict(agents["reader"]["shop-1"])


@pytest.mark.slow(reason="each oracle is proved, and an agent tries it twice")
@pytest.mark.bubblewrap
def test_each_comment_alone_is_handed_to_the_agent_and_the_marks_reach_the_records() -> None:
    result = run("--agent=reader", "--attempts=2")
    assert result.exit_code == 1
    lines = [line for line in result.output.splitlines() if "reader" in line]
    assert lines[0] == "shop-1 clear: resolved by reader (1 attempt)"
    assert lines[1] == "shop-1 vague: not resolved by reader (2 attempts): test failed"
    assert lines[2].startswith("shop-1 fatal: not known whether reader resolves it: agent reader: ")
    assert lines[3] == "reader resolves 1 of 2 oracles from the human comment; 1 unknown"
    found = marks()
    assert {name: mark["resolved"] for name, mark in found.items()} == {"clear": True, "vague": False}
    assert found["vague"]["why"] == "test failed"
    seen = {agent: resolvable(agent) for agent in ("reader", "other")}
    assert seen["reader"] == {"clear": True, "vague": False, "fatal": None}
    assert set(seen["other"].values()) == {None}


def resolvable(agent: str) -> dict[str, Any]:
    """What a run with this agent has on record; all comments at once are too much for it."""
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir=.", "--reviewer=human", "set"]
    argv += [f"--agent={agent}", "--crab-runtime=local", "--crab-store=.crab", f"--crab-report={agent}"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout
    here = Path()
    (record,) = (here / agent / "trials.jsonl").read_text().splitlines()
    return {one["id"]: one.get("resolvable") for one in json.loads(record)["comments"]}


@pytest.mark.parametrize("agent", ["simulated", "replay"])
def test_who_is_shown_the_answer_marks_nothing(agent: str) -> None:
    result = run(f"--agent={agent}")
    assert result.exit_code == 1
    assert "understands no comment or is shown the answer" in result.output or "replay" in result.output
    assert not Path("set/resolved.json").exists()


def test_an_agent_that_nobody_knows_is_said_before_anything_runs() -> None:
    result = run("--agent=nobody")
    assert result.exit_code == 1
    assert "'nobody' is no agent" in result.output
    assert not Path(".crab").exists()


MARK = Mark(resolved=True, attempts=1, settings="s", instance="i", date="2026-01-01", model="m", version="1")


def test_marks_are_read_as_written_and_others_stay() -> None:
    folder = Path("set")
    instance = load_instance(folder / "shop-1")
    assert marks_of(instance, "a") == {}
    write_marks(folder, "a", {"shop-1": {"clear": MARK}})
    write_marks(folder, "b", {"shop-1": {"clear": dataclasses.replace(MARK, resolved=False, why="test failed")}})
    write_marks(folder, "a", {"shop-1": {"vague": MARK}, "shop-2": {"clear": MARK}})
    assert marks_of(instance, "a") == {"clear": MARK, "vague": MARK}
    assert marks_of(instance, "b")["clear"].why == "test failed"


def test_a_mark_keeps_its_date_until_it_says_something_else() -> None:
    folder = Path("set")
    instance = load_instance(folder / "shop-1")
    write_marks(folder, "a", {"shop-1": {"clear": MARK}})
    later = dataclasses.replace(MARK, date="2026-02-02")
    write_marks(folder, "a", {"shop-1": {"clear": later}})
    assert marks_of(instance, "a")["clear"].date == "2026-01-01"
    write_marks(folder, "a", {"shop-1": {"clear": dataclasses.replace(later, attempts=2)}})
    assert marks_of(instance, "a")["clear"].date == "2026-02-02"


@pytest.mark.parametrize(
    "text", ["[]", "{", "[" * 100_000, '{"schema": 2, "agents": {}}', '{"schema": 1, "agents": {"a": []}}']
)
def test_a_file_that_is_something_else_is_not_written_over(text: str) -> None:
    Path("set/resolved.json").write_text(text)
    with pytest.raises(BadInput, match="does not hold marks of this version"):
        write_marks(Path("set"), "a", {"shop-1": {"clear": MARK}})
    assert Path("set/resolved.json").read_text() == text


def test_a_mark_of_another_shape_is_a_fault() -> None:
    Path("set/resolved.json").write_text('{"schema": 1, "agents": {"a": {"shop-1": {"clear": {"resolved": 1}}}}}')
    with pytest.raises(BadInput, match="clear"):
        marks_of(load_instance(Path("set/shop-1")), "a")


def test_agents_differ_by_what_decides_their_work() -> None:
    same = settings_digest("m:A", {"model": "x"}, {"timeout": 1})
    assert settings_digest("m:A", {"model": "x"}, {"timeout": 2}) == same
    assert settings_digest("m:A", {"model": "y"}, {"timeout": 1}) != same
    assert settings_digest("m:B", {"model": "x"}, {"timeout": 1}) != same
    assert settings_digest("m:A", None, {"timeout": 1}) != settings_digest("m:A", None, {"timeout": 2})
