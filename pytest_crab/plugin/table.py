"""Every option of the plugin, once: its name, how its text is read, its default and what is said of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_crab.plugin import values


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
        "measure this reviewer; repeatable (built in: claude-code, codex, command, devin, human, hunks, none, "
        "pr-agent, reflexion, replay, ruff, single-shot; others in crab.yaml)",
        "a name",
        "NAME",
        many=True,
        short="--reviewer",
    ),
    Option(
        "agent",
        str,
        None,
        "let this coding agent act on the findings (built in: anthropic, claude-code, codex, command, mini, reference, "
        "replay, suggestions; others in crab.yaml)",
        "a name",
        "NAME",
        short="--agent",
    ),
    Option(
        "runtime",
        str,
        "auto",
        "run code in docker, in local sandboxes, or in what is there (auto)",
        "auto, docker or local",
        "auto|docker|local",
    ),
    Option(
        "jobs", values.count, min(4, os.cpu_count() or 1), "run so many trials at a time", "a whole number from 1", "N"
    ),
    Option(
        "cluster",
        values.address,
        None,
        "run the trials on the Dask cluster whose scheduler has this address",
        "an address such as tcp://10.0.0.5:8786",
        "ADDRESS",
    ),
    Option("repeat", values.count, 1, "run every trial so many times", "a whole number from 1", "N"),
    Option(
        "since",
        values.since,
        None,
        "run only instances that were merged since this day, as models may know the older ones",
        "a day such as 2024-05-01",
        "DAY",
    ),
    Option("shard", values.shard, None, "run only this part of the instances, as in 2/4", "i/n, as in 2/4", "I/N"),
    Option(
        "control", values.switch, False, "also run the agent with no findings, and show the net lift", "true or false"
    ),
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
        values.count,
        (),
        "also run the agent with only the first so many findings of every review; repeatable",
        "a whole number from 1",
        "N",
        many=True,
    ),
    Option(
        "attribute",
        values.switch,
        False,
        "run the agent again with one finding at a time where an oracle was caught, and say which finding did it",
        "true or false",
    ),
    Option("store", str, ".crab", "keep finished steps in this folder", "a folder", "DIR"),
    Option(
        "fresh",
        values.step,
        (),
        "forget what the store knows of this step first; repeatable",
        "review or revision",
        "STEP",
        many=True,
    ),
    Option(
        "replay",
        values.switch,
        False,
        "let recorded answers of models stand for live ones; a request without a recording is an error",
        "true or false",
    ),
    Option(
        "budget",
        values.dollars,
        None,
        "ask no model any more once the run has cost so many US dollars",
        "a number of dollars above 0",
        "USD",
    ),
    Option(
        "give-up",
        values.count_or_none,
        5,
        "run no more trials of a reviewer whose first N failed alike, as with a wrong key; 0: go on",
        "a whole number from 0",
        "N",
    ),
    Option("plan", values.switch, False, "say what is stored and what would run, and run nothing", "true or false"),
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
        values.rate,
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
        values.margin,
        (),
        "allow the rate, or that of a label (security=10), to be so far below the baseline's; repeatable (default: 5)",
        "a number of points from 0 to 100, or LABEL=POINTS",
        "[LABEL=]POINTS",
        many=True,
    ),
    Option(
        "gate-looks",
        values.count,
        1,
        "divide the gate's chance of an error among so many runs or repeats after which it is looked at",
        "a whole number from 1",
        "N",
    ),
    Option(
        "gate-unit",
        values.unit,
        "repository",
        "let the gate speak for repositories like these, or with pull-request for these repositories only",
        "repository or pull-request",
        "repository|pull-request",
    ),
    Option(
        "allow-difference",
        values.condition,
        None,
        "compare with the baseline though this one thing differs",
        "dataset, agent, agent-version, harness, runtime or leaky",
        "WHAT",
    ),
    Option(
        "max-broken",
        values.rate,
        0.05,
        "exit 9 if a larger share of oracles is broken, under a gate",
        "a number from 0 to 1",
        "SHARE",
    ),
    Option(
        "max-unknown",
        values.rate,
        0.05,
        "pass no gate if a larger share of oracles is unknown for another reason",
        "a number from 0 to 1",
        "SHARE",
    ),
    Option(
        "errors-as-misses",
        values.switch,
        False,
        "count unknown oracles as missed, as the c-CRAB paper does",
        "true or false",
    ),
    Option(
        "disk-budget",
        values.size,
        None,
        "run repository by repository, and remove images once they and the store's cache take more than this",
        "a size such as 20G or 800M",
        "SIZE",
    ),
    Option(
        "allow-unconfined",
        values.switch,
        False,
        "run code without a sandbox where bubblewrap does not work",
        "true or false",
    ),
    Option(
        "trust",
        values.switch,
        False,
        "run the Dockerfiles and installs of instance sets from outside this folder",
        "true or false",
    ),
    Option("base-image", str, "python:{python}-slim", "build environments on this image", "an image name", flag=False),
    Option(
        "proof-runs",
        values.count,
        2,
        "prove every oracle with so many runs of each state",
        "a whole number from 1",
        flag=False,
    ),
)
