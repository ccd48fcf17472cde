"""A laboratory for trials: an instance set, a crew of shell scripts with a ledger, a store, and real runtimes."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_crab.agents import AGENTS
from pytest_crab.instances import load_instance
from pytest_crab.protocols import Limits
from pytest_crab.protocols import Runtime
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import bubblewrap
from pytest_crab.runtimes.interpreters import running_version
from pytest_crab.runtimes.local import LocalRuntime
from pytest_crab.runtimes.runs import Run
from pytest_crab.store import FileStore
from pytest_crab.trial import Crew
from pytest_crab.trial import CrewSpec
from pytest_crab.trial import World
from pytest_crab.trial import run_trial
from pytest_crab.types import Instance
from pytest_crab.types import Trial

#: Small, so that a revision that wants too much is refused soon.
LIMITS = Limits(memory=256, processes=48, cpus=1.0, disk=32, file=16)
FINDING = {"path": "value.py", "start": 2, "body": "The value should be three."}
GOOD = "def value():\n    return 3\n"


def diff(path: str, before: str, after: str) -> str:
    """The git diff that replaces the second of a file's two lines."""
    old, new = before.splitlines()[1], after.splitlines()[1]
    first = before.splitlines()[0]
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n {first}\n-{old}\n+{new}\n"


def value(text: str) -> str:
    return f"def value():\n    return {text}\n"


def name(text: str) -> str:
    return f'def name():\n    return "{text}"\n'


FILES = {
    "tree/value.py": value("1"),
    "tree/name.py": name("a"),
    "tree/test_project.py": 'from name import name\n\n\ndef test_name():\n    assert name() < "d"\n',
    "head.diff": diff("value.py", value("1"), value("2")) + diff("name.py", name("a"), name("b")),
    "reference.diff": diff("value.py", value("2"), value("3")) + diff("name.py", name("b"), name("c")),
    "checks/other.diff": diff("value.py", value("2"), value("1 + 2")),
    "checks/near.diff": diff("value.py", value("2"), value("4")),
    "oracles/test_c0.py": "import value\n\n\ndef test_value():\n    assert value.value() == 3\n",
    "oracles/test_c1.py": 'import name\n\n\ndef test_name():\n    assert name.name() == "c"\n',
}


def comment(number: int, path: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"c{number}",
        "path": path,
        "lines": ["2", "2"],
        "body": "Not yet.",
        "category": "functional",
        "kind": "behavioral",
        "oracle": f"oracles/test_c{number}.py",
        **more,
    }


def document(name: str) -> dict[str, Any]:
    """What instance.yaml says."""
    return {
        "schema": "1",
        "id": name,
        "provenance": "authored",
        "repo": "example/values",
        "license": "MIT",
        "pull_request": {"number": "1", "title": "Two and b"},
        "source": {"tree": {"path": "tree", "head": "head.diff", "reference": "reference.diff"}},
        "environment": {"dockerfile": "python", "python": running_version(), "timeout": "10"},
        "comments": [
            comment(0, "value.py", accepts=["checks/other.diff"], rejects=["checks/near.diff"]),
            comment(1, "name.py"),
        ],
    }


