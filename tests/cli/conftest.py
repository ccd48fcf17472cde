"""A folder with judges and a report, which the commands that ask judges share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider

CRAB_YAML = """\
models:
  providers: {{anthropic: {{base_url: "{url}"}}}}
  prices: {{scripted: {{input: 1, output: 10}}, stern: {{input: 1, output: 10}}}}
  retries: 0
judges:
{judges}
"""

#: Makes the scripted provider answer, names judges in crab.yaml, and writes what the report knows of pull requests.
Judging = Callable[..., ScriptedProvider]


@pytest.fixture
def judging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Judging]:
    """The current folder holds crab.yaml with these judges, and instances/ with comments at a.py's lines."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-in-a-judge")
    monkeypatch.chdir(tmp_path)
    with ScriptedProvider() as provider:

        def start(
            script: Callable[[Asked], Reply],
            judges: Sequence[str],
            comments: Sequence[tuple[int, str]],
            *,
            diff: str = "",
            repos: Sequence[str] = ("one",),
        ) -> ScriptedProvider:
            provider.script = script
            named = "\n".join(f"  {judge}" for judge in judges)
            (tmp_path / "crab.yaml").write_text(CRAB_YAML.format(url=provider.anthropic_url, judges=named))
            (tmp_path / "instances").mkdir()
            known = [
                {"id": f"c{at}", "path": "a.py", "lines": [line, line], "body": body}
                for at, (line, body) in enumerate(comments)
            ]
            for repo in repos:
                about = {"schema": 1, "instance": f"{repo}-1", "repo": repo, "language": "python", "title": "T"}
                text = json.dumps({**about, "diff": diff, "comments": known})
                (tmp_path / "instances" / f"{repo}-1.json").write_text(text)
            return provider

        yield start
