"""Places where runs are disturbed: the ledger of what began and was done, and what is on the record and left."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import docker
import pytest
import yaml

from pytest_crab.ecosystems.interpreters import running_version
from pytest_crab.instances import load_instance
from pytest_crab.lazy import lazy
from pytest_crab.results.kept_runs import kept_runs
from pytest_crab.runtimes.engine import MACHINE_LABEL
from pytest_crab.testing.dialogue import Reply
from pytest_crab.testing.provider import Asked, ScriptedProvider, say
from pytest_crab.types import Instance

HEAD = "def value():\n    return 1\n"
#: What the agent makes of the code, by the pull request's title; None: the reviewer says nothing.
ANSWERS: Mapping[str, str | None] = {"caught-1": "3", "missed-2": "4", "silent-3": None}
#: What must come of it, whatever happened on the way.
REASONS = {"caught-1": "green", "missed-2": "test failed", "silent-3": "no findings"}
#: The steps of each trial but the fetch and the image, in order; a review that says nothing is the end of it.
COURSE: Mapping[str, tuple[str, ...]] = {
    title: ("proof", "review", *(("revision", "verdict") if answer else ())) for title, answer in ANSWERS.items()
}
#: How often the crew's own steps begin.
STEPS = Counter(
    f"{step} {title}" for title, steps in COURSE.items() for step in steps if step in ("review", "revision")
)

SCRIPT = """\
#!/bin/sh
title=$(sed 's/.*"title": "\\([^"]*\\)".*/\\1/')
test -n "$title" || exit 9
echo "STEP $title start" >> "$LEDGER/ledger.txt"
while test -e "$LEDGER/hold-STEP-$title"; do sleep 0.05; done
"""
REVIEW = """\
test "$title" = silent-3 && echo '{"schema": 1, "findings": []}' && exit
cat <<END
{"schema": 1, "findings": [{"path": "value.py", "start": 2, "body": "Another number, $title."}]}
END
"""
REVISE = "".join(
    f'test "$title" = {title} && printf "def value():\\n    return {answer}  # PLACE\\n" > value.py\n'
    for title, answer in ANSWERS.items()
    if answer
)
DONE = 'echo "STEP $title done" >> "$LEDGER/ledger.txt"\n'
#: What went wrong is tried again as often as ever and soon; how long is waited is a matter of test_random.
HASTY = """\
import dataclasses
from pytest_crab.trial import retries
retries.RETRIES["gateway"] = dataclasses.replace(retries.RETRIES["gateway"], wait=0.05)
"""


def diff(before: str, after: str) -> str:
    head = "diff --git a/value.py b/value.py\n--- a/value.py\n+++ b/value.py\n@@ -1,2 +1,2 @@\n"
    return f"{head} def value():\n-{before}\n+{after}\n"


def instance_files(name: str, **environment: str) -> dict[str, str]:
    """The files of an instance whose one oracle is green where value() is 3."""
    document = {
        "schema": 1,
        "id": name,
        "provenance": "authored",
        "repo": "example/values",
        "license": "MIT",
        "pull_request": {"number": 1, "title": name},
        "source": {"tree": {"path": "tree", "head": "head.diff", "reference": "reference.diff"}},
        "environment": {"dockerfile": "python", "python": running_version(), "timeout": 20, **environment},
        "comments": [
            {
                "id": "c0",
                "path": "value.py",
                "lines": [2, 2],
                "body": "Not yet.",
                "category": "functional",
                "kind": "behavioral",
                "oracle": "oracles/test_c0.py",
            }
        ],
    }
    return {
        "instance.yaml": yaml.safe_dump(document, sort_keys=False),
        "tree/value.py": HEAD,
        "head.diff": diff("    return 1", "    return 2"),
        "reference.diff": diff("    return 2", "    return 3"),
        "oracles/test_c0.py": "import value\n\n\ndef test_value():\n    assert value.value() == 3\n",
    }


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@dataclass
class Place:
    """A rootdir whose crew writes a ledger, with a store, and with a folder for locks that only its own runs use."""

    REASONS: ClassVar[Mapping[str, str]] = REASONS
    STEPS: ClassVar[Counter[str]] = STEPS
    COURSE: ClassVar[Mapping[str, tuple[str, ...]]] = COURSE

    folder: Path
    runtime: str = "local"
    env: dict[str, str] = field(default_factory=dict)
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    replies: dict[str, list[Reply]] = field(default_factory=dict)
    provider: ScriptedProvider | None = None

    @classmethod
    def make(cls, folder: Path, runtime: str = "local") -> Place:
        """A place with the three instances and nothing in its store."""
        for name in ("ledger", "tmp"):
            (folder / name).mkdir(parents=True)
        for title in ANSWERS:
            write(folder / "set" / title, instance_files(title))
        place = cls(folder, runtime)
        place.settle()
        return place

    @classmethod
    def proven(cls, folder: Path, runtime: str) -> Place:
        """A place whose oracles are proved, and in which nothing else has been done."""
        place = cls.make(folder, runtime)
        output = place.run()
        assert place.reasons() == REASONS, output
        assert place.began() == STEPS
        for step in ("review", "revision", "verdict", "transcript"):
            shutil.rmtree(place.store / "steps" / step, ignore_errors=True)
        shutil.rmtree(place.store / "runs")
        (place.store / "report").unlink()
        assert place.left() == []
        return place

    def copy(self, folder: Path) -> Place:
        """The same somewhere else, with what its store knows."""
        shutil.copytree(self.folder, folder, symlinks=True)
        place = Place(folder, self.runtime)
        place.settle()
        place.ledger.write_text("")
        return place

    def settle(self, **more: Any) -> None:
        """Write the crew and its settings for where this place is; ``more`` are more parts of crab.yaml."""
        scripts = {"review": REVIEW, "revision": REVISE}
        for step, rest in scripts.items():
            done = DONE.replace("STEP", step)
            middle = rest.replace("exit\n", f"{{ {done.rstrip()}; exit; }}\n").replace("PLACE", self.folder.name)
            write(self.folder, {f"crew/{step}.sh": SCRIPT.replace("STEP", step) + middle + done})
            (self.folder / f"crew/{step}.sh").chmod(0o755)
        shared = {"use": "command", "writable": ["ledger"], "env": {"LEDGER": str(self.folder / "ledger")}}
        crew = {
            "reviewers": {"sharp": {**shared, "command": ["crew/review.sh"], "files": ["crew/review.sh"]}},
            "agents": {"handy": {**shared, "command": ["crew/revision.sh"], "files": ["crew/revision.sh"]}},
        }
        for section, entries in more.items():
            crew[section] = {**crew.get(section, {}), **entries}
        write(self.folder, {"crab.yaml": yaml.safe_dump(json.loads(json.dumps(crew))), "pytest.ini": "[pytest]\n"})
        write(self.folder, {"conftest.py": HASTY})
        self.ledger.touch()

    def ask_models(self, **settings: Any) -> None:
        """Add the reviewer ``asked``, a model that a provider of this place plays; it writes the ledger as others do.

        ``replies`` come first, by title.
        """
        self.provider = ScriptedProvider()
        self.provider.script = self._reply
        self.provider.__enter__()
        self.env |= {"ANTHROPIC_API_KEY": "sk-planted-for-faults"}
        models = {"providers": {"anthropic": {"base_url": self.provider.anthropic_url}}, "retries": 0, "record": False}
        asked = {"use": "single-shot", "provider": "anthropic", "model": "scripted", **settings}
        self.settle(reviewers={"asked": asked}, models=models)

    def _reply(self, asked: Asked) -> Reply:
        title = next(title for title in ANSWERS if title in str(asked.body))
        with self.ledger.open("a") as ledger:
            ledger.write(f"review {title} start\n")
        if self.replies.get(title):
            return self.replies[title].pop(0)
        finding = {"path": "value.py", "start": 2, "body": "This is another number."}
        return say(json.dumps([finding] if ANSWERS[title] else []), pieces=1)

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger" / "ledger.txt"

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def start(self, *more: str, reviewer: str = "sharp") -> subprocess.Popen[bytes]:
        """Start pytest on all instances, in a session of its own."""
        argv = [sys.executable, "-m", "pytest", "-pno:cacheprovider", "-q", "set"]
        argv += [f"--reviewer={reviewer}", "--agent=handy", f"--crab-runtime={self.runtime}"]
        argv += [f"--crab-store={self.store}", *more]
        env = {name: text for name, text in os.environ.items() if not name.startswith(("CRAB_", "PYTEST_"))}
        lean = os.environ["PYTEST_ADDOPTS"]
        env |= {"TMPDIR": str(self.folder / "tmp"), "PYTHONFAULTHANDLER": "1", "PYTEST_ADDOPTS": lean, **self.env}
        process = subprocess.Popen(
            argv,
            cwd=self.folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=heed_interrupts,  # noqa: PLW1509 - no other thread of ours holds a lock that it needs
        )
        self.started.append(process)
        return process

    def run(self, *more: str, reviewer: str = "sharp") -> str:
        """Run pytest on all instances to its end; what it printed."""
        return ended(self.start(*more, reviewer=reviewer))

    def hold(self, *steps: str) -> None:
        """Let these steps ("review caught-1") stand still once they began, until they are let go."""
        for step in steps:
            (self.folder / "ledger" / f"hold-{step.replace(' ', '-')}").touch()

    def let_go(self) -> None:
        for path in (self.folder / "ledger").glob("hold-*"):
            path.unlink()

    def wait_for(self, *lines: str) -> None:
        """Wait until the ledger has these lines."""
        wait_until(lambda: set(lines) <= set(self.lines()), f"the ledger never had {lines}")

    def lines(self) -> list[str]:
        return self.ledger.read_text().splitlines()

    def began(self) -> Counter[str]:
        """How often each step began."""
        return Counter(line.removesuffix(" start") for line in self.lines() if line.endswith(" start"))

    @property
    def report(self) -> Path:
        """The folder of the last run; where there is none, one that is not there."""
        return next(reversed(kept_runs(self.store)), self.store / "report")

    def reasons(self, report: Path | None = None) -> dict[str, str]:
        """Why the verdicts of the last run are what they are, by instance; none where it has left no record."""
        path = (report or self.report) / "trials.jsonl"
        trials = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        assert len({trial["instance"] for trial in trials}) == len(trials)
        return {trial["instance"]: trial["scores"][0]["reason"] for trial in trials}

    def steps(self) -> dict[str, bool]:
        """The steps of the last run's trials, and whether each was taken from the store as it was."""
        records = map(json.loads, (self.report / "trials.jsonl").read_text().splitlines())
        found = [(f"{step['step']} {trial['instance']}", step) for trial in records for step in trial["steps"]]
        kept = {name: step["reused"] for name, step in found if step["step"] not in ("fetch", "image")}
        assert len(kept) == len([name for name, _ in found if not name.startswith(("fetch ", "image "))])
        return kept

    def trial(self, name: str) -> dict[str, Any]:
        """One record of the last run."""
        records = (self.report / "trials.jsonl").read_text().splitlines()
        (found,) = [trial for trial in map(json.loads, records) if trial["instance"] == name]
        return dict(found)

    def left(self) -> list[str]:
        """What runs of this place have left: processes, containers, scratch, control groups, half-written files."""
        machine = self.folder / "tmp" / f"pytest-crab-{os.getuid()}"
        found = [str(path) for path in (machine / "runs").glob("*")]
        found += processes_naming(self.folder)
        found += self.containers() if self.runtime == "docker" else []
        found += [str(path) for path in self.store.rglob(".*.json.*")]
        return found

    @lazy
    def machine(self) -> str:
        """What containers of this place are labelled with: its TMPDIR makes it a machine of its own."""
        argv = [sys.executable, "-c", "from pytest_crab.runtimes.run_lock import machine_id; print(machine_id())"]
        env = {**os.environ, "TMPDIR": str(self.folder / "tmp")}
        return subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout.strip()

    def containers(self) -> list[str]:
        """The containers that runs of this place have, running or not."""
        client = docker.from_env().api
        try:
            found = client.containers(all=True, filters={"label": f"{MACHINE_LABEL}={self.machine}"})
        finally:
            client.close()
        return [str(entry["Id"]) for entry in found]

    def processes(self, *words: str) -> list[str]:
        """The command lines (pid first) of processes that name this place and these words."""
        return processes_naming(self.folder, *words)

    def kill(self, *words: str) -> int:
        """Kill -9 those processes, once there are some; how many."""
        self.until(lambda: self.processes(*words), f"no process names {words}")
        found = self.processes(*words)
        for line in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(line.split()[0]), signal.SIGKILL)
        return len(found)

    def until(self, done: Callable[[], object], otherwise: str, seconds: float = 300) -> None:
        """Wait until something holds."""
        wait_until(done, otherwise, seconds)

    def end(self, process: subprocess.Popen[bytes]) -> str:
        """What a process prints until its end."""
        return ended(process)

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            if process.stdout is not None and not process.stdout.closed:
                print(process.communicate()[0].decode())  # noqa: T201 - what a run that hung had to say
        if self.provider is not None:
            self.provider.__exit__(None, None, None)


