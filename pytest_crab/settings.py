"""Reads crab.yaml: variants of built-in reviewers, agents and judges, models, the gate, experiments."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_crab import serialization
from pytest_crab.errors import BadInput
from pytest_crab.registry import sections
from pytest_crab.types import StrEnum
from pytest_crab.yaml_reader import read_content, read_document

#: What the file is called.
FILE = "crab.yaml"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_FAMILIES = ("reviewers", "agents", "judges")
_SECTIONS = (*_FAMILIES, "models", "gate", "experiments", "curate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A built-in under a name of its own."""

    name: str
    #: The built-in.
    use: str
    #: Texts, lists and mappings, which the built-in types itself.
    settings: Mapping[str, Any] = field(default_factory=dict)


class Api(StrEnum):
    """The protocol that a provider speaks: Anthropic's Messages, or OpenAI's Responses and chat/completions."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class TokenLimit(StrEnum):
    """The field of chat/completions by which an answer is limited: OpenAI's own models refuse the older one."""

    MAX_TOKENS = "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of models."""

    base_url: str
    api: Api
    #: The variable that holds the key; None: it needs none.
    key_env: str | None = None
    #: The field that limits an answer, in OpenAI's protocol alone.
    token_limit: TokenLimit = TokenLimit.MAX_TOKENS
    #: The most requests that one of its models is sent at a time; None: its answers decide.
    parallel: int | None = None

    def __post_init__(self) -> None:
        if self.parallel is not None and self.parallel < 1:
            raise ValueError("parallel should be at least 1")
        if not re.fullmatch(r"https?://[^/?#@\s]+(/[^?#\s]*)?", self.base_url):
            raise ValueError(f"base_url is {self.base_url!r}; it should be a http or https URL without user or query")


