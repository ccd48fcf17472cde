"""A laboratory for trials: an instance set, a crew of shell scripts with a ledger, a store, and real runtimes."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

from pytest_crab.agents import AGENTS
from pytest_crab.ecosystems.interpreters import running_version
from pytest_crab.ecosystems.toolchain import Tools
from pytest_crab.instances import load_instance
from pytest_crab.models import Gateway
from pytest_crab.protocols import Limits, Runtime
from pytest_crab.retry_policy import RetryPolicy
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.runtimes import RuntimeSettings, bubblewrap
from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.settings import Api, ModelSettings, Price, Provider
from pytest_crab.store import FileStore
from pytest_crab.testing.provider import ScriptedProvider
from pytest_crab.trial import Crew, CrewSpec, RunContext, run_trial
from pytest_crab.trial.retries import RETRIES
from pytest_crab.types import Instance, Trial

#: Small, so that a revision that wants too much is refused soon.
LIMITS = Limits(memory=256, processes=48, cpus=1.0, disk=32, file=16)
PROOFS = Path("store", "steps", "proof")
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
    run_contexts: list[RunContext] = field(default_factory=list)

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
        self.put("instance.yaml", yaml.safe_dump(json.loads(json.dumps(self.document)), sort_keys=False))
        return load_instance(self.folder / "set" / self.name)

    def crew(self) -> Crew:
        """The crew as its files now say; ``settings`` replace what crab.yaml would say of it."""
        shared = {"env": {"LEDGER": str(self.folder / "ledger")}, "writable": ["ledger"]}
        review = {"command": ["crew/review.sh"], "files": ["crew/review.sh", "crew/prompt.md"], **shared}
        act = {"command": ["crew/act.sh"], "files": ["crew/act.sh"], **shared}
        review |= self.settings.get("reviewer", {})
        act |= self.settings.get("agent", {})
        spec = CrewSpec(
            reviewer="sharp",
            reviewer_spec=REVIEWERS.spec("command", review, self.folder),
            agent="handy",
            agent_spec=AGENTS.spec("command", act, self.folder),
        )
        return Crew.build(spec)

    def run_context(self, **changes: Any) -> RunContext:
        """A world on this lab's store; ``changes`` replace what it is made of."""
        store = FileStore(self.folder / "store")
        parts: dict[str, Any] = {
            "runtime": self.runtime,
            "store": store,
            "cache": store.cache,
            "run": RunFolder(),
            "resume": "one",
            "settings": RuntimeSettings(oracle_limits=LIMITS),
            "no_sandbox": None,
            "retries": {},
            "proof_runs": 1,
        }
        run_context = RunContext(**(parts | self.changes | changes))
        self.run_contexts.append(run_context)
        return run_context

    def trial(self, run_context: RunContext | None = None, **more: Any) -> Trial:
        """One trial of the instance and crew as their files now say."""
        return run_trial(self.instance(), self.crew(), run_context or self.run_context(), **more)

    def reasons(self, trial: Trial) -> dict[str, str]:
        return {result.comment: str(result.reason) for result in trial.results}

    def another(self) -> Runtime:
        """A runtime of the same kind that nobody else uses."""
        if self.runtime.name == "local":
            return BubblewrapRuntime(RuntimeSettings(), cache=self.folder / "cache", slots=8)
        from pytest_crab.runtimes.docker import DockerRuntime

        return DockerRuntime(RuntimeSettings(), rootdir=self.folder, slots=8)

    def command_lines(self) -> list[str]:
        """The command lines of all processes but this one, arguments joined by blanks."""
        return command_lines()

    def left(self) -> list[str]:
        """What is still there of all that this lab's trials have started."""
        runs = [run_context.run for run_context in self.run_contexts] + [getattr(self.runtime, "run", RunFolder())]
        found = [str(path) for run in runs for path in run.folder.iterdir() if path.name != "uses"]  # goes with the run
        # Groups of other tests may vanish meanwhile, which a walk does not mind.
        groups = (f"{place}/{name}" for place, names, _ in os.walk("/sys/fs/cgroup") for name in names)
        found += [path for path in groups if any(f"/pytest-crab-{run.id}-" in path for run in runs)]
        found += [text for text in command_lines() if str(self.folder) in text]
        if self.runtime.name == "docker":
            found += containers(runs[-1].id)
        return found

    def close(self) -> None:
        for run_context in self.run_contexts:
            run_context.run.close()