@dataclass
class Lab:
    """Everything that decides a trial's steps is a file in ``folder`` or an attribute; ``ledger`` tells what ran."""

    folder: Path
    runtime: Runtime
    name: str = "values-1"
    document: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)
    worlds: list[World] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.document = document(self.name)
        for file, text in FILES.items():
            self.write(f"set/{self.name}/{file}", text)
        (self.folder / "ledger").mkdir(parents=True)
        self.write("crew/prompt.md", "Look closely.\n")
        self.reviewing([FINDING])
        self.acting({"value.py": GOOD})

    def write(self, file: str, text: str, mode: int = 0o644) -> Path:
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def put(self, file: str, text: str) -> None:
        """Write a file of the instance."""
        self.write(f"set/{self.name}/{file}", text)

    def reviewing(self, findings: list[dict[str, Any]] | str, before: str = "") -> None:
        """Make the reviewer say this, after some lines of shell."""
        said = findings if isinstance(findings, str) else json.dumps({"schema": 1, "findings": findings})
        self.write("crew/review.sh", self._script("review", f"{before}\ncat <<'END'\n{said}\nEND\n"), 0o755)

    def acting(self, files: Mapping[str, str], before: str = "") -> None:
        """Make the agent write these files, after some lines of shell."""
        writes = "".join(f"cat > {path} <<'CRAB_END'\n{text}CRAB_END\n" for path, text in files.items())
        self.write("crew/act.sh", self._script("revision", f"{before}\n{writes}"), 0o755)

    def _script(self, step: str, rest: str) -> str:
        return f'#!/bin/sh\ncat > /dev/null\necho {step} >> "$LEDGER/ledger.txt"\n{rest}'

    @property
    def ledger(self) -> list[str]:
        """The steps of contestants that ran, in order."""
        path = self.folder / "ledger" / "ledger.txt"
        return path.read_text().split() if path.exists() else []

    def instance(self) -> Instance:
        """The instance as its files now say."""
        self.put("instance.yaml", yaml.safe_dump(self.document, sort_keys=False))
        return load_instance(self.folder / "set" / self.name)

    def crew(self, **reviewer: Any) -> Crew:
        """The crew as its files now say; ``reviewer`` and ``settings["agent"]`` replace settings."""
        shared = {"env": {"LEDGER": str(self.folder / "ledger")}, "writable": ["ledger"]}
        review = {"command": ["crew/review.sh"], "files": ["crew/review.sh", "crew/prompt.md"], **shared}
        act = {"command": ["crew/act.sh"], "files": ["crew/act.sh"], **shared}
        review |= {**self.settings.get("reviewer", {}), **reviewer}
        act |= self.settings.get("agent", {})
        spec = CrewSpec(
            reviewer="sharp",
            reviewer_spec=REVIEWERS.spec(self.settings.get("use", "command"), _set(review, self), self.folder),
            agent="handy",
            agent_spec=AGENTS.spec("command", _set(act, self), self.folder),
            control=self.settings.get("control", False),
        )
        return Crew.build(spec)

    def world(self, **changes: Any) -> World:
        """A world on this lab's store; ``changes`` replace what it is made of."""
        store = FileStore(self.folder / "store")
        parts: dict[str, Any] = {
            "runtime": self.runtime,
            "store": store,
            "cache": store.cache,
            "run": Run(),
            "resume": "one",
            "limits": LIMITS,
            "no_sandbox": None,
        }
        world = World(**(parts | self.changes | changes))
        self.worlds.append(world)
        return world

    def trial(self, world: World | None = None, **more: Any) -> Trial:
        """One trial of the instance and crew as their files now say."""
        return run_trial(self.instance(), self.crew(), world or self.world(), **more)

    def close(self) -> None:
        for world in self.worlds:
            world.run.close()


def _set(settings: dict[str, Any], lab: Lab) -> dict[str, Any]:
    return {} if lab.settings.get("use") not in (None, "command") and "crew/review.sh" in settings["command"] else settings


def ran(trial: Trial) -> set[str]:
    """The steps that were made now and not taken from the store."""
    return {step.step for step in trial.steps if not step.reused} - {"fetch"}


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def runtimes(cache: Path) -> Iterator[Callable[[str], Runtime]]:
    """Makes runtimes by name, once each."""
    made: dict[str, Runtime] = {}

    def make(kind: str) -> Runtime:
        if kind not in made and kind == "docker":
            from pytest_crab.runtimes.docker import DockerRuntime

            made[kind] = DockerRuntime(rootdir=cache, slots=4)
        elif kind not in made:
            made[kind] = LocalRuntime(cache=cache, slots=4)
        return made[kind]

    yield make
    for runtime in made.values():
        runtime.close()


@pytest.fixture
def lab(tmp_path: Path, runtimes: Callable[[str], Runtime]) -> Iterator[Lab]:
    """A lab with the local runtime."""
    made = Lab(tmp_path, runtimes("local"))
    yield made
    made.close()


@pytest.fixture(params=[pytest.param("local", marks=pytest.mark.bubblewrap), pytest.param("docker", marks=pytest.mark.docker)])
def each_lab(request: pytest.FixtureRequest, tmp_path: Path, runtimes: Callable[[str], Runtime]) -> Iterator[Lab]:
    """A lab with either runtime; the crew is confined by bubblewrap in both."""
    if bubblewrap.problem():
        pytest.skip(str(bubblewrap.problem()))
    made = Lab(tmp_path, runtimes(request.param))
    yield made
    made.close()
