"""Real clients in real sandboxes, with a gateway, and behind it a provider that says what a test wants."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pytest_crab import agents, reviewers
from pytest_crab.clients import installed
from pytest_crab.clients.services import StepServices
from pytest_crab.ecosystems.interpreters import running_version
from pytest_crab.errors import AgentError, ReviewerError, model_errors_as
from pytest_crab.models import Gateway
from pytest_crab.protocols import Image, Runtime, Snapshot
from pytest_crab.runtimes import RuntimeSettings, bubblewrap
from pytest_crab.runtimes.bubblewrap_runtime import BubblewrapRuntime
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.settings import Api, ModelSettings, Price, Provider
from pytest_crab.sources import fetcher_for
from pytest_crab.store import FileStore
from pytest_crab.testing.provider import ScriptedProvider, say, structured, turns
from pytest_crab.trial import RunContext
from pytest_crab.trial.checkout import TrialCheckout
from pytest_crab.types import Comment, Environment, Finding, Instance, PullRequest, PullRequestFacts, Review, Revision

sys.path.insert(0, str(Path(__file__).parent))  # for what test_shadowing shares with test_scenarios

#: The folder that `pytest-crab doctor --install-client` has filled, as .ci/run names it.
CLIENTS = os.environ.get("CRAB_TEST_CLIENTS", "")

#: The key that only the gateway holds.
KEY = "sk-planted-9f31c7d2-do-not-tell"
MODEL = "scripted-model"

BASE = "def divide(a, b):\n    return a // b\n"
HEAD = "def divide(a, b):\n    return a / b\n"
FOUND = {"path": "calc.py", "start": 2, "end": 2, "title": "No guard", "body": "Zero is not guarded against."}
REVIEWED = {
    "findings": [
        {
            "title": "[P1] No guard",
            "body": "Zero is not guarded against.",
            "confidence_score": 0.9,
            "priority": 1,
            "code_location": {"absolute_file_path": "calc.py", "line_range": {"start": 2, "end": 2}},
        }
    ],
    "overall_correctness": "patch is incorrect",
    "overall_explanation": "It divides.",
    "overall_confidence_score": 0.8,
}


def lack_of_client(name: str) -> str | None:
    """Why tests with this client cannot run here; None if they can."""
    if not CLIENTS:
        return "CRAB_TEST_CLIENTS names no folder of installed clients"
    try:
        installed.find(name)
    except installed.ClientMissing as error:
        return str(error)
    return None


@pytest.fixture(autouse=True)
def folder_of_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients are taken from the folder that the tests were given, and keys are planted."""
    if CLIENTS:
        monkeypatch.setenv(installed.VARIABLE, CLIENTS)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture(autouse=True)
def clients_are_here(
    request: pytest.FixtureRequest, folder_of_clients: None, without: Callable[[str, str], NoReturn]
) -> None:
    """Skip what needs a client that is not here, or fail where it has to be."""
    for mark in request.node.iter_markers("client"):
        for name in mark.args:
            lack = lack_of_client(name)
            if lack is not None:
                without(name, lack)


