"""The init command: a crab.yaml, a CI workflow, and the first command to run."""

from __future__ import annotations

import math
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import yaml

from pytest_crab.adapters import Family
from pytest_crab.agents import AGENTS
from pytest_crab.clients.installed import is_there
from pytest_crab.clients.known import KINDS
from pytest_crab.errors import BadInput
from pytest_crab.formats import format_count
from pytest_crab.gate.planning import Measure, decided_margin, sizes_of
from pytest_crab.instances import load_instances
from pytest_crab.instances.loading import find_instances
from pytest_crab.reviewers import REVIEWERS
from pytest_crab.settings import FILE, PROVIDERS
from pytest_crab.statistics.power import LEAST_CLUSTERS
from pytest_crab.text import one_line

#: The name of the reviewer that is measured, in crab.yaml.
NAME = "mine"

#: For each forge the file of its workflow, the one here that it is a copy of, and the runtime of its machines.
FORGES = {
    "github": (".github/workflows/review-agent.yml", "github-actions.yml", "docker"),
    "gitlab": (".gitlab-ci.yml", "gitlab-ci.yml", "local"),
}

_BUDGET = 20

#: The margin of a set that decides a smaller one, and the largest that is worth a gate.
_MARGIN, _WIDEST = 5, 20

#: Where a workflow names the clients that it installs, the terms by which the nightly run is compared, and the keys.
_CLIENTS = re.compile(r"(clients: ).*", re.IGNORECASE)
_TERMS = re.compile(r"(compare baseline\.json nightly) --margin [^;\n]*[^;\s]")
_ENV = "    env:\n      ANTHROPIC_API_KEY: ${{ secrets.ANTHROPIC_API_KEY }}\n"
_STEPS = "    steps:\n"

#: The setting that is a list of words; those that are files here are what the program consists of.
_COMMAND = "command"


@click.command()
@click.option("--reviewer", metavar="NAME", help="The reviewer to measure: a built-in one, or module:Class.")
@click.option("--set", "folder", metavar="DIR", help="Where the instances lie or will lie.")
@click.option("--ci", type=click.Choice([*FORGES, "none"]), help="Whose workflow is written.")
@click.option("--agent", default="claude-code", show_default=True, help="The agent that acts on the findings.")
@click.option(
    "--setting", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the reviewer; repeatable."
)
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
def init(
    reviewer: str | None,
    folder: str | None,
    ci: str | None,
    agent: str,
    settings: Sequence[str],
    *,
    overwrite: bool,
) -> None:
    """Write crab.yaml and a CI workflow into the current folder, and say what to run first.

    Three things are asked for: the reviewer, the set and the CI. On the command line they are --reviewer, --set, --ci.
    """
    built_in = ", ".join(sorted(REVIEWERS.members))
    reviewer = _ask("--reviewer", reviewer, f"Which reviewer is measured ({built_in}, or module:Class)?", "claude-code")
    own = _settings_of(reviewer, settings)
    lacks = _check(AGENTS, agent, {}, "--agent")
    if lacks is not None:
        raise click.UsageError(f"--agent: {agent} needs {lacks}; name another, and change it in crab.yaml afterwards")
    folder = _ask("--set", folder, "In which folder do the instances lie?", "instances/mine")
    if Path(folder).is_absolute() or ".." in Path(folder).parts:
        raise click.UsageError(f"--set is {folder!r}; it should be a path below this folder, where crab.yaml will lie")
    ci = _ask("--ci", ci, "Whose CI runs it?", "github", click.Choice([*FORGES, "none"]))
    file, source, runtime = FORGES.get(ci, ("", "", "docker" if shutil.which("docker") else "local"))
    terms, said = _gate_terms(Path(folder))
    keys = _Keys.of((REVIEWERS, reviewer, own), (AGENTS, agent, {}))
    run = _Run(agent, folder, runtime)
    texts = {FILE: _crab_yaml({"use": reviewer, **own}, run, terms, asks=bool(keys.of_models))}
    if file:
        text = Path(__file__).with_name("workflows").joinpath(source).read_text("utf-8")
        texts[file] = _workflow(text, [reviewer, agent], terms, keys)
    _write(texts, overwrite=overwrite)
    for client in dict.fromkeys(filter(_is_absent, (reviewer, agent))):
        click.echo(f"{client} is not installed here: pytest-crab doctor --install-client {client}")
    if file:
        click.echo(f"put the address of pytest-crab's repository into {file}")
    if any(keys):
        click.echo(f"give CI as secrets: {', '.join([*keys.of_models, *keys.own])}")
    click.echo(said)
    if next(find_instances(Path(folder)), None) is None:
        click.echo(
            f"no instance lies in {folder} yet: pytest-crab quickstart {folder} copies some to try, "
            f"pytest-crab set new OWNER/NAME#7 --into {folder} writes one"
        )
    ran = f"start {file} by hand once" if file else "run nightly once where the gate will run"
    click.echo(f"commit what was written; then {ran}, and commit its summary.json as baseline.json")
    click.echo("first: pytest --experiment nightly --crab-plan")