#: The providers that every run knows; crab.yaml may change their fields and add others.
PROVIDERS: Mapping[str, Mapping[str, str]] = {
    "anthropic": {"base_url": "https://api.anthropic.com", "api": "anthropic", "key_env": "ANTHROPIC_API_KEY"},
    "openai": {
        "base_url": "https://api.openai.com/v1",
        "api": "openai",
        "key_env": "OPENAI_API_KEY",
        "token_limit": "max_completion_tokens",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float
    #: None: unknown, and then so is the cost of such tokens.
    cached: float | None = None
    #: None likewise.
    cache_write: float | None = None
    #: The price of what is cached for an hour; None: that of ``cache_write``.
    cache_write_1h: float | None = None

    def __post_init__(self) -> None:
        prices = (self.input, self.output, self.cached, self.cache_write, self.cache_write_1h)
        if any(price is not None and price < 0 for price in prices):
            raise ValueError("a price should not be below 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Settings for reaching models."""

    providers: Mapping[str, Provider] = field(default_factory=lambda: {name: _built_in(name) for name in PROVIDERS})
    prices: Mapping[str, Price] = field(default_factory=dict)
    #: US dollars per trial.
    trial_budget: float | None = None
    #: The folder of recordings; None: in the store.
    cassettes: str | None = None
    #: Whether answers are recorded at all.
    record: bool = True
    #: Whether providers may look things up in the web and run code for a model.
    server_tools: bool = False
    #: The number of times that a request is tried again.
    retries: int = 4
    #: The seconds before the first time.
    retry_wait: float = 1.0

    def __post_init__(self) -> None:
        if self.trial_budget is not None and self.trial_budget <= 0:
            raise ValueError("trial_budget should be a number of dollars above 0")
        if not 0 <= self.retries <= 20:
            raise ValueError("retries should be a number from 0 to 20")
        if self.retry_wait < 0:
            raise ValueError("retry_wait should be a number of seconds from 0")
        for name in self.providers:
            if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", name):
                raise ValueError(
                    f"providers.{name} is no name; it should be up to 40 lower-case letters, digits and hyphens"
                )


def _built_in(name: str) -> Provider:
    problems: list[str] = []
    provider = serialization.read(Provider, PROVIDERS[name], problems)
    assert provider is not None, problems
    return provider


def base_urls() -> dict[str, str]:
    """Return the addresses that environment variables give to providers that every run knows, by their names.

    They are the variables of the providers' own libraries, such as OPENAI_BASE_URL; crab.yaml comes before them.
    """
    named = {name: os.environ.get(base_url_variable(name), "").strip() for name in PROVIDERS}
    return {name: url for name, url in named.items() if url}


def base_url_variable(provider: str) -> str:
    """Return the variable by which the libraries of a provider learn its address."""
    return f"{provider.upper()}_BASE_URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A run under a name.

    Options are texts, or lists of texts, by the keys of the file; whoever has the options reads them.
    """

    name: str
    #: The paths of its set, below crab.yaml's folder.
    set: tuple[str, ...] = ()
    #: The options of its gate.
    gate: Mapping[str, str | list[str]] = field(default_factory=dict)
    #: Its other options.
    options: Mapping[str, str | list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The content of crab.yaml."""

    #: Its folder, from which a relative path in a variant's settings counts.
    folder: Path
    models: ModelSettings = field(default_factory=ModelSettings)
    reviewers: Mapping[str, Variant] = field(default_factory=dict)
    agents: Mapping[str, Variant] = field(default_factory=dict)
    judges: Mapping[str, Variant] = field(default_factory=dict)
    #: The variants of the sections that benchmarks add, by section.
    more: Mapping[str, Mapping[str, Variant]] = field(default_factory=dict)
    #: Texts, or lists of texts, by the names of the gate's options; whoever has the options reads them.
    gate: Mapping[str, str | list[str]] = field(default_factory=dict)
    experiments: Mapping[str, Experiment] = field(default_factory=dict)
    #: The settings of each stage of curation by the stage's name; the stage types them itself.
    curate: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: Whether what is curated is not passed on.
    private: bool = False
    #: The folders in which the file was looked for; where it was found, the last of them is ``folder``.
    looked: tuple[Path, ...] = field(default=(), compare=False)

    @property
    def whereabouts(self) -> str:
        """The answer to who misses a name: the file that has been read, or the places where there is none."""
        if (self.folder / FILE).is_file():
            return f"{self.folder / FILE} has no such entry"
        return f"there is no {FILE} in {' or '.join(map(str, self.looked or (self.folder,)))}"

    def cassettes(self, store: Path) -> Path:
        """Return the folder of recordings of models: the one that ``models`` names, else one in the store."""
        return self.folder / self.models.cassettes if self.models.cassettes else store / "cassettes"


def load_settings(rootdir: Path) -> Settings:
    """Return what crab.yaml in ``rootdir`` says, or empty settings if there is none.

    Raises BadInput with every fault of the file; whether ``use`` names a built-in is for the family to say.
    """
    path = rootdir / FILE
    return _read(rootdir, read_content(path) if path.exists() else None, tuple(base_urls().items()))


def find_settings(places: Iterable[Path], otherwise: Path) -> Settings:
    """Return what the first crab.yaml in one of these folders says; empty settings of the last if there is none.

    Raises BadInput as ``load_settings`` does.
    """
    looked = tuple(dict.fromkeys((*places, otherwise)))
    found = next((place for place in looked if (place / FILE).exists()), otherwise)
    return dataclasses.replace(load_settings(found), looked=looked)


@functools.lru_cache(maxsize=8)  # each question asks for the protocol of its provider, and each trial for its identity
def _read(rootdir: Path, content: bytes | None, urls: tuple[tuple[str, str], ...]) -> Settings:
    path = rootdir / FILE
    document = {} if content is None else read_document(path, content)
    others = [key for key in document if key not in _SECTIONS]
    added = sections() if others else ()
    problems = [
        f"{key} is not a known key; the keys here are {', '.join([*_SECTIONS, *added])}"
        for key in others
        if key not in added
    ]
    variants: dict[str, Any] = {
        section: _variants(section, document.get(section, {}), problems) for section in _FAMILIES
    }
    more = {section: _variants(section, document[section], problems) for section in others if section in added}
    models = _models(document.get("models", {}), dict(urls), problems)
    gate = read_gate(document.get("gate", {}), "gate", problems)
    experiments = _experiments(document.get("experiments", {}), problems)
    curate, private = _read_curate(document.get("curate", {}), problems)
    if problems or models is None:
        raise BadInput(str(path), problems)
    return Settings(
        folder=rootdir,
        models=models,
        gate=gate,
        experiments=experiments,
        curate=curate,
        private=private,
        more=more,
        **variants,
    )


def _read_curate(entry: Any, problems: list[str]) -> tuple[dict[str, Any], bool]:
    """Return the settings of the stages, and whether what is curated is private."""
    stages = {name: one for name, one in entry.items() if name != "private"} if isinstance(entry, dict) else entry
    if not isinstance(stages, dict) or not all(isinstance(one, dict) for one in stages.values()):
        problems.append("curate is no mapping of stages to settings; it should be such as select: {rvs: 0.3}")
        return {}, False
    private = serialization.read(bool, entry.get("private", False), problems, "curate.private")
    return stages, private is True


def read_gate(entry: Any, at: str, problems: list[str]) -> dict[str, str | list[str]]:
    """Return the mapping at this place of crab.yaml: a text or a list of texts for each of the gate's options."""
    if not isinstance(entry, dict):
        problems.append(f"{at} is no mapping; it should be one of the gate's options to values, such as margin: 5")
        return {}
    _check_values(entry, at, problems)
    return entry


def _check_values(entry: Mapping[str, Any], at: str, problems: list[str]) -> None:
    for name, value in entry.items():
        if not all(isinstance(text, str) for text in (value if isinstance(value, list) else [value])):
            problems.append(f"{at}.{name} is neither a value nor a list of values")


def _experiments(entries: Any, problems: list[str]) -> dict[str, Experiment]:
    if not isinstance(entries, dict):
        problems.append("experiments is no mapping; it should be one of names to what they run")
        return {}
    return {name: _experiment(name, entry, problems) for name, entry in entries.items()}


def _experiment(name: str, entry: Any, problems: list[str]) -> Experiment:
    at = f"experiments.{name}"
    if not _NAME.fullmatch(name):
        problems.append(f"{at} is no name; it should be up to 60 letters, digits, dots, underscores and hyphens")
    if not isinstance(entry, dict):
        problems.append(f"{at} is no mapping; it should hold reviewers, set and other options")
        return Experiment(name=name)
    gate = read_gate(entry.get("gate", {}), f"{at}.gate", problems)
    options = {key: value for key, value in entry.items() if key not in ("set", "gate")}
    named = entry.get("set", [])
    paths = named if isinstance(named, list) else [named]
    _check_values({**options, "set": named}, at, problems)
    problems.extend(
        f"{at}.set is {path!r}; it should be a path below the folder of this file"
        for path in paths
        if isinstance(path, str) and (Path(path).is_absolute() or ".." in Path(path).parts)
    )
    return Experiment(name=name, set=tuple(paths), gate=gate, options=options)


def _models(entry: Any, urls: Mapping[str, str], problems: list[str]) -> ModelSettings | None:
    """Read the section; the providers that every run knows stand in it, changed where it or the environment says so."""
    if isinstance(entry, dict) and isinstance(entry.get("providers", {}), dict):
        said = {str(name): fields for name, fields in entry.get("providers", {}).items()}
        known: dict[str, Any] = {}
        for name, fields in PROVIDERS.items():
            own, url = said.get(name, {}), urls.get(name)
            if url is not None and isinstance(own, dict) and "base_url" not in own:
                own = {**own, "base_url": url}
                _check_url(name, own, problems)
            known[name] = {**fields, **own} if isinstance(own, dict) else own
        entry = {**entry, "providers": {**said, **known}}
    return serialization.read(ModelSettings, entry, problems, "models")


def _check_url(name: str, own: Mapping[str, Any], problems: list[str]) -> None:
    """Say which environment variable is wrong, where one gives an address."""
    try:
        Provider(base_url=own["base_url"], api=Api.OPENAI)
    except ValueError as error:
        problems.append(f"{base_url_variable(name)} in the environment: {error}")


def _variants(section: str, entries: Any, problems: list[str]) -> dict[str, Variant]:
    if not isinstance(entries, dict):
        problems.append(
            f"{section} is no mapping; it should be one of names to settings, such as strict: {{use: codex}}"
        )
        return {}
    variants = {name: _variant(f"{section}.{name}", name, entry, problems) for name, entry in entries.items()}
    return {name: variant for name, variant in variants.items() if variant}


def _variant(at: str, name: str, entry: Any, problems: list[str]) -> Variant | None:
    if not _NAME.fullmatch(name):
        problems.append(f"{at} is no name; it should be up to 60 letters, digits, dots, underscores and hyphens")
    if not isinstance(entry, dict):
        problems.append(f"{at} is no mapping; it should hold use and the settings of what it uses")
        return None
    use = entry.get("use")
    if not isinstance(use, str) or not use.strip():
        wrong = "is missing" if use is None else "is not a name"
        problems.append(f"{at}.use {wrong}; it should name the built-in that this is a variant of")
        return None
    return Variant(name=name, use=use, settings={key: value for key, value in entry.items() if key != "use"})
