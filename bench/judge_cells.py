"""Many judgements: planned, priced by a few of them, asked once and recorded, and replayed into an empty store.

    python bench/judge_cells.py positive_samples.json [--reviewers 12] [--pulls 196]

The file is AACR-Bench's (arXiv 2601.19494): 196 pull requests with 1,505 comments. Each reviewer has one finding on
each pull request, so that twelve reviewers make 1,505 x 12 = 18,060 questions. The judge is a scripted provider behind
the gateway, which answers at once: what is measured is pytest-crab. Every row is a command that a user types.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_crab.results.files import write_trials
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, say
from pytest_crab.types import Finding, Provenance, Review, ScoredComment, Trial

CRAB_YAML = """\
judges: {judge: {use: cr-evaluator, model: m, provider: local}}
models:
  providers: {local: {base_url: 'URL', api: openai}}
  prices: {m: {input: 3, output: 15}}
  cassettes: recordings
"""

#: So many pull requests are asked about first, to price the others by.
PRICED = 5


def write_report(folder: Path, pulls: Sequence[dict[str, Any]], reviewers: int) -> int:
    """Write a report with one finding of each reviewer on each pull request; return the number of questions."""
    (folder / "instances").mkdir(parents=True)
    trials = []
    for number, pull in enumerate(pulls):
        name, repo = f"pull-{number}", "/".join(pull["githubPrUrl"].split("/")[3:5])
        known = enumerate(pull["comments"])
        comments = [{"id": f"c{at}", "path": one["path"], "body": one["note"]} for at, one in known]
        about = {"schema": 1, "instance": name, "repo": repo, "language": "any", "title": name, "diff": ""}
        (folder / "instances" / f"{name}.json").write_text(json.dumps({**about, "comments": comments}))
        scored = tuple(ScoredComment(id=one["id"], path=one["path"]) for one in comments)
        for reviewer in range(reviewers):
            finding = Finding(body=f"Reviewer {reviewer} on {name}: {comments[0]['body']}", path=comments[0]["path"])
            trials.append(
                Trial(
                    instance=name,
                    repo=repo,
                    provenance=Provenance.GITHUB,
                    reviewer=f"reviewer-{reviewer}",
                    agent="none",
                    runtime="none",
                    review=Review(findings=(finding,)),
                    comments=scored,
                )
            )
    write_trials(folder / "trials.jsonl", trials)
    return reviewers * sum(len(pull["comments"]) for pull in pulls)


def answer(asked: Asked) -> Reply:
    """Label by the length of the question, so that not all are alike."""
    word = ("BUG_HIT", "VALID_SUGGESTION", "NOISE")[len(str(asked.body)) % 3]
    return say(json.dumps({"classification": word, "reason": "scripted"}), pieces=1)


def call(folder: Path, report: str, store: str, *options: str) -> tuple[float, str]:
    """Compare rulers with the judge; return seconds and what was printed last."""
    program = str(Path(sys.executable).with_name("pytest-crab"))
    command = [program, "compare-rulers", report, "--judge=judge", f"--store={store}"]
    start = time.perf_counter()
    done = subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, done.stdout.strip().splitlines()[-1]


def main(arguments: Sequence[str]) -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("samples", type=Path)
    parser.add_argument("--reviewers", type=int, default=12)
    parser.add_argument("--pulls", type=int, default=196)
    parser.add_argument("--jobs", type=int, default=8)
    options = parser.parse_args(arguments)
    pulls = json.loads(options.samples.read_text())[: options.pulls]
    jobs = f"--jobs={options.jobs}"
    with tempfile.TemporaryDirectory() as place, ScriptedProvider(answer) as provider:
        folder = Path(place)
        (folder / "crab.yaml").write_text(CRAB_YAML.replace("URL", provider.openai_url))
        cells = write_report(folder / "all", pulls, options.reviewers)
        write_report(folder / "few", pulls[:PRICED], options.reviewers)
        print(f"{len(pulls)} pull requests, {options.reviewers} reviewers, {cells:,} questions", flush=True)

        def measure(name: str, report: str, *more: str) -> None:
            seconds, said = call(folder, report, "store", *more)
            print(f"{name:32} {seconds:8.1f} s  {said}", flush=True)

        measure("plan, nothing stored", "all", "--plan")
        measure(f"ask about {PRICED} pull requests", "few", jobs)
        measure("plan, priced by these", "all", "--plan")
        measure("ask about all, recorded", "all", jobs)
        measure("the same again, stored", "all", jobs)
        asked = len(provider.asked)
        shutil.rmtree(folder / "store" / "steps")
        measure("replayed into an empty store", "all", jobs, "--replay")
        assert len(provider.asked) == asked <= cells  # equal questions are asked once


if __name__ == "__main__":
    main(sys.argv[1:])
