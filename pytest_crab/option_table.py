"""Every option of a run, once: its name, its type, its default, its help, the commands that have it, and its value."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_crab import option_types as kinds
from pytest_crab.option_types import OptionType

if TYPE_CHECKING:
    from pytest_crab.gate.terms import GateTerms
    from pytest_crab.runtimes import RuntimeSettings


class Option(NamedTuple):
    """One option: ``--crab-NAME``, ``CRAB_NAME`` and ``crab_NAME`` in an ini file mean the same."""

    name: str
    type: OptionType
    default: Any
    #: A half sentence that says what the value does.
    help: str
    #: It takes several values.
    many: bool = False
    #: Its second flag, where no other plugin has that.
    short: str | None = None
    #: False: it is none of the command line's.
    flag: bool = True
    #: It may also stand in crab.yaml under ``gate``, by its name.
    gate: bool = False
    #: It names contestants, so that the run measures them.
    contestants: bool = False
    #: The commands of pytest-crab that have it too, by ``flag_of_commands``.
    commands: tuple[str, ...] = ()

    @property
    def flag_of_commands(self) -> str:
        """The flag of the commands that have the option."""
        return f"--{self.name.removeprefix('gate-')}"

    @property
    def dest(self) -> str:
        """The name in ini files and in pytest's own namespace."""
        return f"crab_{self.name.replace('-', '_')}"

    @property
    def variable(self) -> str:
        """The environment variable."""
        return self.dest.upper()


def _option(type: OptionType, default: Any, help: str, **more: Any) -> Any:  # noqa: A002 - the names of Option
    """Return all of an option but its name, which is its attribute's with hyphens unless ``more`` has a ``name``."""
    return {"type": type, "default": default, "help": help, **more}