def _ask(option: str, value: str | None, question: str, default: str, choice: click.Choice[str] | None = None) -> str:
    """Return the value of the option, else the answer to a question. Raises UsageError without a terminal."""
    if value is not None:
        return value
    if not sys.stdin.isatty():
        raise click.UsageError(f"there is no terminal to ask at: add {option}, as in {option}={default}")
    return str(click.prompt(question, default=default, type=choice))


def _settings_of(reviewer: str, pairs: Sequence[str]) -> dict[str, Any]:
    """Return the reviewer's settings, asking for those that it needs. Raises UsageError."""
    if Path(reviewer).is_file():
        advice = f"--reviewer command --setting 'command=python3 {reviewer}'"
        raise click.UsageError(f"--reviewer is the file {reviewer}; a program of yours is {advice}")
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--setting is {pair!r}; it should be KEY=VALUE, as in model=claude-sonnet-4-6")
        settings[key.strip()] = _setting(key.strip(), value)
    while (missing := _check(REVIEWERS, reviewer, settings, "--reviewer")) is not None:
        if not sys.stdin.isatty():
            example = "'command=./bot'" if missing == _COMMAND else f"{missing}=VALUE"
            raise click.UsageError(f"{reviewer} needs {missing}: add --setting {example}")
        settings[missing] = _setting(missing, str(click.prompt(f"{reviewer} needs {missing}")))
    own = [word for word in settings.get(_COMMAND, ()) if Path(word).is_file() and not Path(word).is_absolute()]
    return {**settings, **({"files": own} if own and "files" not in settings else {})}


def _setting(key: str, text: str) -> Any:
    """Return a setting as crab.yaml has it; a command may be written as to a shell. Raises UsageError."""
    try:
        if text.startswith(("[", "{")):
            return yaml.safe_load(text)
        return shlex.split(text) if key == _COMMAND else text.strip()
    except (yaml.YAMLError, ValueError) as error:
        why = one_line(str(error))
        raise click.UsageError(f"--setting {key} is {text!r} and cannot be read ({why}); close what is open") from error


def _check(family: Family, name: str, settings: Mapping[str, Any], option: str) -> str | None:
    """Return the first setting that is missing, None if none is. Raises UsageError for other faults."""
    try:
        spec = family.spec(name, settings, Path.cwd(), option)
        if not _is_absent(name):
            family.build(spec, option)
    except BadInput as error:
        missing = [each.partition(" is missing")[0] for each in error.problems if " is missing" in each]
        if len(missing) == len(error.problems):
            return missing[0]
        raise click.UsageError(str(error)) from error
    return None


def _is_absent(name: str) -> bool:
    """Return whether this is a client that is not installed here; CI installs it, and this machine may do so later."""
    return name in KINDS and not is_there(name)


def _gate_terms(folder: Path) -> tuple[dict[str, Any], str]:
    """Return the terms of a gate that a reviewer of this set can pass, and the sentence on them."""
    instances = load_instances(folder) if next(find_instances(folder), None) is not None else ()
    sizes = sizes_of(instances)
    only_worse = {"margin": _MARGIN, "fail-on": "worse"}
    if not sizes:
        more = f"pytest-crab plan --set {folder} says which margin the set decides, once it is there"
        return only_worse, f"the gate fails on a shown drop alone (fail-on: worse); {more}"
    margin = decided_margin(Measure(sizes=sizes))
    have = f"{format_count(len(sizes), 'pull request')} with {format_count(sum(sizes), 'oracle')}"
    if margin is None or margin > _WIDEST:
        few = "" if len(sizes) >= LEAST_CLUSTERS else f", which takes {LEAST_CLUSTERS} pull requests"
        decides = "no margin" if margin is None else f"a margin of {margin:g} points"
        return only_worse, f"{have} decide {decides}: the gate fails on a shown drop alone (fail-on: worse){few}"
    own = max(_MARGIN, math.ceil(margin))
    return {"margin": own}, f"{have} decide a margin of {margin:g} points: the gate's is {own}"