def command_lines() -> list[str]:
    """The command lines of all processes but this one, arguments joined by blanks."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    own = Path("/proc/self/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return [text for text in found if text != own]


def containers(run: str) -> list[str]:
    """The containers of one run, running or not."""
    import docker

    client = docker.from_env().api
    try:
        return [entry["Id"] for entry in client.containers(all=True, filters={"label": f"pytest-crab.run={run}"})]
    finally:
        client.close()


@pytest.fixture(scope="session")
def ran() -> Callable[[Trial], set[str]]:
    """The steps of a trial that were made now and not taken from the store."""
    return lambda trial: {step.step for step in trial.steps if not step.reused} - {"fetch"}


@pytest.fixture(scope="session")
def cache(shared_folder: Path) -> Path:
    """Where environments of all workers are built."""
    return shared_folder / "trial-cache"


@pytest.fixture(scope="session")
def runtimes(cache: Path) -> Iterator[Callable[[str], Runtime]]:
    """Makes runtimes by name, once each."""
    made: dict[str, Runtime] = {}

    def make(kind: str) -> Runtime:
        if kind not in made and kind == "docker":
            from pytest_crab.runtimes.docker import DockerRuntime

            made[kind] = DockerRuntime(RuntimeSettings(), rootdir=cache, slots=8)
        elif kind not in made:
            made[kind] = BubblewrapRuntime(RuntimeSettings(), cache=cache, slots=8)
        return made[kind]

    yield make
    for runtime in made.values():
        runtime.close()


@pytest.fixture(scope="session")
def make_lab(
    tmp_path_factory: pytest.TempPathFactory,
    runtimes: Callable[[str], Runtime],
    without: Callable[[str, str], NoReturn],
) -> Iterator[Callable[..., Lab]]:
    """Makes labs; the crew is confined by bubblewrap, whatever the runtime."""
    made: list[Lab] = []

    def make(kind: str = "local", runtime: Runtime | None = None) -> Lab:
        if bubblewrap.problem():
            without("bubblewrap", str(bubblewrap.problem()))
        made.append(Lab(tmp_path_factory.mktemp("lab"), runtime or runtimes(kind)))
        return made[-1]

    yield make
    for lab in made:
        lab.close()


@pytest.fixture(scope="session")
def make_proved(
    make_lab: Callable[..., Lab], made_once: Callable[[str, Callable[[Path], object]], Path]
) -> Callable[[str], Lab]:
    """Makes labs with a runtime, whose oracles are proved as long as they are not changed."""

    def make(kind: str) -> Lab:
        def prove(folder: Path) -> None:
            first = make_lab(kind)
            first.trial()
            shutil.copytree(first.folder / PROOFS, folder / PROOFS)

        lab = make_lab(kind)
        shutil.copytree(made_once(f"trial-proofs-{kind}", prove) / PROOFS, lab.folder / PROOFS)
        return lab

    return make


@pytest.fixture
def lab(make_proved: Callable[[str], Lab]) -> Lab:
    """A proved lab with the local runtime."""
    return make_proved("local")


@pytest.fixture(params=["local", pytest.param("docker", marks=pytest.mark.docker)])
def each_lab(request: pytest.FixtureRequest, make_proved: Callable[[str], Lab]) -> Lab:
    """A proved lab with either runtime."""
    return make_proved(request.param)


def build_base(tools: Tools) -> None:
    """Build the base image of this machine's own tools if it is not there."""
    import docker

    from pytest_crab.ecosystems.interpreters import running_version
    from pytest_crab.runtimes.base_images import build_tools_base

    found = tools.here()
    assert found is not None
    version = ".".join(found.version.split(".")[: tools.usual.count(".") + 1])
    client = docker.from_env().api
    try:
        if not client.images(name=tools.local_base.format(version=version)):
            build_tools_base(client, tools, version, running_version())
    finally:
        client.close()


AT_ONCE = {name: RetryPolicy(most=patience.most, wait=0) for name, patience in RETRIES.items()}


class ModelPlace:
    """Trials of a lab with a scripted provider behind a real gateway."""

    def __init__(self, lab: Any, provider: ScriptedProvider, folder: Path) -> None:
        self.lab = lab
        self.provider = provider
        self.ledgers = folder / "ledgers"
        providers = {
            "anthropic": Provider(base_url=provider.anthropic_url, api=Api.ANTHROPIC, key_env="ANTHROPIC_API_KEY"),
            "openai": Provider(base_url=provider.openai_url, api=Api.OPENAI, key_env="OPENAI_API_KEY"),
        }
        settings = ModelSettings(
            providers=providers,
            prices={"m": Price(input=3.0, output=15.0)},
            retries=4,
            retry_wait=0.01,
            record=False,
        )
        self.gateway = Gateway(
            lambda: folder / "g", settings, cassettes=folder / "c", ledgers=self.ledgers, budget=None
        )

    def trial(self, reviewer: str, agent: str, instead: Any = None, **settings: Any) -> Trial:
        """One trial; ``instead`` is a reviewer that stands in for the named one."""
        lab = self.lab
        own = {name: value for name, value in {"model": "m", **settings}.items() if value is not None}
        spec = CrewSpec(
            reviewer=reviewer,
            reviewer_spec=REVIEWERS.spec(reviewer, own, lab.folder),
            agent=agent,
            agent_spec=AGENTS.spec(agent, own if agent == "tool-loop" else {}, lab.folder),
        )
        crew = Crew.build(spec)
        if instead is not None:
            crew = Crew(spec=spec, reviewer=instead, agent=crew.agent)
        return run_trial(lab.instance(), crew, lab.run_context(models=self.gateway, retries=AT_ONCE))

    @property
    def booked(self) -> list[dict[str, Any]]:
        return [json.loads(line) for file in self.ledgers.iterdir() for line in file.read_text().splitlines()]


@pytest.fixture
def place(lab: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelPlace]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-planted-1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-2")
    with ScriptedProvider() as provider, tempfile.TemporaryDirectory() as folder:
        place = ModelPlace(lab, provider, Path(folder))
        yield place
        place.gateway.close()