@dataclass
class Desk:
    """One pull request, a runtime, and a scripted provider behind a gateway; ``kept`` are the raw outputs."""

    folder: Path
    runtime: Runtime
    provider: ScriptedProvider
    gateway: Gateway
    instance: Instance
    snapshot: Snapshot
    image: Image
    run: RunFolder = field(default_factory=RunFolder)
    settings: RuntimeSettings = field(default_factory=RuntimeSettings)

    @property
    def run_context(self) -> RunContext:
        store = FileStore(self.folder / "store")
        return RunContext(
            runtime=self.runtime,
            store=store,
            cache=store.cache,
            run=self.run,
            resume="one",
            settings=self.settings,
            models=self.gateway,
        )

    @property
    def pull_request(self) -> PullRequest:
        return PullRequest(
            repo="example/calc",
            language="python",
            title="True division",
            body="As Python 3 does.",
            base=self.snapshot.base,
            head=self.snapshot.head,
            diff=self.snapshot.pull_request_diff(),
        )

    def checkout(self, step: str) -> TrialCheckout:
        failure = ReviewerError if step == "review" else AgentError
        run_context = self.run_context
        services = StepServices(
            self.gateway,
            run_context.store.put,
            trial="calc-1::x[1]",
            step=step,
            secrets=run_context.secrets,
            cancelled=run_context.cancelled,
        )
        return TrialCheckout(self.instance, self.snapshot, run_context, lambda: self.image, failure, services)

    def review(self, name: str, script: Any, **settings: Any) -> Review:
        """What a real reviewer says when the provider says this."""
        self.say(script)
        reviewer = reviewers.REVIEWERS.make(name, {"model": MODEL, "timeout": 300, **settings}, self.folder)
        with model_errors_as(ReviewerError):
            return reviewer.review(self.pull_request, self.checkout("review"))  # type: ignore[union-attr]

    def revise(self, name: str, script: Any, findings: Sequence[Finding] = (), **settings: Any) -> Revision:
        """What a real agent makes of the findings when the provider says this."""
        self.say(script)
        agent = self.agent(name, **settings)
        found = findings or [Finding(body="Guard against zero.", path="calc.py", start=2)]
        with model_errors_as(AgentError):
            revision: Revision = agent.revise(self.pull_request, found, self.checkout("revision"))
        return revision

    def agent(self, name: str, **settings: Any) -> Any:
        """A real agent."""
        return agents.AGENTS.make(name, {"model": MODEL, "timeout": 300, **settings}, self.folder)

    def structured(self, findings: Sequence[Any]) -> Any:
        """A script that hands these findings over and is done."""
        return turns(structured({"findings": findings}), say("done"))

    def trees(self, client: str) -> str:
        """The trees of a client, joined by colons."""
        return ":".join(map(str, installed.find(client).trees))

    def left(self) -> list[str]:
        """What is still there of the folders and containers of the runs."""
        runs = [self.run, getattr(self.runtime, "run", self.run)]
        found = [str(path) for run in runs for path in run.folder.iterdir() if path.name != "uses"]  # goes with the run
        if self.runtime.name == "docker":
            found += [name for name, _ in self.runtime.engine.mine(of_run=runs[-1].id)]  # type: ignore[attr-defined]
        return found

    def say(self, script: Any) -> None:
        self.provider.script = script
        self.provider.asked.clear()

    @property
    def transcripts(self) -> list[str]:
        """The raw outputs in the store, as they lie there."""
        return [path.read_text() for path in (self.folder / "store" / "steps" / "transcript").glob("*/*.json")]

    @property
    def bodies(self) -> str:
        """All that the provider was asked, as one text."""
        return "\n".join(str(asked.body) for asked in self.provider.asked)


def write_project(folder: Path, extra: dict[str, str], base: dict[str, str]) -> None:
    """The pull request that makes one division another; ``extra`` files come with it, ``base`` were there before."""
    test = "import calc\n\n\ndef test_it():\n    assert calc.divide(4, 2) == 2\n"
    files = {"calc.py": BASE, "test_calc.py": test, **base}
    for name, text in files.items():
        (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "tree" / name).write_text(text)
    head = diff_of("calc.py", BASE, HEAD) + "".join(
        diff_of(name, base.get(name, ""), text) for name, text in extra.items()
    )
    (folder / "head.diff").write_text(head)
    (folder / "reference.diff").write_text(diff_of("calc.py", HEAD, f"{HEAD}# guarded\n"))


def diff_of(name: str, before: str, after: str) -> str:
    """The git diff that makes ``after`` of ``before``; nothing before is a new file."""
    import difflib

    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{name}", f"b/{name}")
    start = "" if before else "new file mode 100644\n"
    body = list(lines)
    if not before:
        body[0] = "--- /dev/null\n"
    return f"diff --git a/{name} b/{name}\n{start}{''.join(body)}"


