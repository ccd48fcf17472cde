"""The answerers of a run, from names: crab.yaml first, then the built-in ones, then coding agents."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import pytest

from pytest_crab.adapters import AdapterSpec, privileged
from pytest_crab.agents import AGENTS
from pytest_crab.benchmarks.codereviewqa.choices import ANSWERERS, SECTION
from pytest_crab.benchmarks.codereviewqa.context import NamedAnswerer
from pytest_crab.campaign.access import provider_problems
from pytest_crab.errors import BadInput
from pytest_crab.plugin.contestants import place_of, spec_of
from pytest_crab.plugin.kinds import Run
from pytest_crab.settings import Settings, Variant


def build_answerers(names: Iterable[str], run: Run, config: pytest.Config) -> dict[str, NamedAnswerer]:
    """Build every named answerer. Raises pytest.UsageError with its faults."""
    try:
        found = {name: _build(name, run, config) for name in names}
    except BadInput as error:
        raise pytest.UsageError(str(error)) from error
    problems = list(provider_problems((one.asker for one in found.values()), run.settings.models))
    if problems:
        raise pytest.UsageError("\n".join(dict.fromkeys(problems)))
    return found


def _build(name: str, run: Run, config: pytest.Config) -> NamedAnswerer:
    where = ANSWERERS.where(name)
    if name in run.reviewers:
        raise BadInput(where, ["there is a reviewer of this name too; name one of them otherwise"])
    spec, is_agent = _spec(name, run.settings, config)
    adapter = (AGENTS if is_agent else ANSWERERS).build(spec, place_of(ANSWERERS, name, _variants(run.settings)))
    if is_agent and privileged(adapter):
        raise BadInput(where, ["this agent is shown the answer and reads no question"])
    return NamedAnswerer(name=name, spec=spec, adapter=adapter, is_agent=is_agent)


def _spec(name: str, settings: Settings, config: pytest.Config) -> tuple[AdapterSpec, bool]:
    """Return the spec of an answerer, and whether it is an agent: one of crab.yaml, or a built-in one."""
    variants = _variants(settings)
    variant = variants.get(name)
    use, own = (name, {}) if variant is None else (variant.use, variant.settings)
    if use not in ANSWERERS.members and (use in settings.agents or use in AGENTS.members):
        make = config.hook.pytest_crab_make_agent
        spec, _ = spec_of(AGENTS, use, settings.agents, settings.folder, make, config)
        return dataclasses.replace(spec, settings={**spec.settings, **own}), True
    return ANSWERERS.spec(use, own, settings.folder, place_of(ANSWERERS, name, variants), variants), False


def _variants(settings: Settings) -> Mapping[str, Variant]:
    return settings.more.get(SECTION, {})
