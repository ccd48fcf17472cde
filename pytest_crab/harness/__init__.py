"""The host side of the programs that run in a sandbox: sends jobs, and checks every report before it counts."""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
import marshal
import secrets
import struct
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pytest_crab import ecosystems, serialization
from pytest_crab.ecosystems.contract import Ecosystem
from pytest_crab.ecosystems.files_of_tests import may_have_tests_of
from pytest_crab.harness import channel
from pytest_crab.instances.own_tests import OwnTests
from pytest_crab.program_texts import program_text
from pytest_crab.protocols import Command, Completed, FileChange, Image, InstallResult
from pytest_crab.types import Ending, Environment, Isolation, Oracle, Run

#: What the supervisor's interpreter is started with: it reads a length and that many bytes of JSON from its input.
_START = """\
import sys
sys.path = [path for path in sys.path if path]
import os, json, marshal, struct
from binascii import a2b_base64
def read(size):
    data = b""
    while len(data) < size:
        more = os.read(0, min(size - len(data), 1 << 20))
        if not more:
            sys.exit("the job ended early")
        data += more
    return data
job = json.loads(read(struct.unpack(">Q", read(8))[0]).decode())
parts, compiled = job.pop("parts"), job.pop("compiled")
for name, text in parts.items():
    parts[name] = marshal.loads(a2b_base64(text)) if compiled else compile(text, "<crab %s>" % name, "exec")
space = {"__name__": "crab_supervisor"}
exec(parts.pop("supervisor"), space)
space["main"](job, parts)
"""

#: Where a sandbox sees what its control group refused it, in either version of control groups.
COUNTERS = {
    "memory": ("/sys/fs/cgroup/memory/memory.oom_control", "/sys/fs/cgroup/memory.events"),
    "processes": ("/sys/fs/cgroup/pids/pids.events", "/sys/fs/cgroup/pids.events"),
}


_NAMES = ("supervisor", "tree", "copies", "guard", "processes", "reports", "leak_scan")
_PARTS = {name: program_text(__name__, f"inside/{name}") for name in _NAMES}
_MESSENGER = program_text(__name__, "inside/messenger")
#: What both ends of a job with isolated oracles have besides.
_ISOLATION = program_text(__name__, "inside/isolation")

#: What starts a supervisor that tells the host nothing.
_SILENT = f"{_MESSENGER}\nbecome(sys.argv[1])\n"

#: The digest of everything that is sent into a sandbox but the runners of ecosystems.
_SHARED = serialization.digest([channel.SOURCE, _MESSENGER, _ISOLATION, _START, *_PARTS.values()])


def _texts(owner: Ecosystem) -> dict[str, str]:
    """The texts by which an ecosystem runs oracles, by the names of their parts."""
    return {f"{owner.name}_{name}": text for name, text in {"runner": owner.runner, **owner.parts}.items()}


@functools.lru_cache(maxsize=64)
def _compiled(name: str, text: str) -> str:
    """Return a part as the code that this CPython makes of it: 14 ms less for each sandbox of the same version."""
    return base64.b64encode(marshal.dumps(compile(text, f"<crab {name}>", "exec", dont_inherit=True))).decode()


def _version(owners: Iterable[Ecosystem]) -> str:
    variables = [one.variables for one in dict.fromkeys([*ecosystems.ECOSYSTEMS, *owners])]
    return serialization.digest([_SHARED, variables, *map(_texts, owners)])


#: The digest of that and of this package's own runners; ``version_for`` has that of some runners alone.
VERSION = _version(ecosystems.ECOSYSTEMS)


def version_for(runners: Collection[str]) -> str:
    """Return the digest of all that these runners need: where it is new, every oracle of theirs is proved anew."""
    owners = {owner.name: owner for owner in filter(None, map(ecosystems.of_runner, runners))}
    version = _version(owners[name] for name in sorted(owners))
    own = {name: owners[name].own_tests for name in sorted(owners) if owners[name].tests_runner in runners}
    return serialization.digest([version, own]) if own else version


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleRun:
    """One oracle to run on the tree in one state."""

    id: str
    state: str
    seconds: float
    oracle: Oracle
    #: The oracle file's text.
    source: str = field(repr=False)
    #: As in CommandRun.
    printed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRun:
    """One of the project's own commands to run in the tree in one state; only its exit code is reported."""

    id: str
    state: str
    seconds: float
    command: tuple[str, ...]
    #: Whether the end of what it prints is told.
    printed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTestsRun:
    """The project's own tests to run in the tree in one state, by an ecosystem's ``own_tests``."""

    id: str
    state: str
    seconds: float
    #: The name of the ecosystem.
    ecosystem: str
    #: The files of the tree that a change of the tests touches.
    files: tuple[str, ...]
    #: The names of tests, as somebody else reported them; empty: all of the files. What is run may be more: it holds at
    #: least what these name.
    names: tuple[str, ...]
    #: The oracle that they are: its files are laid over the tree first, in which no other file of tests is changed, and
    #: of its tests alone is told.
    oracle: OwnTests | None = field(default=None, repr=False)
    #: As in CommandRun.
    printed: bool = False

    @property
    def laid_state(self) -> str:
        """The name of the state with the oracle's files in it."""
        return self.state if self.oracle is None else f"{self.state}+{serialization.digest(self.oracle)[:12]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakQuestion:
    """The terms of a leak scan in a workspace."""

    state: str
    #: The project's distribution.
    project: str | None
    #: Names that no file may have.
    files: tuple[str, ...]


