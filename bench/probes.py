"""What questions about review comments cost: processor per question, and a run that is killed and resumed.

    python bench/probes.py CodeReviewQA.jsonl [--rows 200] [--kills 3]

The model is a scripted provider that answers at once, so that what is measured is pytest-crab. One run goes through. A
second one, into a store of its own, is killed as often as asked for at random moments and resumed; its table and the
number of questions that were asked twice are compared with the first. Last, the plan of the finished run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pytest_crab.benchmarks.codereviewqa.reader import import_codereviewqa
from pytest_crab.benchmarks.codereviewqa.summary import SUMMARY
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, say

CRAB_YAML = """\
answerers: {{chat: {{use: letters, model: m, provider: here}}}}
models:
  providers: {{here: {{base_url: "{url}", api: openai}}}}
  prices: {{m: {{input: 1, output: 2}}}}
"""

#: The budget: milliseconds of processor for each question, of pytest and of the gateway.
MOST_MS = 2.0


class Model:
    """Answers by the length of the prompt, always the same, and counts."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, asked: Asked) -> Reply:
        """Answer one question."""
        self.asked += 1
        text = str(asked.body["messages"][0]["content"])
        return say("ABC"[len(text) % 3], usage={"input": len(text) // 4, "output": 1})


def command(store: str, *more: str) -> list[str]:
    """Return the command of a run into this store."""
    options = [f"--crab-store={store}", "-q", "--tb=no", "-p", "no:hypothesispytest", *more]
    return [sys.executable, "-m", "pytest", "--answerer=chat", "probes", *options]


def table(folder: Path, store: str) -> Any:
    """Return the numbers of the answerer without its times."""
    (found,) = json.loads((folder / store / "report" / SUMMARY).read_text())["answerers"]
    return {name: found[name] for name in ("overall", "by_label", "probes", "outcomes")}


def processor() -> float:
    """Return the seconds of processor of all processes that this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_killed(folder: Path, kills: int, seconds: float, seed: int) -> None:
    """Run into the store ``killed``, killed at random moments of the first run's length, then to the end."""
    moments = random.Random(seed)
    for _ in range(kills):
        process = subprocess.Popen(command("killed"), cwd=folder, stdout=subprocess.DEVNULL)
        try:
            process.wait(moments.uniform(0.1, 0.9) * seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    subprocess.run(command("killed"), cwd=folder, stdout=subprocess.DEVNULL, check=False)


def main() -> None:
    """Make both runs and print what they took."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling everything at each start is no user's case
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    model = Model()
    with tempfile.TemporaryDirectory() as place, ScriptedProvider(model) as provider:
        folder = Path(place)
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "crab.yaml").write_text(CRAB_YAML.format(url=provider.openai_url))
        with arguments.file.open() as lines:
            (folder / "rows.jsonl").write_text("".join(itertools.islice(lines, arguments.rows)))
        done = import_codereviewqa(folder / "rows.jsonl", folder / "probes")
        start, used = time.perf_counter(), processor()
        subprocess.run(command("whole"), cwd=folder, stdout=subprocess.DEVNULL, check=False)
        seconds, used, questions = time.perf_counter() - start, processor() - used, model.asked
        each = 1000 * used / questions
        print(f"{done.instances} rows, {questions} questions: {seconds:.0f} s, {questions / seconds:.0f} a second;")
        print(f"{each:.2f} ms of processor for each, of pytest and the gateway: {each / MOST_MS:.2f} of the budget")
        start = time.perf_counter()
        run_killed(folder, arguments.kills, seconds, arguments.seed)
        took, again = time.perf_counter() - start, model.asked - 2 * questions
        same = "the same table" if table(folder, "killed") == table(folder, "whole") else "ANOTHER TABLE"
        print(f"killed {arguments.kills} times and resumed, in {took:.0f} s: {same}, {again} questions asked twice")
        start = time.perf_counter()
        subprocess.run(command("whole", "--crab-plan"), cwd=folder, stdout=subprocess.DEVNULL, check=False)
        print(f"the plan of the finished run: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
