"""The values of options: from the command line, the environment, an ini file, crab.yaml, or the default."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_crab.option_table import FIELDS, OPTIONS, Option, Options
from pytest_crab.option_types import BASELINE, SWITCH

if TYPE_CHECKING:
    from pytest_crab.plugin.experiments import FileValue
    from pytest_crab.settings import Experiment, Settings


def register(parser: pytest.Parser) -> None:
    """Register all options under their long names."""
    register_long(parser, OPTIONS)


def register_long(parser: pytest.Parser, options: Sequence[Option]) -> None:
    """Register options under their long names, in ini files too."""
    group = parser.getgroup("crab", "measure AI code reviewers (pytest-crab)")
    for option in options:
        kind: Literal["linelist", "string"] = "linelist" if option.many else "string"
        parser.addini(option.dest, option.help, type=kind, default=None)
        if option.flag:
            group.addoption(f"--crab-{option.name}", **_settings(option))


def register_short(parser: pytest.Parser, more: Sequence[Option]) -> None:
    """Register the short names that no other plugin owns, once all others are registered; ``more`` have some too."""
    group = parser.getgroup("crab")
    short = {option.short: option for option in (*OPTIONS, *more) if option.short is not None}
    for flag in _free(parser, list(short)):
        option = short[flag]
        group.addoption(flag, **{**_settings(option), "help": f"the same as --crab-{option.name}"})


def _settings(option: Option) -> dict[str, Any]:
    help_text = option.help.replace("%", "%%")  # argparse fills a help in by the operator %
    settings = {"dest": option.dest, "default": None, "help": help_text}
    if option.type is SWITCH:
        return {**settings, "action": "store_const", "const": "true"}
    return {**settings, "action": "append" if option.many else "store", "metavar": option.type.metavar}


def _free(parser: pytest.Parser, flags: Sequence[str]) -> list[str]:
    """Return the flags that no plugin has registered; one that is registered may refuse its value."""
    try:
        _, unknown = parser.parse_known_and_unknown_args([f"{flag}=x" for flag in flags])
    except pytest.UsageError:
        return [free for flag in flags for free in _free(parser, [flag])] if len(flags) > 1 else []
    return [flag for flag in flags if f"{flag}=x" in unknown]


def options_of_others(config: pytest.Config) -> tuple[Option, ...]:
    """Return the options of other plugins, which have registered them under their long names."""
    return tuple(option for several in config.hook.pytest_crab_options() for option in several or ())


def read_named(option: Option, config: pytest.Config, settings: Settings) -> tuple[str, ...]:
    """Return the values of another plugin's repeatable option, each once. Raises pytest.UsageError."""
    from pytest_crab.plugin.experiments import experiment_values

    problems: list[str] = []
    experiment = named_experiment(config, settings)
    chosen = {} if experiment is None else experiment_values(experiment, options_of_others(config), problems)
    names = tuple(dict.fromkeys(_value(option, chosen.get(option.name), None, config, problems)))
    if problems:
        raise pytest.UsageError("\n".join(problems))
    return names


def read_options(config: pytest.Config, settings: Settings) -> Options:
    """Read every option, also from crab.yaml: its experiment, if one is named, and its gate.

    Raises pytest.UsageError that names all bad values.
    """
    from pytest_crab.plugin.experiments import experiment_values, gate_values

    problems: list[str] = []
    experiment = named_experiment(config, settings)
    chosen = {} if experiment is None else experiment_values(experiment, options_of_others(config), problems)
    agreed = gate_values(settings.gate, "crab.yaml: gate", problems)
    values = {
        field: _value(option, chosen.get(option.name), agreed.get(option.name), config, problems)
        for field, option in FIELDS.items()
    }
    if experiment is not None and not (values["reviewers"] or problems or _names_others(config, chosen)):
        problems.append(f"crab.yaml: experiments.{experiment.name} names no reviewer; add reviewers: [NAME]")
    if problems:
        raise pytest.UsageError("\n".join(problems))
    invocation = config.invocation_params.dir
    place = _raw(FIELDS["store"], config, os.environ, chosen.get("store"))[1]
    is_of_shell = place == FIELDS["store"].variable or "--crab-store" in _typed(config)
    store = (invocation if is_of_shell else config.rootpath) / values["store"]
    for name in ("report", "junit", "anchor", "placebo"):
        values[name] = invocation / values[name] if values[name] else None
    values["baselines"] = tuple(invocation / path for path in values["baselines"])
    for name in ("reviewers", "agents"):
        values[name] = tuple(dict.fromkeys(values[name]))
    options = Options(**{**values, "store": store, "report": values["report"] or store / "report"})
    if not options.gated:
        _refuse_terms(config)
    return options