#: What a job does one after the other.
AnyRun: TypeAlias = OracleRun | CommandRun | OwnTestsRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Everything that one sandbox is to do, in order. Oracles of one job are all isolated or all not."""

    image: Image
    environment: Environment
    #: What turns the pristine tree into the ones to run on, by name.
    states: Mapping[str, Sequence[FileChange]]
    runs: Sequence[AnyRun]
    #: What installs made of the states that were installed anew.
    installs: Mapping[str, InstallResult] = field(default_factory=dict)
    leaks: LeakQuestion | None = None
    #: The bytes that a run may print.
    output: int = 16 << 20
    #: What the report is authenticated by; a job is done once.
    key: bytes = field(default_factory=channel.new_key, repr=False)

    def __post_init__(self) -> None:
        ids = [run.id for run in self.runs]
        if len(set(ids)) != len(ids):
            raise ValueError("two runs of a job have the same id")
        states = {run.state for run in self.runs} | ({self.leaks.state} if self.leaks else set())
        if not states <= set(self.states):
            raise ValueError("a run names a state that the job does not have")
        kinds = {isinstance(run, OracleRun) and run.oracle.isolation is Isolation.PROCESS for run in self.runs}
        if len(kinds) > 1 or (True in kinds and self.leaks):
            raise ValueError("isolated oracles need a job of their own")

    @property
    def isolated(self) -> bool:
        """Return whether the oracles run as another user than the project."""
        return any(isinstance(run, OracleRun) and run.oracle.isolation is Isolation.PROCESS for run in self.runs)

    @property
    def seconds(self) -> float:
        """Within what time the whole job ends by itself, start and restoring included."""
        return sum(run.seconds + 20.0 for run in self.runs) + 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessReport:
    """The report on a job."""

    #: One run for each that was asked for, in order.
    runs: tuple[Run, ...]
    leaks: Mapping[str, Any] | None = None
    #: By run of which it was asked for, the end of what it printed, which code of the project chooses.
    printed: Mapping[str, str] = field(default_factory=dict)
    #: By the same runs, what failed tests say by their names; the session's is what could not be loaded or built.
    quoted: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: Sentences on what was odd.
    problems: tuple[str, ...] = ()


def commands(job: Job) -> tuple[Command, ...]:
    """Return what Runtime.execute is to run.

    The first command's output is the one to parse; with isolated oracles it is the oracles' end, so that the sandbox
    lives until that has ended and its main process is not of the project's user.
    """
    start = (job.image.interpreter, "-I", "-S", "-c")
    telling, silent = (*start, channel.program(_MESSENGER), _START), (*start, _SILENT, _START)
    if not job.isolated:
        return (Command(argv=telling, stdin=job.key + encode(job), first=True, mounts=True),)
    token = secrets.token_hex(16)
    oracles, project = encode(job, "oracles", token), encode(job, "project", token)
    return (
        Command(argv=telling, stdin=job.key + oracles, user="oracle", first=True),
        Command(argv=silent, stdin=project),
    )


def encode(job: Job, role: str | None = None, token: str | None = None) -> bytes:
    """Return the bytes that the supervisor reads.

    ``role`` is project or oracles for the two ends of an isolated job, ``token`` what they know each other by.
    """
    asked = (run.oracle.runner for run in job.runs if isinstance(run, OracleRun))
    owners = list(filter(None, map(ecosystems.of_runner, asked)))
    tested = {run.ecosystem: ecosystems.named(run.ecosystem) for run in job.runs if isinstance(run, OwnTestsRun)}
    parts = {name: text for name, text in _PARTS.items() if job.leaks or name != "leak_scan"}
    parts |= {f"{name}_own_tests": one.own_tests or "" for name, one in tested.items()}
    for owner in [*owners, *tested.values()]:
        parts |= _texts(owner) if role != "project" else {f"{owner.name}_runner": owner.runner}
    if role:
        parts["isolation"] = _ISOLATION
    image, facts = job.image, job.image.facts
    states, installs = {**job.states}, {**job.installs}
    for run in job.runs:
        if isinstance(run, OwnTestsRun) and run.oracle is not None:
            states[run.laid_state] = _with_texts(job.states[run.state], run.oracle.texts, tested[run.ecosystem])
            installs |= {run.laid_state: job.installs[run.state]} if run.state in job.installs else {}
    variables = dataclasses.asdict(ecosystems.variables())
    variables["commands"] |= facts.get("commands", {})
    compiled = sys.version_info.releaselevel == "final" and facts.get("version") == sys.version.split()[0]
    message: dict[str, Any] = {
        "parts": {name: _compiled(name, text) for name, text in parts.items()} if compiled else parts,
        "compiled": compiled,
        "tree": image.tree,
        "workdir": image.workdir,
        "scratch": image.scratch,
        "site": list(image.site),
        "contained": image.contained,
        "socket_folder": str(facts.get("socket_folder", "/meet")),
        "counters": dict(facts.get("counters", COUNTERS)),
        "paths": [] if role == "oracles" else list(job.environment.paths),
        "env": dict(job.environment.env),
        "build": None if job.environment.build is None else "\n".join(["set -e", *job.environment.build]),
        "limits": {"output": job.output},
        "variables": variables,
        "states": {} if role == "oracles" else {name: encode_changes(changes) for name, changes in states.items()},
        "installs": {}
        if role == "oracles"
        else {name: _installed(job.environment, made) for name, made in installs.items()},
        "tools": dict(facts.get("tools", {})),
        "bytecode": facts.get("bytecode"),
        "runs": [] if role == "project" else [_run(run) for run in job.runs],
    }
    if role:
        message |= {"role": role, "token": token, "program": project_program(job.image, owners[0])}
    if job.leaks:
        caches = {"project": job.leaks.project, "caches": list(ecosystems.package_caches())}
        message["leaks"] = serialization.dump(job.leaks) | caches
    data = json.dumps(message).encode()
    return struct.pack(">Q", len(data)) + data


def project_program(image: Image, owner: Ecosystem) -> str:
    """Return what runs the project's commands for isolated oracles: the interpreter of its language."""
    tool: Mapping[str, str] = image.facts.get("tools", {}).get(owner.name, {})
    return tool.get("program", image.interpreter)


