"""Checks before a run begins: crab.yaml knows the providers of contestants, and their keys are set as variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pytest_crab.scoring.judges.votes import JUDGEMENT
from pytest_crab.settings import ModelSettings
from pytest_crab.trial import Crew

#: What asks a model: what it is, its name and its adapter.
Asker = tuple[str, str, object]


def provider_problems(askers: Iterable[Asker], models: ModelSettings) -> Iterator[str]:
    """Yield a sentence for each provider that crab.yaml does not know, or that speaks another protocol."""
    for noun, name, adapter in askers:
        api = getattr(adapter, "api", None)
        for provider in getattr(adapter, "providers", ()):
            known = models.providers.get(provider)
            if known is None:
                names = ", ".join(sorted(models.providers))
                yield (
                    f"{noun} {name}: {provider!r} is no provider; use one of {names}, "
                    "or add it to models.providers in crab.yaml"
                )
            elif api is not None and api is not known.api:
                yield (
                    f"{noun} {name}: api is {api}, and the provider {provider} speaks {known.api}; "
                    "leave api out, or name a provider of that protocol"
                )


def missing_keys(crew: Crew, models: ModelSettings, environ: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the sentences on keys that are not set, by the step that needs them."""
    found: dict[str, list[str]] = {}
    for asker in crew.askers:
        found.setdefault(_STEPS[asker[0]], []).extend(keys_missing(asker, models, environ))
    return found


def keys_missing(asker: Asker, models: ModelSettings, environ: Mapping[str, str]) -> list[str]:
    """Return the sentences on keys that one of those who ask models needs, and that are not set."""
    noun, name, adapter = asker
    wanted = [
        (f"asks {provider}", models.providers[provider].key_env)
        for provider in getattr(adapter, "providers", ())[:1]  # the others may be asked, and need not be
        if provider in models.providers
    ]
    wanted += [("needs a key", variable) for variable in getattr(adapter, "variables", ())]
    return [
        f"{noun} {name} {why}, and {variable} is not set: set it to the key"
        for why, variable in wanted
        if variable is not None and not environ.get(variable, "").strip()
    ]


#: The step in which each of a crew asks.
_STEPS = {"reviewer": "review", "agent": "revision", "judge": JUDGEMENT}
