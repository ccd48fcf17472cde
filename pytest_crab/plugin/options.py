"""Every option of the plugin in one table: command line, then environment, then ini file, then default."""

from __future__ import annotations

import os
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from typing import Literal

import pytest

from pytest_crab.gate.comparable import CONDITIONS

FRESH_STEPS = ("review", "revision")


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _dollars(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError
    return number


def _rate(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:
        raise ValueError
    return number


def _points(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 100:
        raise ValueError
    return number


def _shard(text: str) -> tuple[int, int]:
    at, of = (int(part) for part in text.split("/"))
    if not 1 <= at <= of:
        raise ValueError
    return at, of


def _condition(text: str) -> str:
    if text not in CONDITIONS:
        raise ValueError
    return text


def _switch(text: str) -> bool:
    return {
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
        "": False,
    }[text.lower()]


def _since(text: str) -> date:
    from pytest_crab.instances.dates import day

    return day(text)


def _step(text: str) -> str:
    if text not in FRESH_STEPS:
        raise ValueError
    return text


@dataclass(frozen=True)
class Option:
    """One option: ``--crab-NAME``, ``CRAB_NAME`` and ``crab_NAME`` in an ini file mean the same."""

    name: str
    read: Callable[[str], Any]
    default: Any
    help: str
    meant: str
    metavar: str | None = None
    many: bool = False
    short: str | None = None
    flag: bool = True

    @property
    def dest(self) -> str:
        """The name in ini files and in pytest's own namespace."""
        return f"crab_{self.name.replace('-', '_')}"

    @property
    def variable(self) -> str:
        """The environment variable."""
        return self.dest.upper()


# Help texts are half sentences in lower case that say what the value does, not what it is.
OPTIONS = (
    Option(
        "reviewer",
        str,
        (),
        "measure this reviewer; repeatable (built in: human, none, ruff, command, replay; others in crab.yaml)",
        "a name",
        "NAME",
        many=True,
        short="--reviewer",
    ),
    Option("agent", str, None, "let this coding agent act on the findings", "a name", "NAME", short="--agent"),
    Option(
        "runtime",
        str,
        "auto",
        "run code in docker, in local sandboxes, or in what is there (auto)",
        "auto, docker or local",
        "auto|docker|local",
    ),
    Option("jobs", _count, min(4, os.cpu_count() or 1), "run so many trials at a time", "a whole number from 1", "N"),
    Option("repeat", _count, 1, "run every trial so many times", "a whole number from 1", "N"),
    Option(
        "since",
        _since,
        None,
        "run only instances that were merged since this day, as models may know the older ones",
        "a day such as 2024-05-01",
        "DAY",
    ),
    Option("shard", _shard, None, "run only this part of the instances, as in 2/4", "i/n, as in 2/4", "I/N"),
    Option("control", _switch, False, "also run the agent with no findings, and show the net lift", "true or false"),
    Option(
        "placebo",
        str,
        None,
        "also hand the agent findings of other pull requests, taken from this earlier report",
        "a report's folder or its trials.jsonl",
        "FILE",
    ),
    Option(
        "first",
        _count,
        (),
        "also run the agent with only the first so many findings of every review; repeatable",
        "a whole number from 1",
        "N",
        many=True,
    ),
    Option(
        "attribute",
        _switch,
        False,
        "run the agent again with one finding at a time where an oracle was caught, and say which finding did it",
        "true or false",
    ),
    Option("store", str, ".crab", "keep finished steps in this folder", "a folder", "DIR"),
    Option(
        "fresh",
        _step,
        (),
        "forget what the store knows of this step first; repeatable",
        "review or revision",
        "STEP",
        many=True,
    ),
    Option(
        "replay",
        _switch,
        False,
        "let recorded answers of models stand for live ones; a request without a recording is an error",
        "true or false",
    ),
    Option(
        "budget",
        _dollars,
        None,
        "ask no model any more once the run has cost so many US dollars",
        "a number of dollars above 0",
        "USD",
    ),
    Option("plan", _switch, False, "say what is stored and what would run, and run nothing", "true or false"),
    Option(
        "report",
        str,
        None,
        "write trials.jsonl and summary.json into this folder (default: report in the store)",
        "a folder",
        "DIR",
    ),
    Option("junit", str, None, "write a JUnit file with one case per oracle", "a file", "FILE"),
    Option(
        "fail-under",
        _rate,
        None,
        "let the rate of caught oracles decide the exit status",
        "a number from 0 to 1",
        "RATE",
    ),
    Option(
        "baseline",
        str,
        None,
        "compare with this earlier run and let the difference decide the exit status",
        "a summary.json, or the folder of a report or a store",
        "FILE",
    ),
    Option(
        "margin",
        _points,
        5.0,
        "allow the rate to be this much below the baseline's",
        "a number of points from 0 to 100",
        "POINTS",
    ),
    Option(
        "allow-difference",
        _condition,
        None,
        "compare with the baseline though this one thing differs",
        "dataset, agent, agent-version, harness, runtime or leaky",
        "WHAT",
    ),
    Option(
        "max-broken",
        _rate,
        0.05,
        "exit 9 if a larger share of oracles is broken, under a gate",
        "a number from 0 to 1",
        "SHARE",
    ),
    Option(
        "errors-as-misses", _switch, False, "count unknown oracles as missed, as the c-CRAB paper does", "true or false"
    ),
    Option(
        "allow-unconfined", _switch, False, "run code without a sandbox where bubblewrap does not work", "true or false"
    ),
    Option(
        "trust",
        _switch,
        False,
        "run the Dockerfiles and installs of instance sets from outside this folder",
        "true or false",
    ),
    Option("base-image", str, "python:{python}-slim", "build environments on this image", "an image name", flag=False),
    Option(
        "proof-runs",
        _count,
        2,
        "prove every oracle with so many runs of each state",
        "a whole number from 1",
        flag=False,
    ),
)


def register(parser: pytest.Parser) -> None:
    """Register the whole table under its long names."""
    group = parser.getgroup("crab", "measure AI code reviewers (pytest-crab)")
    for option in OPTIONS:
        kind: Literal["linelist", "string"] = "linelist" if option.many else "string"
        parser.addini(option.dest, option.help, type=kind, default=None)
        if option.flag:
            group.addoption(f"--crab-{option.name}", **_settings(option))


def register_short(parser: pytest.Parser) -> None:
    """Register the short names that no other plugin owns; to be called when all others have spoken."""
    group = parser.getgroup("crab")
    for option in OPTIONS:
        if option.short is not None and not _is_taken(parser, option.short):
            group.addoption(option.short, **{**_settings(option), "help": f"the same as --crab-{option.name}"})


def _settings(option: Option) -> dict[str, Any]:
    settings = {"dest": option.dest, "default": None, "help": option.help}
    if option.read is _switch:
        return {**settings, "action": "store_const", "const": "true"}
    return {**settings, "action": "append" if option.many else "store", "metavar": option.metavar}


def _is_taken(parser: pytest.Parser, flag: str) -> bool:
    try:
        _, unknown = parser.parse_known_and_unknown_args([f"{flag}=x"])
    except pytest.UsageError:
        return True
    return f"{flag}=x" not in unknown


@dataclass(frozen=True)
class Options:
    """What was asked for, read once at the edge."""

    reviewers: tuple[str, ...]
    agent: str | None
    runtime: str
    jobs: int
    repeat: int
    since: date | None
    shard: tuple[int, int] | None
    control: bool
    placebo: Path | None
    first: tuple[int, ...]
    attribute: bool
    store: Path
    fresh: tuple[str, ...]
    replay: bool
    budget: float | None
    plan: bool
    report: Path
    junit: Path | None
    fail_under: float | None
    baseline: Path | None
    margin: float
    allow_difference: str | None
    max_broken: float
    errors_as_misses: bool
    allow_unconfined: bool
    trust: bool
    base_image: str
    proof_runs: int

    @property
    def gated(self) -> bool:
        """Whether a gate decides the exit status."""
        return self.fail_under is not None or self.baseline is not None

    @classmethod
    def read(cls, config: pytest.Config) -> Options:
        """Read every option. Raises pytest.UsageError that names all bad values."""
        problems: list[str] = []
        values = {option.name.replace("-", "_"): _value(option, config, os.environ, problems) for option in OPTIONS}
        if problems:
            raise pytest.UsageError("\n".join(problems))
        reviewers = tuple(dict.fromkeys(values.pop("reviewer")))
        here = config.rootpath
        store = here / values.pop("store")
        invocation = config.invocation_params.dir
        report, junit = values.pop("report"), values.pop("junit")
        baseline, placebo = values.pop("baseline"), values.pop("placebo")
        return cls(
            reviewers=reviewers,
            store=store,
            report=invocation / report if report else store / "report",
            junit=invocation / junit if junit else None,
            baseline=invocation / baseline if baseline else None,
            placebo=invocation / placebo if placebo else None,
            **values,
        )


def named_reviewers(config: pytest.Config) -> bool:
    """Whether any reviewer is named, without reading the other options."""
    (option,) = (option for option in OPTIONS if option.name == "reviewer")
    return bool(_raw(option, config, os.environ)[0])


def _raw(option: Option, config: pytest.Config, environ: Mapping[str, str]) -> tuple[Any, str]:
    """Return the text, or the list of texts, of an option and the place that it was found in."""
    if option.flag:
        value = config.getoption(option.dest, None)
        if value:
            return value, f"--crab-{option.name}"
    if environ.get(option.variable):
        text = environ[option.variable]
        return (text.split(",") if option.many else text), option.variable
    value = config.getini(option.dest)
    if value:
        return value, option.dest
    return None, "the default"


def _value(option: Option, config: pytest.Config, environ: Mapping[str, str], problems: list[str]) -> Any:
    raw, place = _raw(option, config, environ)
    if raw is None:
        return option.default
    texts = raw if option.many else [raw]
    try:
        values = tuple(option.read(text.strip()) for text in texts)
    except (ValueError, KeyError):
        problems.append(f"{place} is {', '.join(map(repr, texts))}; it should be {option.meant}")
        return option.default
    return values if option.many else values[0]
