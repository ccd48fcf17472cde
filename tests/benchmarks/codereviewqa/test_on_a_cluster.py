"""Probes on a cluster of Dask's: real workers ask them, and store, budget and resume are those of trials."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.benchmarks.codereviewqa.reader import import_codereviewqa
from pytest_crab.testing.provider import Asked, Reply, ScriptedProvider, fail, say
from tests.benchmarks.codereviewqa.test_items import CRAB_YAML, rows

SECONDS = 60


class Model:
    """Knows each correct option; counts what it is asked, and fails from the given request on."""

    def __init__(self, failing: int | None) -> None:
        self.asked = 0
        self.failing = failing

    def __call__(self, asked: Asked) -> Reply:
        self.asked += 1
        if self.failing is not None and self.asked >= self.failing:
            return fail(400, "no more")
        text = str(asked.body["messages"][0]["content"])
        lines = [line for line in text.rpartition("Options:")[2].splitlines() if line[1:3] == ". "]
        (letter,) = (line[0] for line in lines if line[3:] in {"line 2", "only delete lines"})
        return say(letter, usage={"input": 1000, "output": 1})


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The address of a scheduler with two workers, each with a store of its own."""
    pytest.importorskip("distributed")
    file, made = tmp_path / "scheduler.json", []

    def start(name: str, *arguments: str) -> None:
        fixed = ("--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file))
        with (tmp_path / f"{name}.log").open("wb") as log:
            made.append(
                subprocess.Popen(
                    [sys.executable, "-m", "dask", *arguments, *fixed],
                    env={**os.environ, "CRAB_STORE": str(tmp_path / f"store-{name}")},
                    stdout=log,
                    stderr=log,
                    cwd=tmp_path,
                    start_new_session=True,
                )
            )

    start("scheduler", "scheduler", "--port", "0", "--dashboard-address", "127.0.0.1:0")
    for name in ("one", "two"):
        start(name, "worker", "--no-nanny", "--nthreads", "1", "--name", name, "--resources", "crab=1")
    deadline = time.monotonic() + SECONDS
    while (tmp_path / "scheduler.log").read_bytes().count(b"Register worker") < 2:
        assert time.monotonic() < deadline, (tmp_path / "scheduler.log").read_text()
        time.sleep(0.05)
    yield json.loads(file.read_text())["address"]
    for process in made:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(folder: Path, *arguments: str) -> tuple[dict[str, dict[str, Any]], str]:
    """Run pytest in a process of its own; return each answerer's summary, and what was printed."""
    command = [sys.executable, "-m", "pytest", "-q", "--crab-runtime=local", "--crab-allow-unconfined", *arguments]
    done = subprocess.run([*command, "probes"], cwd=folder, capture_output=True, text=True, check=False)
    file = folder / ".crab" / "report" / "probes.json"
    assert file.is_file(), done.stdout + done.stderr
    return {own["answerer"]: own for own in json.loads(file.read_text())["answerers"]}, done.stdout


def workers(folder: Path) -> list[tuple[str, str | None]]:
    """The answerer and the worker of each record of the last run."""
    lines = (folder / ".crab/report/probes.jsonl").read_text().splitlines()
    return [(record["answerer"], record["versions"].get("worker")) for record in map(json.loads, lines)]


@pytest.mark.slow(reason="five runs of pytest, four of them on a cluster")
def test_workers_ask_probes_and_the_store_budget_and_ledger_are_where_pytest_runs(cluster: str, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (deletion,) = rows(1)
    several = [json.dumps({**deletion, "review": f"Drop it, {number}."}) for number in range(4)]
    (folder / "rows.jsonl").write_text("\n".join(several))
    import_codereviewqa(folder / "rows.jsonl", folder / "probes")
    (folder / "pytest.ini").write_text("[pytest]\n")
    everything = 4 * (6 + 24)  # the easy and hard lines of these rows are one question
    with ScriptedProvider() as provider:
        provider.script = model = Model(failing=everything // 2)
        limited = CRAB_YAML.replace("retries: 0", "retries: 0\n  trial_budget: 0.5")
        (folder / "crab.yaml").write_text(limited.format(url=provider.openai_url))
        options = ("--answerer=chat", "--answerer=right", f"--crab-cluster={cluster}", "--crab-budget=5")
        broken, _ = run(folder, *options)
        assert broken["right"]["overall"]["caught"] == 12
        assert broken["chat"]["outcomes"]["answerer error"] > 0
        assert broken["chat"]["outcomes"]["missed"] == 0
        kept = broken["chat"]["outcomes"]["caught"]
        assert kept > 0
        assert {worker for _, worker in workers(folder)} == {"one", "two"}
        before, model.failing = model.asked, None
        whole, _ = run(folder, *options)
        assert whole["chat"]["overall"]["caught"] == 12
        assert 0 < model.asked - before < everything  # what was answered on a worker is not asked again
        assert {worker for name, worker in workers(folder) if name == "right"} == {None}  # its answers are stored
        entries = [line for file in (folder / ".crab/ledger").glob("*.jsonl") for line in file.read_text().splitlines()]
        assert len(entries) == model.asked
        assert {json.loads(line)["worker"] for line in entries} <= {"one", "two"}
        asked = model.asked
        here, _ = run(folder, *options[:2])  # without the cluster: all of it is in the store
        assert (here["chat"]["overall"]["caught"], model.asked) == (12, asked)
        short, _ = run(folder, options[0], options[2], "--crab-budget=0.003", "--crab-repeat=2")
        assert short["chat"]["outcomes"]["caught"] == 6  # the first repeat is stored
        assert short["chat"]["outcomes"]["missed"] == 0  # and what has no money is not missed
        assert 0 <= model.asked - asked <= 3