# Help texts are in lower case, and say what the value does, not what it is.
# No dataclass: every start of pytest would compile methods for so many fields, half of the time that the plugin takes.
class Options:
    """The values of all options, read once at the edge. In the class an attribute describes its option."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    # what is measured
    reviewers: tuple[str, ...] = _option(
        kinds.NAME,
        (),
        "measure this reviewer; repeatable (built in: claude-code, codex, command, devin, human, hunks, layered, "
        "linter, none, pr-agent, reflexion, replay, ruff, single-shot; others in crab.yaml)",
        name="reviewer",
        many=True,
        short="--reviewer",
        contestants=True,
    )
    experiment: str | None = _option(
        kinds.NAME,
        None,
        "run this experiment of crab.yaml; its reviewers, set and options hold unless given on the command line",
        short="--experiment",
        contestants=True,
    )
    agents: tuple[str, ...] = _option(
        kinds.NAME,
        (),
        "let this coding agent act on the findings; repeatable: several act on the same reviews (built in: "
        "claude-code, codex, command, mini, replay, simulated, suggestions, tool-loop; others in crab.yaml)",
        name="agent",
        many=True,
        short="--agent",
    )
    score: tuple[str, ...] = _option(
        kinds.NAME,
        (),
        "score reviews by this ruler instead of oracles; repeatable, the first that gives verdicts decides the "
        "outcome (built in: oracles, location, similarity, embedding:MODEL; judges in crab.yaml)",
        many=True,
    )

    # which instances, and how often
    since: date | None = _option(
        kinds.DAY, None, "run only instances merged since this day, since models may have been trained on older ones"
    )
    max_oracle_error: float | None = _option(
        kinds.RATE,
        None,
        "leave out instances whose oracles accepted a larger share of near misses, or refused a larger share of right "
        "fixes",
        gate=True,
    )
    shard: tuple[int, int] | None = _option(kinds.SHARD, None, "run only this part of the instances, as in 2/4")
    repeat: int = _option(kinds.COUNT, 1, "run every trial this many times")
    revisions: int = _option(
        kinds.COUNT, 1, "run the agent this many times on every review, to tell its noise from the reviewer's"
    )

    # comparisons within a run
    control: bool = _option(kinds.SWITCH, False, "also run the agent with no findings, and show the net lift")
    placebo: Path | None = _option(
        kinds.REPORT, None, "also run the agent with findings of other pull requests, taken from this earlier report"
    )
    top_n: tuple[int, ...] = _option(
        kinds.COUNT,
        (),
        "also run the agent with only the first N findings of every review; repeatable",
        many=True,
    )
    explain: str = _option(
        kinds.EXPLAIN,
        "all",
        "run missed oracles, or all, on head with some of the revision's commits, to tell which finding decided them",
    )
    attribute: bool = _option(
        kinds.SWITCH,
        False,
        "where an oracle was caught, run the agent again with one finding at a time, to tell which of them is enough",
    )

    # where code runs
    runtime: str = _option(
        kinds.RUNTIME, "auto", "run code in docker, in local sandboxes, or in whichever is available (auto)"
    )
    jobs: int = _option(kinds.COUNT, min(4, os.cpu_count() or 1), "run at most this many trials at a time")
    cluster: str | None = _option(
        kinds.ADDRESS, None, "run the trials on the Dask cluster whose scheduler has this address"
    )
    disk_budget: int | None = _option(
        kinds.SIZE,
        None,
        "run repository by repository, and remove images when they and the store's cache take more than this",
    )
    allow_unconfined: bool = _option(kinds.SWITCH, False, "run code without a sandbox where bubblewrap does not work")
    trust: bool = _option(
        kinds.SWITCH, False, "run the Dockerfiles and installs of instance sets from outside this folder"
    )
    base_image: str = _option(kinds.IMAGE, "python:{python}-slim", "build environments on this image", flag=False)
    prove: str = _option(
        kinds.PROVE,
        "lock",
        "prove oracles whose audit the set's crab.lock has on record with one run of head and of the reference, or all"
        " of them in full",
    )
    proof_runs: int = _option(kinds.COUNT, 2, "prove every oracle with this many runs of each state", flag=False)

    # store and cost
    store: Path = _option(kinds.FOLDER, ".crab", "keep finished steps in this folder")
    plan: bool = _option(kinds.SWITCH, False, "print what is stored and what would run, and run nothing")
    rerun: tuple[str, ...] = _option(
        kinds.STEP, (), "run this step again even if the store has its result; repeatable", many=True
    )
    replay: bool = _option(
        kinds.SWITCH,
        False,
        "answer model requests from recordings only; a request without a recording is an error",
    )
    budget: float | None = _option(
        kinds.DOLLARS, None, "send no more requests to models once the run has cost this many US dollars"
    )
    give_up: int = _option(
        kinds.COUNT_OR_NONE,
        5,
        "stop running a reviewer whose first N trials failed for the same reason, such as a wrong key; 0: never stop",
    )

    # results
    report: Path = _option(
        kinds.FOLDER,
        None,
        "write index.html, summary.json and trials.jsonl into this folder (default: a new one in runs in the store, to "
        "which report in the store then leads)",
    )
    junit: Path | None = _option(kinds.FILE, None, "write a JUnit file with one case per oracle")
    junit_misses: str = _option(
        kinds.MISSES, "failure", "write missed oracles into the JUnit file as failures, as skipped, or as passed (none)"
    )

    # the gate
    fail_under: float | None = _option(
        kinds.RATE,
        None,
        "fail if the rate of caught oracles is below this share, 30% or 0.3; no test, chance moves it too",
        gate=True,
    )
    baselines: tuple[Path, ...] = _option(
        kinds.BASELINE,
        (),
        "compare with this earlier run and fail if the rate dropped; repeatable: several are pooled",
        name="baseline",
        many=True,
        gate=True,
    )
    anchor: Path | None = _option(
        kinds.BASELINE,
        None,
        "also require the gate to pass against this pinned run, so that small drops cannot add up unnoticed",
        gate=True,
        commands=("compare",),
    )
    margin: tuple[tuple[str, float], ...] = _option(
        kinds.MARGIN,
        (),
        "allow the rate, or that of a label (security=10), to be this many points (5 or 5pp) below the baseline's; "
        "repeatable (default: 5)",
        many=True,
        gate=True,
        commands=("compare",),
    )
    fail_on: str = _option(
        kinds.FAIL_ON,
        "cannot-tell",
        "where the run cannot tell whether the reviewer is worse than the baseline, exit with 8 (cannot-tell), or with "
        "0, so that only a shown drop fails a build (worse)",
        gate=True,
        commands=("compare",),
    )
    gate_looks: int = _option(
        kinds.COUNT,
        1,
        "plan this many interim looks at the gate, such as one after each repeat, and split its error rate (alpha) "
        "among them",
        gate=True,
        commands=("compare",),
    )
    gate_unit: str = _option(
        kinds.UNIT,
        "pull-request",
        "let the gate speak for pull requests like these in these repositories (pull-request), or for other "
        "repositories too (repository)",
        gate=True,
        commands=("compare",),
    )
    gate_on: str = _option(
        kinds.GATE_ON,
        "rate",
        "let the gate decide on the rate, or on what each review's own near findings resolve alone (resolved)",
        gate=True,
        commands=("compare",),
    )
    allow_difference: str | None = _option(
        kinds.CONDITION,
        None,
        "compare with the baseline even if this one condition differs",
        gate=True,
        commands=("compare",),
    )
    max_broken: float = _option(
        kinds.SHARE,
        0.05,
        "with a gate, exit 9 if a larger share of oracles is broken",
        gate=True,
        commands=("compare",),
    )
    max_unknown: float = _option(
        kinds.SHARE,
        0.05,
        "with a gate, do not pass if a larger share of oracles has no verdict for a reason other than broken",
        gate=True,
        commands=("compare",),
    )
    errors_as_misses: bool = _option(
        kinds.SWITCH, False, "count oracles without a verdict as missed, as arXiv 2603.23448 does", gate=True
    )

    @property
    def gated(self) -> bool:
        """True if a gate decides the exit status."""
        return self.fail_under is not None or bool(self.baselines)

    @property
    def terms(self) -> GateTerms:
        """The terms of a gate."""
        from pytest_crab.gate.terms import MARGIN, GateTerms

        margins = dict(self.margin)
        return GateTerms(
            **{**self._alike(GateTerms), "margin": margins.pop("", MARGIN)},
            margins=margins,
            allowed=self.allow_difference,
            looks=self.gate_looks,
            unit=self.gate_unit.replace("-", " "),
            on=self.gate_on,
        )

    @property
    def runtime_settings(self) -> RuntimeSettings:
        """The settings of the place where the run's code runs."""
        from pytest_crab.runtimes import RuntimeSettings

        return RuntimeSettings(**self._alike(RuntimeSettings))

    def _alike(self, record: type) -> dict[str, Any]:
        """Return the values of the options after which fields of a record are named."""
        return {name: value for name, value in vars(self).items() if name in record.__annotations__}

    @property
    def part(self) -> str | None:
        """The shard as records name it, as in 2/4; None: the run is a whole."""
        return None if self.shard is None else "{}/{}".format(*self.shard)


#: Every option by the name of its attribute in Options.
FIELDS = {name: Option(**{"name": name.replace("_", "-"), **vars(Options)[name]}) for name in Options.__annotations__}

OPTIONS = tuple(FIELDS.values())