@pytest.fixture(scope="session")
def make_runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Runtime]]:
    """Makes runtimes by name, once each; skips where one cannot be had."""
    made: dict[str, Any] = {}

    def make(kind: str) -> Runtime:
        if kind not in made and kind == "docker":
            from pytest_crab.ecosystems.interpreters import LOCAL_BASE
            from pytest_crab.runtimes.docker import DockerRuntime

            base = os.environ.get("CRAB_TEST_BASE", LOCAL_BASE)
            made[kind] = DockerRuntime(
                RuntimeSettings(base_image=base), rootdir=tmp_path_factory.mktemp("root"), slots=8
            )
        elif kind not in made:
            made[kind] = BubblewrapRuntime(RuntimeSettings(), cache=tmp_path_factory.mktemp("cache"), slots=8)
        runtime: Runtime = made[kind]
        return runtime

    yield make
    for runtime in made.values():
        runtime.close()


@pytest.fixture(scope="session")
def make_desk(
    make_runtime: Callable[[str], Runtime],
    tree_comment: Callable[..., Comment],
    tree_instance: Callable[..., Instance],
    tmp_path_factory: pytest.TempPathFactory,
    without: Callable[[str, str], NoReturn],
) -> Iterator[Callable[..., Desk]]:
    """Makes desks, one for each kind of runtime and set of extra files."""
    made: dict[tuple[str, str, str], Desk] = {}
    with contextlib.ExitStack() as stack:

        def instance_in(folder: Path, extra: dict[str, str], base: dict[str, str]) -> Instance:
            write_project(folder / "calc-1", extra, base)
            comment = tree_comment("c0", "calc.py", lines=(2, 2), body="?")
            fields = {"repo": "example/calc", "pull_request": PullRequestFacts(number=1, title="True division")}
            environment = Environment(dockerfile="python", python=running_version())
            return tree_instance(folder / "calc-1", "calc-1", comment, environment=environment, **fields)

        def make(kind: str = "local", extra: dict[str, str] | None = None, base: dict[str, str] | None = None) -> Desk:
            if bubblewrap.problem():
                without("bubblewrap", str(bubblewrap.problem()))
            key = (kind, str(extra), str(base))
            if key not in made:
                instance = instance_in(tmp_path_factory.mktemp("desk"), extra or {}, base or {})
                made[key] = stack.enter_context(desk_of(instance, make_runtime(kind)))
            return made[key]

        yield make


@contextlib.contextmanager
def desk_of(instance: Instance, runtime: Runtime) -> Iterator[Desk]:
    folder = Path(instance.folder).parent
    source = fetcher_for(instance)
    snapshot = source.fetch(instance, folder / "sources")
    image = runtime.prepare(instance, snapshot, source.identity(instance))
    with ScriptedProvider() as provider, tempfile.TemporaryDirectory(prefix="crab-") as sockets:
        providers = {
            "anthropic": Provider(base_url=provider.anthropic_url, api=Api.ANTHROPIC, key_env="ANTHROPIC_API_KEY"),
            "openai": Provider(base_url=provider.openai_url, api=Api.OPENAI, key_env="OPENAI_API_KEY"),
        }
        price = Price(input=3.0, output=15.0)
        settings = ModelSettings(providers=providers, prices={MODEL: price}, retries=0, record=False)
        gateway = Gateway(
            lambda: Path(sockets), settings, cassettes=folder / "cassettes", ledgers=folder / "ledgers", budget=None
        )
        desk = Desk(folder, runtime, provider, gateway, instance, snapshot, image)
        yield desk
        gateway.close()
        desk.run.close()


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    """A desk whose workspaces are bubblewrap's."""
    return make_desk()


def swapped(desk: Desk, **changes: Any) -> Desk:
    """The same desk with some of its parts replaced."""
    return replace(desk, **changes)
