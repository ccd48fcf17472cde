"""The options that a named experiment of crab.yaml stands for, and the set that it runs on. Imports nothing heavy."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pytest_crab.formats import format_near
from pytest_crab.option_table import OPTIONS

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_crab.option_table import Option
    from pytest_crab.settings import Experiment, Settings

#: The keys of an experiment that are named in the plural, and the options that they are.
PLURALS = {"reviewers": "reviewer", "agents": "agent", "repeats": "repeat"}

#: The other keys of an experiment: options of the command line that are no gate's.
_OTHERS = [
    one.name for one in OPTIONS if one.flag and not one.gate and one.name not in ("experiment", *PLURALS.values())
]

_GATE = [one.name for one in OPTIONS if one.gate]


class FileValue(NamedTuple):
    """A value of an option in crab.yaml."""

    #: A text or a list of texts.
    value: str | list[str]
    #: The place of the value, for errors.
    place: str


def find_experiment(name: str, place: str, settings: Settings) -> Experiment:
    """Return the experiment of this name; ``place`` is where it is named. Raises pytest.UsageError with a hint."""
    found = settings.experiments.get(name)
    if found is not None:
        return found
    file = settings.folder / "crab.yaml"
    if not settings.experiments:
        lack = f"{file} has no experiments" if file.exists() else settings.whereabouts
        raise pytest.UsageError(f"{place} is {name!r}, and {lack}: name reviewers with --reviewer, or add it")
    hint = format_near(name, settings.experiments)
    known = ", ".join(sorted(settings.experiments))
    raise pytest.UsageError(f"{place} is {name!r}, which is no experiment of {file}{hint}; these are: {known}")


def experiment_values(experiment: Experiment, others: Sequence[Option], problems: list[str]) -> dict[str, FileValue]:
    """Return the values by the names of their options; unknown keys are added to ``problems``.

    ``others`` are options of other plugins, which an experiment names in the plural.
    """
    plurals = {**PLURALS, **{f"{option.name}s": option.name for option in others}}
    at = f"crab.yaml: experiments.{experiment.name}"
    values = {}
    for key, value in experiment.options.items():
        if key in plurals or key in _OTHERS:
            values[plurals.get(key, key)] = FileValue(value, f"{at}.{key}")
            continue
        near = difflib.get_close_matches(key, [*plurals, "set", "gate", *_OTHERS, *_GATE], n=1)
        hint = "it belongs below gate" if key in _GATE else f"did you mean {near[0]}?" if near else ""
        known = f"the keys here are {', '.join([*plurals, 'set', 'gate'])} and options without --crab-"
        problems.append(f"{at}.{key} is not a known key{f' ({hint})' if hint else ''}; {known}")
    return {**values, **gate_values(experiment.gate, f"{at}.gate", problems)}


def gate_values(gate: Mapping[str, str | list[str]], at: str, problems: list[str]) -> dict[str, FileValue]:
    """Return the values of a gate's mapping by the names of their options; unknown keys are added to ``problems``."""
    problems.extend(
        f"{at}.{name} is not a known key; the keys here are {', '.join(_GATE)}" for name in gate if name not in _GATE
    )
    return {name: FileValue(value, f"{at}.{name}") for name, value in gate.items() if name in _GATE}


def collect_set(experiment: Experiment, folder: Path, config: pytest.Config) -> None:
    """Let pytest collect the experiment's set where the command line names no path; ``folder`` is crab.yaml's.

    Raises pytest.UsageError.
    """
    if not experiment.set or config.args_source is pytest.Config.ArgsSource.ARGS:
        return
    paths = [folder / path for path in experiment.set]
    for path in paths:
        if not path.exists():
            place = f"crab.yaml: experiments.{experiment.name}.set"
            raise pytest.UsageError(f"{place} names {path}, and there is no such file or folder")
    config.args[:] = [str(path) for path in paths]
    config.args_source = pytest.Config.ArgsSource.INVOCATION_DIR  # pytest prints its own setting for the other
