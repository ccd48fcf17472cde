"""The whole pipeline with a scripted model, by a process that is killed at six random points and called again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.instances import load_instances
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, say
from tests.curation.conftest import URL
from tests.curation.test_pipeline import check_sums

#: The command, which kills itself as kill -9 would, once so many answers and decisions are stored.
KILLED = """\
import os, signal, sys
from pytest_crab.store import FileStore
left, plain = int(sys.argv.pop(1)), FileStore.put
def put(self, step, *arguments):
    global left
    plain(self, step, *arguments)
    left -= step != "transcript"  # after it comes the answer: whoever dies between the two asks again
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
FileStore.put = put
from pytest_crab.cli import main
main()
"""
CRAB_YAML = """\
models:
  providers: {{anthropic: {{base_url: "{url}"}}}}
  retries: 0
  record: false
judges:
  fit: {{use: review-filter, model: scripted}}
agents:
  reader: {{use: command, command: [{python}, agent.py], files: [agent.py]}}
curate:
  select: {{rvs: 0.05}}
  filter: {{judge: fit}}
  environment: {{}}
  oracles: {{model: scripted, attempts: 2, changes: 0}}
  validate: {{agent: reader, attempts: 1}}
"""
AGENT = """\
import pathlib
shop = pathlib.Path("shop.py")
shop.write_text(shop.read_text() + "# answered\\n")
print("{}")
"""
ORACLE = """\
kind: structural

```python
import pathlib

import shop


def test_answered():
    assert shop.one == 1
    assert "# answered" in pathlib.Path(shop.__file__).read_text().splitlines()[{line}]
```
"""


def answer(asked: Asked) -> Reply:
    """Keep one comment of two; the first oracle of each is green at head, the second is right."""
    text = str(asked.body["messages"][0]["content"])
    if "----- begin " in text and "classification" in text:
        return say(json.dumps({"classification": "HIGH" if "hides a bug" in text else "LOW", "reason": "r"}), pieces=1)
    right = ORACLE.format(line="-1")
    return say(right if asked.turn else right.replace('"# answered" in', '"" in'), pieces=1)


@pytest.mark.slow(reason="a pipeline is killed six times and starts as often")
@pytest.mark.bubblewrap
@pytest.mark.usefixtures("needs_an_index", "shop")
def test_a_killed_pipeline_ends_with_the_same_funnel_and_pays_nothing_twice(
    curate: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-in-curation")
    monkeypatch.setenv("CRAB_GIT_MIRROR", str(Path("mirror").absolute()))
    Path("mirror/owner").mkdir(parents=True)
    Path("mirror/owner/shop").symlink_to(Path("repo").absolute())
    Path("agent.py").write_text(AGENT)
    dice = random.Random(7)
    with ScriptedProvider() as provider:
        provider.script = answer
        Path("crab.yaml").write_text(CRAB_YAML.format(url=provider.anthropic_url, python=sys.executable))
        arguments = [
            "set",
            "curate",
            "repo",
            "--out",
            "set",
            "--comments",
            "comments.jsonl",
            "--url",
            URL,
            "--only",
            "1,2",
        ]
        for _ in range(6):
            stop = str(dice.choice([1, 2, 3, 4, 5]))
            argv = [sys.executable, "-c", KILLED, stop, *arguments, "--jobs", "1", "--runtime=local"]
            done = subprocess.run(argv, env=dict(os.environ), check=False, capture_output=True, text=True)
            assert done.returncode == -signal.SIGKILL, done.stderr
            check_sums(json.loads(curate("--status", "--json").stdout))
        resumed = curate("--only", "1,2", "--jobs", "1", "--runtime=local", "--json")
        assert resumed.exit_code == 0, resumed.output
        funnel = json.loads(resumed.stdout)
        check_sums(funnel)
        assert [one["pull_requests"]["kept"] for one in funnel] == [2] * 8
        assert [one["comments"]["kept"] for one in funnel] == [4, 4, 4, 2, 2, 2, 2, 2]
        asked = Counter(json.dumps(one.body["messages"]) for one in provider.asked)
        assert set(asked.values()) == {1}
        assert len(asked) == 4 + 2 * 2
        again = curate("--only", "1,2", "--jobs", "1", "--runtime=local", "--json")
        assert json.loads(again.stdout) == funnel
        assert len(provider.asked) == len(asked)
    for one in load_instances(Path("set")):
        (comment,) = one.with_oracles
        assert comment.labels["oracle_attempts"] == "2"
        assert comment.labels["solved"] == "solved"
        assert one.tags["environment_source"] == "bare"