def _typed(config: pytest.Config) -> set[str]:
    """Return the names of options that were typed: those of addopts are a file's, or a variable's."""
    return {str(one).partition("=")[0] for one in config.invocation_params.args}


def _refuse_terms(config: pytest.Config) -> None:
    """Raise pytest.UsageError for a gate's term on the command line of a run without a gate; files may keep theirs."""
    typed = _typed(config)
    for option in OPTIONS:
        if option.gate and "compare" in option.commands and f"--crab-{option.name}" in typed:
            raise pytest.UsageError(
                f"--crab-{option.name} is a term of a gate, and this run has none: add --crab-baseline or "
                "--crab-fail-under"
            )


def named_experiment(config: pytest.Config, settings: Settings) -> Experiment | None:
    """Return the experiment that is to be run; None: none is named. Raises pytest.UsageError for an unknown one."""
    name, place = _raw(FIELDS["experiment"], config, os.environ)
    if name is None:
        return None
    from pytest_crab.plugin.experiments import find_experiment

    return find_experiment(name, place, settings)


def runs_trials(options: Options, config: pytest.Config) -> bool:
    """Return whether this run is to measure anything."""
    return not options.plan and runs_items(config)


def runs_items(config: pytest.Config) -> bool:
    """Return whether pytest is to run what it collects."""
    option = config.option
    return not (option.collectonly or option.setuponly or option.setupplan)


def _contestants(config: pytest.Config) -> tuple[Option, ...]:
    """Return the options that name contestants; without any of them the plugin does nothing."""
    return tuple(option for option in (*OPTIONS, *options_of_others(config)) if option.contestants)


def _names_others(config: pytest.Config, chosen: Mapping[str, FileValue]) -> bool:
    others = [option for option in options_of_others(config) if option.contestants]
    return any(_raw(option, config, os.environ, chosen.get(option.name))[0] for option in others)


def named_reviewers(config: pytest.Config) -> bool:
    """Return whether any contestant or experiment is named, without reading the other options."""
    return any(_raw(option, config, os.environ)[0] for option in _contestants(config))


def names_reviewers(config: pytest.Config, arguments: Sequence[str]) -> bool:
    """Return whether a contestant or an experiment is named in arguments that are not parsed yet."""
    flags = [flag for option in _contestants(config) for flag in (f"--crab-{option.name}", option.short)]
    return named_reviewers(config) or any(argument.split("=", 1)[0] in flags for argument in arguments)


def _raw(
    option: Option, config: pytest.Config, environ: Mapping[str, str], chosen: FileValue | None = None
) -> tuple[Any, str]:
    """Return the text, or the list of texts, of an option and the place that it was found in.

    ``chosen`` is the value of the experiment, which comes before that of an ini file.
    """
    if option.flag:
        value = config.getoption(option.dest, None)
        if value:
            return value, f"--crab-{option.name}"
    if environ.get(option.variable):
        text = environ[option.variable]
        return (text.split(",") if option.many else text), option.variable
    if chosen is not None:
        return _from_file(option, chosen.value, config), chosen.place
    value = config.getini(option.dest)
    if value:
        return _from_file(option, value, config), option.dest
    return None, "the default"


def _value(
    option: Option, chosen: FileValue | None, agreed: FileValue | None, config: pytest.Config, problems: list[str]
) -> Any:
    raw, place = _raw(option, config, os.environ, chosen)
    if raw is None and agreed is not None and agreed.value != []:
        raw, place = _from_file(option, agreed.value, config), agreed.place
    if raw is None:
        return option.default
    texts = raw if isinstance(raw, list) else [raw]
    single = option.many or len(texts) == 1
    try:
        values = tuple(option.type.read(text.strip()) for text in texts) if single else ()
    except (ValueError, KeyError):
        values = ()
    if not values:
        problems.append(f"{place} is {', '.join(map(repr, texts))}; it should be {option.type.meaning}")
        return option.default
    return values if option.many else values[0]


def _from_file(option: Option, setting: str | list[str], config: pytest.Config) -> str | list[str]:
    """Return what crab.yaml or an ini file has for an option; relative paths of stores start at the rootdir."""
    if option.type is not BASELINE and option is not FIELDS["store"]:
        return setting
    paths = [str(config.rootpath / text) for text in (setting if isinstance(setting, list) else [setting])]
    return paths if option.many else paths[0]