def _installed(environment: Environment, made: InstallResult) -> dict[str, Any]:
    """Return the files that an install made as they are sent in: a module that is gone cannot be imported."""
    owner = ecosystems.ecosystem_of(environment)
    gone = dict(owner.absent(path) for path, text in made.modules.items() if text is None)
    kept = {path: text for path, text in made.modules.items() if text is not None}
    return {"metadata": {**made.metadata, **gone}, "compiled": dict(made.compiled), "modules": kept}


def encode_changes(changes: Iterable[FileChange]) -> list[list[str | None]]:
    """Changes of a tree as what runs inside a workspace takes them."""
    return [
        [change.path, change.mode, None if change.content is None else base64.b64encode(change.content).decode()]
        for change in changes
    ]


def _with_texts(changes: Iterable[FileChange], texts: Mapping[str, str], owner: Ecosystem) -> list[FileChange]:
    """Return changes of a tree that end with these texts in it, by path.

    What they do to other files of tests is left out, since tests of both could not stand beside each other, and what
    they put in the way of a text, such as a link in the place of its folder.
    """
    laid = {
        path: FileChange(path=path, mode="100644", content=text.encode("utf-8", "surrogateescape"))
        for path, text in texts.items()
    }
    kept = (
        change
        for change in changes
        if not may_have_tests_of(owner, change.path)
        and not any(f"{path}/".startswith(f"{change.path}/") or change.path.startswith(f"{path}/") for path in laid)
    )
    return [*kept, *laid.values()]


def _run(run: AnyRun) -> dict[str, Any]:
    message: dict[str, Any] = {"id": run.id, "state": run.state, "seconds": run.seconds}
    if isinstance(run, CommandRun):
        return message | {"command": list(run.command), "printed": run.printed}
    if isinstance(run, OwnTestsRun):
        tests = {"files": list(run.files), "names": list(run.names)}
        message |= {"tests": tests, "part": f"{run.ecosystem}_own_tests", "state": run.laid_state}
        message |= {"laid": sorted(run.oracle.texts)} if run.oracle is not None else {}
        return message | {"printed": run.printed}
    oracle = {"file": run.oracle.file, "source": run.source, "plugins": list(run.oracle.plugins)}
    oracle |= {"runner": run.oracle.runner, "folder": run.oracle.folder or "."}
    owner = ecosystems.of_runner(run.oracle.runner)
    return message | {"oracle": oracle, "printed": run.printed, "part": f"{owner.name if owner else None}_runner"}


