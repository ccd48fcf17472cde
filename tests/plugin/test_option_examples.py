"""The examples of the page on options, run one after the other in a folder such as the page describes."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.benchmarks.codereviewqa.reader import import_codereviewqa
from pytest_crab.option_table import OPTIONS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "options.md"

EXPERIMENT = "experiments:\n  nightly: {reviewers: [mine], agents: [my-agent], set: instances, runtime: local}\n"
ROW = {
    "old": " a\n-b\n c\n ", "new": " a\n+d\n c\n ", "review": "Why b?", "lang": "python", "type_correct": "modify",
    "type_wrong": ["add_only", "remove_only"], "loc_correct": [2], "loc_wrong_easy": [[1], [3], [4]],
    "loc_wrong_hard": [[1], [3], [4]],
}  # fmt: skip

#: How an example may end that is not 0 or 1: 32 verdicts are too few for a gate that looks twice or draws a half.
STATUS = {"--crab-baseline": {0, 1, 5, 8}}


def examples() -> list[list[str]]:
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    lines = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert {line[0] for line in lines} == {"pytest"}
    return [line[1:] for line in lines]


def test_every_option_has_an_example() -> None:
    shown = {word.partition("=")[0] for line in examples() for word in line}
    missing = [
        option.dest for option in OPTIONS if not shown & {f"--crab-{option.name}", option.short or "", option.dest}
    ]
    assert missing == []


@pytest.mark.slow(reason="each example is a run of its own")
@pytest.mark.bubblewrap
def test_the_examples_run_as_they_stand(lab: Any) -> None:
    for path in lab.path.glob("instances/*/instance.yaml"):
        path.write_text(path.read_text().replace("number: 7,", "number: 7, merged_at: 2024-06-01,"))
    settings = lab.path / "crab.yaml"
    text = settings.read_text().replace("  mine:", "  my-agent:").replace("  half:", "  mine:")
    settings.write_text(text + EXPERIMENT)
    (lab.path / "rows.jsonl").write_text(json.dumps(ROW) + "\n")
    import_codereviewqa(lab.path / "rows.jsonl", lab.path / "probes")
    for line in examples():
        if any(word.startswith("--crab-cluster") for word in line):
            continue
        runtime = [] if any("runtime" in word for word in line) else ["--crab-runtime=local"]
        result = lab.pytester.runpytest(*runtime, *line)
        allowed = next((codes for start, codes in STATUS.items() if start in " ".join(line)), {0, 1})
        assert result.ret in allowed, f"{shlex.join(line)}\n{result.stdout}{result.stderr}"