class _Keys(NamedTuple):
    """The variables with keys that are needed."""

    #: The gateway's.
    of_models: tuple[str, ...]
    #: Those that a reviewer or an agent is given itself.
    own: tuple[str, ...]

    @classmethod
    def of(cls, *adapters: tuple[Family, str, Mapping[str, Any]]) -> _Keys:
        """Return those of adapters by their settings."""
        of_models, own = [], []
        for family, name, settings in adapters:
            spec = family.spec(name, settings, Path.cwd())
            of_models.append(PROVIDERS.get(str(family.setting(spec, "provider")), {}).get("key_env"))
            own += [family.setting(spec, "key_env"), *(family.setting(spec, "pass_env") or ())]
        return cls(*(tuple(dict.fromkeys(filter(None, names))) for names in (of_models, own)))


def _workflow(text: str, names: Sequence[str], terms: Mapping[str, Any], keys: _Keys) -> str:
    """Return a workflow with the clients of these, the gate's terms, and the keys that are needed in each job."""
    clients = " ".join(dict.fromkeys(name for name in names if name in KINDS))
    options = " ".join(f"--{name} {value}" for name, value in terms.items())
    text = _CLIENTS.sub(lambda found: found[1] + (clients or '""'), text)
    text = _TERMS.sub(lambda found: f"{found[1]} {options}", text)
    text = text.replace(_ENV, _env([*keys.of_models, *keys.own]))
    return text.replace(_STEPS, _env(keys.own) + _STEPS, 1)


def _env(names: Sequence[str]) -> str:
    lines = [f"      {name}: ${{{{ secrets.{name} }}}}\n" for name in names]
    return "".join(["    env:\n", *lines] if lines else [])


def _crab_yaml(reviewer: Mapping[str, Any], run: _Run, terms: Mapping[str, Any], *, asks: bool) -> str:
    """Return the text of crab.yaml: the reviewer, and the experiments that the workflows run.

    ``asks`` is whether a model is asked: its answers are recorded then, and replayed by the gate.
    """
    gate = {"baseline": "baseline.json", **terms}
    nightly, replayed = ({"budget": _BUDGET}, {"replay": True}) if asks else ({}, {})
    experiments = {"nightly": run.keys(**nightly), "gate": run.keys(**replayed, gate=gate)}
    key, none = (", with a key", ", without one,") if asks else ("", "")
    parts: dict[str, dict[str, Any]] = {
        "What is measured, under the name that reports show.": {"reviewers": {NAME: dict(reviewer)}},
        f"nightly runs everything{key}. gate runs on each change{none} and compares with the last good\n"
        "# run: commit the summary.json of CI's first nightly run as baseline.json.": {"experiments": experiments},
    }
    if asks:
        parts["Recorded answers of models: commit them, and the gate asks no model."] = {
            "models": {"cassettes": "recordings"}
        }
    return "\n".join(f"# {comment}\n{yaml.safe_dump(data, sort_keys=False)}" for comment, data in parts.items())


class _Run(NamedTuple):
    """The keys that both experiments have."""

    agent: str
    folder: str
    runtime: str

    def keys(self, **more: Any) -> dict[str, Any]:
        """Return them with others behind; lists are made anew, since crab.yaml takes no anchors."""
        return {"reviewers": [NAME], "agents": [self.agent], "set": self.folder, "runtime": self.runtime, **more}


def _write(texts: Mapping[str, str], *, overwrite: bool) -> None:
    """Write the files, none where one is there and may not be replaced. Raises ClickException."""
    there = [name for name in texts if Path(name).exists()]
    if there and not overwrite and not (sys.stdin.isatty() and click.confirm(f"Replace {' and '.join(there)}?")):
        raise click.ClickException(f"{', '.join(there)}: already there, nothing was written; --overwrite replaces it")
    for name, text in texts.items():
        try:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text, "utf-8")
        except OSError as error:
            raise click.ClickException(f"{name} cannot be written: {error.strerror}") from error
        click.echo(f"wrote {name}")
