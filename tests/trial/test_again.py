"""A second run does nothing that the first has finished, however the first ended."""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_crab.runtimes import run_lock
from pytest_crab.store import FileStore

JOBS = 2
KILLS = 6
INSTANCES = 4
REVIEW = """#!/bin/sh
title=$(sed 's/.*"title": "\\([^"]*\\)".*/\\1/')
test -n "$title" || exit 9
echo "review $title start" >> "$LEDGER/ledger.txt"
sleep 0.3
echo "{\\"schema\\": 1, \\"findings\\": [{\\"body\\": \\"$title\\"}]}"
echo "review $title done" >> "$LEDGER/ledger.txt"
"""
REVISE = """#!/bin/sh
title=$(sed 's/.*"title": "\\([^"]*\\)".*/\\1/')
test -n "$title" || exit 9
echo "revision $title start" >> "$LEDGER/ledger.txt"
sleep 0.3
sed -i s/2/3/ value.py
echo "{\\"schema\\": 1, \\"notes\\": \\"$title\\"}"
echo "revision $title done" >> "$LEDGER/ledger.txt"
"""


@pytest.mark.slow(reason="an instance is proved and judged in containers")
@pytest.mark.docker
@pytest.mark.bubblewrap
def test_the_same_again_creates_no_container(make_lab: Callable[..., Any], ran: Callable[[Any], set[str]]) -> None:
    lab = make_lab("docker")
    kept = lab.runtime
    made = []
    for _ in range(2):
        lab.runtime = lab.another()
        with container_events(lab.runtime.run.id) as heard:
            made.append((ran(lab.trial()), heard))
        lab.runtime.close()
    lab.runtime = kept
    assert made[0][0] >= {"proof", "review", "revision", "verdict"}
    assert made[1][0] == set()
    assert "create" in made[0][1]
    assert made[1][1] == set()
    assert lab.ledger == ["review", "revision"]


@contextlib.contextmanager
def container_events(run: str) -> Iterator[set[str]]:
    """What the engine does to the containers of a run; heard at once, since it keeps few events of all that use it."""
    import docker

    client = docker.from_env().api
    heard: set[str] = set()
    filters = {"type": "container", "label": f"pytest-crab.run={run}"}
    told = client.events(since=int(time.time()) - 1, filters=filters, decode=True)
    listening = threading.Thread(target=lambda: heard.update(event["Action"] for event in told))
    listening.start()
    try:
        yield heard
    finally:
        told.close()
        listening.join()
        client.close()


SWEEP = """
import sys
from pathlib import Path
from pytest_crab.runtimes import RuntimeSettings, make
runtime = make(RuntimeSettings(runtime=sys.argv[1]), rootdir=Path(sys.argv[2]), cache=Path(sys.argv[2]))
print(runtime.sweep())
runtime.close()
"""


