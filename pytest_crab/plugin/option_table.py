"""Every option of the plugin, once: its name, its type, its default and its help."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from pytest_crab.plugin import option_types as kinds
from pytest_crab.plugin.option_types import OptionType


@dataclass(frozen=True)
class Option:
    """One option: ``--crab-NAME``, ``CRAB_NAME`` and ``crab_NAME`` in an ini file mean the same.

    ``flag`` False: it is none of the command line's.
    """

    name: str
    type: OptionType
    default: Any
    help: str
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
        kinds.NAME,
        (),
        "measure this reviewer; repeatable (built in: claude-code, codex, command, devin, human, hunks, none, "
        "pr-agent, reflexion, replay, ruff, single-shot; others in crab.yaml)",
        many=True,
        short="--reviewer",
    ),
    Option(
        "agent",
        kinds.NAME,
        None,
        "let this coding agent act on the findings (built in: anthropic, claude-code, codex, command, mini, reference, "
        "replay, suggestions; others in crab.yaml)",
        short="--agent",
    ),
    Option("runtime", kinds.RUNTIME, "auto", "run code in docker, in local sandboxes, or in what is there (auto)"),
    Option("jobs", kinds.COUNT, min(4, os.cpu_count() or 1), "run so many trials at a time"),
    Option("cluster", kinds.ADDRESS, None, "run the trials on the Dask cluster whose scheduler has this address"),
    Option("repeat", kinds.COUNT, 1, "run every trial so many times"),
    Option(
        "since",
        kinds.DAY,
        None,
        "run only instances that were merged since this day, as models may know the older ones",
    ),
    Option("shard", kinds.SHARD, None, "run only this part of the instances, as in 2/4"),
    Option("control", kinds.SWITCH, False, "also run the agent with no findings, and show the net lift"),
    Option(
        "placebo",
        kinds.REPORT,
        None,
        "also hand the agent findings of other pull requests, taken from this earlier report",
    ),
    Option(
        "first",
        kinds.COUNT,
        (),
        "also run the agent with only the first so many findings of every review; repeatable",
        many=True,
    ),
    Option(
        "attribute",
        kinds.SWITCH,
        False,
        "run the agent again with one finding at a time where an oracle was caught, and say which finding did it",
    ),
    Option("store", kinds.FOLDER, ".crab", "keep finished steps in this folder"),
    Option("fresh", kinds.STEP, (), "forget what the store knows of this step first; repeatable", many=True),
    Option(
        "replay",
        kinds.SWITCH,
        False,
        "let recorded answers of models stand for live ones; a request without a recording is an error",
    ),
    Option("budget", kinds.DOLLARS, None, "ask no model any more once the run has cost so many US dollars"),
    Option(
        "give-up",
        kinds.COUNT_OR_NONE,
        5,
        "run no more trials of a reviewer whose first N failed alike, as with a wrong key; 0: go on",
    ),
    Option("plan", kinds.SWITCH, False, "say what is stored and what would run, and run nothing"),
    Option(
        "report",
        kinds.FOLDER,
        None,
        "write trials.jsonl and summary.json into this folder (default: report in the store)",
    ),
    Option("junit", kinds.FILE, None, "write a JUnit file with one case per oracle"),
    Option("fail-under", kinds.RATE, None, "let the rate of caught oracles decide the exit status"),
    Option(
        "baseline", kinds.BASELINE, None, "compare with this earlier run and let the difference decide the exit status"
    ),
    Option(
        "margin",
        kinds.MARGIN,
        (),
        "allow the rate, or that of a label (security=10), to be so far below the baseline's; repeatable (default: 5)",
        many=True,
    ),
    Option(
        "gate-looks",
        kinds.COUNT,
        1,
        "divide the gate's chance of an error among so many runs or repeats after which it is looked at",
    ),
    Option(
        "gate-unit",
        kinds.UNIT,
        "repository",
        "let the gate speak for repositories like these, or with pull-request for these repositories only",
    ),
    Option("allow-difference", kinds.CONDITION, None, "compare with the baseline though this one thing differs"),
    Option("max-broken", kinds.SHARE, 0.05, "exit 9 if a larger share of oracles is broken, under a gate"),
    Option("max-unknown", kinds.SHARE, 0.05, "pass no gate if a larger share of oracles is unknown for another reason"),
    Option("errors-as-misses", kinds.SWITCH, False, "count unknown oracles as missed, as the c-CRAB paper does"),
    Option(
        "disk-budget",
        kinds.SIZE,
        None,
        "run repository by repository, and remove images once they and the store's cache take more than this",
    ),
    Option("allow-unconfined", kinds.SWITCH, False, "run code without a sandbox where bubblewrap does not work"),
    Option("trust", kinds.SWITCH, False, "run the Dockerfiles and installs of instance sets from outside this folder"),
    Option("base-image", kinds.IMAGE, "python:{python}-slim", "build environments on this image", flag=False),
    Option("proof-runs", kinds.COUNT, 2, "prove every oracle with so many runs of each state", flag=False),
)