def parse(job: Job, completed: Sequence[Completed]) -> HarnessReport:
    """Read what a job's commands sent.

    A report is believed only as a whole: every message is the supervisor's, the last one has come, and each run was
    told once. A process that reaches the way out can add to it or end the harness, but neither without being seen.
    """
    last = completed[0]
    received = channel.read_messages(job.key, last.stdout)
    told = _lines(received.messages)
    fault = _fault(job, told, last, received)
    if fault is not None:
        return HarnessReport(runs=_unfinished_runs(job, told, last, fault, foreign=received.foreign), problems=(fault,))
    lines = {line["run"]["id"]: line["run"] for line in told if "run" in line}
    printed = {name: str(line["printed"]) for name, line in lines.items() if "printed" in line}
    quoted = {name: _quoted(line["quoted"]) for name, line in lines.items() if "quoted" in line}
    bare = {name: {key: line[key] for key in line if key not in ("printed", "quoted")} for name, line in lines.items()}
    results = [_parse_run(run, bare[run.id]) for run in job.runs]
    leaks = next((line["leaks"] for line in told if isinstance(line.get("leaks"), Mapping)), None)
    return HarnessReport(
        runs=tuple(run for run, _ in results),
        leaks=leaks,
        printed=printed,
        quoted=quoted,
        problems=tuple(problem for _, problem in results if problem),
    )


def _lines(messages: Sequence[bytes]) -> list[Mapping[str, Any]]:
    """The supervisor's lines; one that is none is left out, so that what it was to tell is missing."""
    told = []
    for message in messages:
        try:
            line = json.loads(message) if message else None
        except (ValueError, RecursionError):
            continue
        if isinstance(line, Mapping):
            told.append(line)
    return told


def _fault(job: Job, told: Sequence[Mapping[str, Any]], last: Completed, received: channel.Received) -> str | None:
    """Return why a report is not believed, None if it is; nothing else decides that."""
    if received.foreign:
        return "the harness's report was written to by another process"
    first = told[0] if told else {}  # said before any code of the project has run
    if "broken" in first:
        return str(first["broken"])
    if last.exit_code != 0 or last.timed_out or not received.whole:
        stderr = last.stderr.decode("utf-8", "replace")[-300:].strip()
        words = f": {stderr}" if stderr else ""
        return f"the harness did not come to its end (exit code {last.exit_code}){words}"
    runs = [line["run"] for line in told if "run" in line]
    names = [run.get("id") if isinstance(run, Mapping) else None for run in runs]
    if sorted(map(str, names)) != sorted(run.id for run in job.runs):
        return "the harness's report does not hold each run once"
    return None


def _unfinished_runs(
    job: Job, told: Sequence[Mapping[str, Any]], last: Completed, detail: str, *, foreign: bool
) -> tuple[Run, ...]:
    """Say of each run how it ended when the report is not whole: told or under way, or never begun."""
    causes = {
        Ending.TAMPERED: foreign,
        Ending.TIMEOUT: last.timed_out,
        Ending.MEMORY: last.out_of_memory,
        Ending.OUTPUT: last.too_much_output,
        Ending.LOST: True,
    }
    ending = next(ending for ending, applies in causes.items() if applies)
    named = (line["run"].get("id") for line in told if isinstance(line.get("run"), Mapping))
    names = {name for name in named if isinstance(name, str)}
    started = foreign or bool(told and "hello" in told[0])
    runs = []
    for run in job.runs:
        runs.append(Run(id=run.id, ending=ending if started else Ending.UNSTARTED, detail=detail))
        started = foreign or (started and run.id in names)
    return tuple(runs)


def _quoted(told: object) -> dict[str, str]:
    return {str(name): str(text) for name, text in told.items()} if isinstance(told, Mapping) else {}


def _parse_run(asked: AnyRun, line: Mapping[str, Any]) -> tuple[Run, str | None]:
    faults: list[str] = []
    run = serialization.read(Run, line, faults)
    if run is None:
        detail = "the report is not well-formed"
        return Run(id=asked.id, ending=Ending.EXITED, detail=detail), f"{asked.id}: {detail}: {faults[0]}"
    if isinstance(asked, OwnTestsRun) and asked.oracle is not None:
        run = dataclasses.replace(
            run, tests=tuple(test for test in run.tests if asked.oracle.counts(test.id, test.outcome))
        )
    return run, None