def heed_interrupts() -> None:
    """What a shell starts in the background ignores them, and so would all that these tests start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ended(process: subprocess.Popen[bytes], seconds: float = 120) -> str:
    """What a process prints until its end; one that hangs is a failure that shows where."""
    try:
        return process.communicate(timeout=seconds)[0].decode()
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # faulthandler tells where it hangs
        raise AssertionError(process.communicate()[0].decode()) from None


def wait_until(done: Callable[[], object], otherwise: str, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def processes_naming(folder: Path, *words: str) -> list[str]:
    """The command lines (pid first) of all processes that name a folder and these words."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            cwd = str((process / "cwd").readlink())
        except OSError:
            continue
        if int(process.name) != os.getpid() and str(folder) in f"{line} {cwd}" and all(word in line for word in words):
            found.append(f"{process.name} {line}")
    return found


@pytest.fixture(scope="session")
def proven(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Callable[[str], Place]:
    """Gives the place of a runtime whose oracles are proved, made when first asked for."""

    def find(runtime: str) -> Place:
        folder = made_once(f"faults-{runtime}", lambda folder: Place.proven(folder / "proven", runtime))
        return Place(folder / "proven", runtime)

    return find


@pytest.fixture(params=["local"])
def place(request: pytest.FixtureRequest, proven: Callable[[str], Place]) -> Iterator[Place]:
    """A copy of it, in a folder whose path is short enough for sockets in it; tests may ask for other runtimes."""
    with tempfile.TemporaryDirectory(prefix="") as folder:
        copy = proven(request.param).copy(Path(folder) / "place")
        yield copy
        copy.close()


@pytest.fixture(scope="session")
def make_instance() -> Callable[[Path], Instance]:
    """Writes an instance into a folder and loads it."""

    def make(folder: Path) -> Instance:
        write(folder, instance_files(folder.name))
        return load_instance(folder)

    return make