@pytest.mark.slow(reason="an oracle waits, so that a sweep can meet its run")
@pytest.mark.bubblewrap
@pytest.mark.parametrize("kind", ["local", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_sweep_by_those_who_keep_their_locks_elsewhere_spares_living_runs(
    kind: str, make_lab: Callable[..., Any], tmp_path: Path
) -> None:
    lab = make_lab(kind)
    lab.changes["proof_runs"] = 2
    kept, lab.runtime = lab.runtime, lab.another()
    lab.put(
        "oracles/test_c1.py",
        "import time\nimport name\n\n\ndef test_name():\n    time.sleep(0.7)\n    assert name.name() == 'c'\n",
    )
    removed: list[str] = []

    def sweep() -> None:
        argv = [sys.executable, "-c", SWEEP, kind, str(lab.folder)]
        done = subprocess.run(
            argv, env={**os.environ, "TMPDIR": str(tmp_path)}, capture_output=True, text=True, check=True
        )
        removed.append(done.stdout)

    run_context = lab.run_context()
    assert run_context.run.folder.exists()
    assert lab.runtime.run.folder.exists()
    timer = threading.Timer(0.5, sweep)
    begin = {"proof": timer.start}
    trial = lab.trial(run_context, notice=lambda step: begin.pop(step, lambda: None)())
    timer.join()
    lab.runtime.close()
    lab.runtime = kept
    assert trial.error is None
    assert removed == ["[]\n"]


class Place:
    """A rootdir with instances, a crew and a ledger, and a folder for locks that only its runs use."""

    def __init__(self, folder: Path, lab: Any) -> None:
        self.folder = folder
        self.ledger = folder / "ledger" / "ledger.txt"
        self.temporary = folder / "tmp"
        for name in ("ledger", "tmp", "crew"):
            (folder / name).mkdir()
        self.ledger.touch()
        (folder / "pytest.ini").write_text("[pytest]\ncrab_proof_runs = 1\n")
        for script, text in {"review": REVIEW, "revise": REVISE}.items():
            (folder / "crew" / f"{script}.sh").write_text(text)
            (folder / "crew" / f"{script}.sh").chmod(0o755)
        shared = {"use": "command", "writable": ["ledger"], "env": {"LEDGER": str(self.ledger.parent)}}
        crew = {
            "reviewers": {"sharp": {**shared, "command": ["crew/review.sh"], "files": ["crew/review.sh"]}},
            "agents": {"handy": {**shared, "command": ["crew/revise.sh"], "files": ["crew/revise.sh"]}},
        }
        (folder / "crab.yaml").write_text(yaml.safe_dump(json.loads(json.dumps(crew))))
        for number in range(INSTANCES):
            self._instance(f"kill-{number}", lab)

    def _instance(self, name: str, lab: Any) -> None:
        document = json.loads(json.dumps(lab.document))
        document |= {"id": name, "comments": document["comments"][:1]}
        document["pull_request"]["title"] = name
        for key in ("accepts", "rejects"):
            document["comments"][0].pop(key)
        source = lab.folder / "set" / lab.name
        for file in (path for path in source.rglob("*") if path.is_file() and "checks" not in path.parts):
            target = self.folder / "set" / name / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
        (self.folder / "set" / name / "instance.yaml").write_text(yaml.safe_dump(document))

    def start(self, store: str) -> subprocess.Popen[bytes]:
        """Start pytest on all instances, in a session of its own."""
        argv = [sys.executable, "-m", "pytest", "-pno:cacheprovider", "-q", "set", "--reviewer=sharp", "--agent=handy"]
        argv += ["--crab-runtime=docker", f"--crab-jobs={JOBS}", f"--crab-store={self.folder / store}"]
        env = {**os.environ, "TMPDIR": str(self.temporary)}
        return subprocess.Popen(
            argv, cwd=self.folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )

    def kill(self, process: subprocess.Popen[bytes], *, lines: int, pause: float) -> bool:
        """Kill pytest alone once its crew has said so much, or in its first second; whether it was still at work."""
        told = len(self.lines())
        while lines and len(self.lines()) < told + lines and process.poll() is None:
            time.sleep(0.01)
        time.sleep(pause if lines else pause + 0.6)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        return len(self.stored("killed")) < 2 * INSTANCES

    def starts(self) -> Counter[str]:
        """How often each step was begun."""
        return Counter(line.removesuffix(" start") for line in self.lines() if line.endswith(" start"))

    def lines(self) -> list[str]:
        """What the crew has written."""
        return self.ledger.read_text().splitlines()

    def stored(self, store: str) -> set[str]:
        """The steps of contestants whose results are in a store."""
        found = set()
        for step, path in FileStore(self.folder / store).objects():
            value = json.loads(path.read_text())["value"]
            if step == "review":
                found.add(f"review {value['findings'][0]['body']}")
            elif step == "revision":
                found.add(f"revision {value['notes']}")
        return found

    def summary(self, store: str) -> Any:
        """The summary of the last run, without what is a time."""
        return timeless(json.loads((self.folder / store / "report" / "summary.json").read_text()))

    def left(self) -> list[str]:
        """What runs have left on this machine."""
        import docker

        client = docker.from_env().api
        label = f"pytest-crab.machine={run_lock.machine_id()}"
        found = [entry["Id"] for entry in client.containers(all=True, filters={"label": label})]
        client.close()
        found += [str(path) for path in (run_lock.machine_folder() / "runs").iterdir()]
        wanted = f"pytest-crab-*-{run_lock.machine_id()}-*"
        for folder, names, _ in os.walk("/sys/fs/cgroup"):  # which passes over what other tests remove meanwhile
            found += [f"{folder}/{name}" for name in fnmatch.filter(names, wanted)]
        return found


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if "seconds" not in key and key != "started"}
    return [timeless(item) for item in value] if isinstance(value, list) else value


@pytest.mark.slow(reason="a run is killed again and again and starts as often")
@pytest.mark.docker
@pytest.mark.bubblewrap
def test_a_run_that_is_killed_again_and_again_loses_and_repeats_nothing_that_was_finished(
    lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path, lab)
    monkeypatch.setattr(tempfile, "tempdir", str(place.temporary))
    chance = random.Random(3)
    hits = 0
    for _ in range(KILLS):
        before, known = place.starts(), place.stored("killed")
        process = place.start("killed")
        hits += place.kill(process, lines=chance.randrange(4), pause=chance.uniform(0, 0.6))
        begun = place.starts() - before
        assert not set(begun) & known
        assert sum(begun.values()) <= len(begun) + JOBS  # a client may outlive its run until the next one starts
        assert len(set(begun) - place.stored("killed")) <= JOBS
    assert hits >= KILLS // 2
    known = place.stored("killed")
    before = place.starts()
    last = place.start("killed")
    output = last.communicate(timeout=120)[0].decode()
    assert last.returncode == 0, output
    assert place.left() == []
    assert not [text for text in lab.command_lines() if str(place.ledger.parent) in text]
    assert not set(place.starts() - before) & known
    steps = {f"{step} kill-{number}" for step in ("review", "revision") for number in range(INSTANCES)}
    assert set(place.starts()) == place.stored("killed") == steps
    assert sum(place.starts().values()) <= len(steps) + KILLS * JOBS

    place.ledger.write_text("")
    whole = place.start("whole")
    assert whole.wait(timeout=120) == 0
    whole.communicate()
    assert place.starts() == Counter(steps)
    assert place.summary("killed") == place.summary("whole")
    assert place.left() == []
