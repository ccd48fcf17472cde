"""Options that several commands share."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from pytest_crab import runtimes, serialization
from pytest_crab.errors import BadInput
from pytest_crab.instances.validation import is_repository_address
from pytest_crab.option_table import FIELDS, Options
from pytest_crab.option_types import OptionType
from pytest_crab.results.oracle_table import with_table
from pytest_crab.results.recorded_results import Told
from pytest_crab.results.summary import Summary
from pytest_crab.runtimes import RuntimeSettings
from pytest_crab.scoring.location import RULES
from pytest_crab.scoring.similarity import EMBEDDING, Similarity, load_measures
from pytest_crab.sources.remotes import address_of

F = TypeVar("F", bound=Callable[..., Any])

#: The store of a command that names no other: that of runs in this environment.
STORE = Path(os.environ.get("CRAB_STORE") or ".crab")


def store_option(text: str, *names: str) -> Callable[[F], F]:
    """Return the option ``--store``, by default ``.crab``; ``names`` are those of its parameter."""
    folder = click.Path(file_okay=False, path_type=Path)
    return click.option("--store", *names, type=folder, default=STORE, show_default=True, help=text)


def address_for(folder: Path, named: str | None) -> str:
    """Return the address of a repository on this machine: the one that ``--url`` names, else its origin's.

    Raises UsageError.
    """
    if named is not None and not is_repository_address(named):
        raise click.UsageError(f"--url is {named}; it should be an address such as https://git.example/owner/name")
    url = named or address_of(folder)
    if url is None or not is_repository_address(url):
        has = "has no https origin" if url is None else f"has the origin {url}, which no instance can name"
        raise click.UsageError(f"{folder} {has}; say with --url where the repository can be found")
    return url


def embedding_option(text: str) -> Callable[[F], F]:
    """Return the option ``--embedding``, with this help text."""
    return click.option("--embedding", metavar="MODEL", help=text)


#: The rule by which places match.
location_rule_option: Callable[[F], F] = click.option(
    "--location-rule", "rule", type=click.Choice(list(RULES)), default="paper", show_default=True,
    help="How places match: as arXiv 2601.19494 says, or as one of its releases computes.",
)  # fmt: skip

json_flag: Callable[[F], F] = click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")


def json_option(command: Callable[..., Told | None]) -> Callable[..., None]:
    """Add the option ``--json`` to a command: what it returns is printed as data or as text. None: it has printed."""

    @functools.wraps(command)
    def called(*, as_json: bool, **given: Any) -> None:
        told = command(**given)
        if told is None:
            return
        found, lines = told
        if as_json:
            print_json(found)
            return
        for line in lines:
            click.echo(line)

    return json_flag(called)


def print_json(found: object) -> None:
    """Print a record as data."""
    data = with_table(found) if isinstance(found, Summary) else found
    click.echo(json.dumps(serialization.dump(data), indent=1, allow_nan=False))


def load_embedding(model: str) -> Similarity:
    """Return the similarity of texts by a sentence-transformers model. Raises UsageError if it cannot be had."""
    return load_similarities([f"{EMBEDDING}{model}"])[f"{EMBEDDING}{model}"]


def load_similarities(names: Sequence[str]) -> dict[str, Similarity]:
    """Return these measures of similarity. Raises UsageError if one cannot be had."""
    try:
        return load_measures(names, "similarity")
    except BadInput as error:
        raise click.UsageError(str(error)) from error


def runtime_option(text: str) -> Callable[[F], F]:
    """Return the option ``--runtime``, with this help text."""
    kinds = click.Choice(["auto", *sorted(runtimes.RUNTIMES)])
    return click.option(
        "--runtime", type=kinds, default="auto", envvar="CRAB_RUNTIME", show_envvar=True, show_default=True, help=text
    )


def read_as(kind: OptionType) -> dict[str, Any]:
    """Return what makes click read an option's values as a run reads them."""

    def read(_ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        if value is None:
            return None
        try:
            return tuple(map(kind.read, value)) if param.multiple else kind.read(value)
        except (ValueError, KeyError):
            raise click.BadParameter(f"it is {value!r}; it should be {kind.meaning}") from None

    return {"type": str, "metavar": kind.metavar, "callback": read}


def run_options(command: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the options of a run that this command has too; it is given their values as ``options``."""
    rows = {field: option for field, option in FIELDS.items() if command in option.commands}

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def called(**given: Any) -> None:
            values = {field: given.pop(field, option.default) for field, option in FIELDS.items()}
            function(**given, options=Options(**values))

        for field, option in reversed(rows.items()):
            add = click.option(
                option.flag_of_commands, field, **read_as(option.type), multiple=option.many, default=option.default,
                show_default=True, help=f"{option.help[0].upper()}{option.help[1:]}.",
            )  # fmt: skip
            add(called)
        return called

    return decorate


def choose_runtime(name: str, pythons: Sequence[str] = ()) -> RuntimeSettings:
    """Return the settings with the runtime that ``name`` stands for on this machine; ``auto`` is the one that can.

    ``pythons`` are the CPythons X.Y of which environments may be needed. Raises CrabError if it cannot be had.
    """
    chosen = runtimes.choose(RuntimeSettings(runtime=name))
    able = runtimes.prefer_most_interpreters(chosen, pythons) if name == "auto" else chosen
    if able != chosen:
        click.echo(f"runtime {able.runtime}: {able.why}", err=True)
    return able


#: A report of an earlier run; if it is not given, a run in the store.
record_option: Callable[[F], F] = click.option(
    "--report", type=click.Path(path_type=Path),
    help="A report's folder, or its trials.jsonl; the last run in the store that has the trial if not given.",
)  # fmt: skip
