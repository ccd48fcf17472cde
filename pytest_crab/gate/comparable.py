"""Differences between two runs besides the reviewer, and which of them forbid a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_crab.formats import format_names

#: Differences that are reported and never refused: they are under test, or cannot change a verdict.
_SAID = {
    "reviewer": "the reviewer's client",
    "reviewer-model": "the reviewer's model",
    "pytest_crab": "pytest-crab",
}

_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The conditions that one reviewer was measured under; what is not on record is empty and never differs."""

    agents: Sequence[str] = ()
    runtimes: Sequence[str] = ()
    #: By part: reviewer, reviewer-model, agent, agent-model, agent-identity, harness, pytest_crab.
    versions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: The digest of what each instance was made of, by instance.
    digests: Mapping[str, str] = field(default_factory=dict)
    #: The same for each oracle, by instance::comment.
    oracles: Mapping[str, str] = field(default_factory=dict)
    #: Reviewers and agents that could read the public discussion.
    leaky: Sequence[str] = ()
    #: Whether an agent understands no finding; there is no gate with one.
    simulated: bool = False
    #: Those that are shown the answer; there is no gate with one.
    privileged: Sequence[str] = ()


def differences(before: Conditions, after: Conditions) -> dict[str, str]:
    """Return a half sentence for each of CONDITIONS that differs; what is leaky compares with nothing."""
    leaky = tuple(dict.fromkeys((*before.leaky, *after.leaky)))
    found = {
        "dataset": _changed_set(before, after),
        "agent": _change("the agent", before.agents, after.agents),
        "agent-version": _change("the agent's client", *_both(before, after, "agent"))
        or _changed_models("the agent's model", *_both(before, after, "agent-model"))
        or _changed_settings(before, after),
        "harness": _change("the harness", *_both(before, after, "harness")),
        "runtime": _change("the runtime", before.runtimes, after.runtimes),
        "leaky": f"{_join_names(leaky)} could read the public discussion" if leaky else "",
    }
    return {name: sentence for name, sentence in found.items() if sentence}


def remarks(before: Conditions, after: Conditions) -> tuple[str, ...]:
    """Return a half sentence for what differs and may: the reviewer's own version and models, and this package's.

    An agent that asked some models more, or fewer, is still the same agent; and it is said.
    """
    said = [_change(noun, *_both(before, after, part)) for part, noun in _SAID.items()]
    models = _both(before, after, "agent-model")
    said.append("" if _changed_models("", *models) else _change("the agent's model", *models))
    return tuple(sentence for sentence in said if sentence)


def refusal(found: Mapping[str, str], allowed: str | None) -> str | None:
    """Return why two runs cannot be compared, or None; at most one difference can be allowed."""
    rest = {name: sentence for name, sentence in found.items() if name != allowed}
    if not rest:
        return None
    if len(found) == 1:
        return f"{next(iter(rest.values()))}; --crab-allow-difference={next(iter(rest))} compares all the same"
    said = [f"{sentence} (allowed)" for name, sentence in found.items() if name == allowed]
    return "; ".join((*rest.values(), *said)) + "; only one difference can be allowed"


def find_distrust(own: Conditions) -> str | None:
    """Return why no gate can be trusted that rules on what was measured so, or None."""
    if own.simulated:
        return f"the agent {_join_names(own.agents)} only compares locations and understands nothing"
    if own.privileged:
        return f"the agent {_join_names(own.privileged)} is shown the answer"
    return None


def _changed_set(before: Conditions, after: Conditions) -> str:
    """Return which instances and which of their oracles changed, and how the earlier run is judged by today's."""
    changed = [name for name, digest in after.digests.items() if before.digests.get(name, digest) != digest]
    oracles = [name for name, digest in after.oracles.items() if before.oracles.get(name, digest) != digest]
    if not changed or not oracles:
        return f"{_join_names(changed)} changed since" if changed else ""
    return (
        f"{_join_names(changed)} changed since, with the oracles {format_names(oracles, _SHOWN)}: to judge the stored "
        "revisions by the oracles of today, call pytest as for the earlier run, with its --crab-store"
    )


def _both(before: Conditions, after: Conditions, part: str) -> tuple[Sequence[str], Sequence[str]]:
    return before.versions.get(part, ()), after.versions.get(part, ())


def _change(noun: str, before: Sequence[str], after: Sequence[str]) -> str:
    if not before or not after or set(before) == set(after):
        return ""
    return f"{noun} was {_join_names(before)} and is {_join_names(after)}"


def _changed_settings(before: Conditions, after: Conditions) -> str:
    """As _change, but without digests; a simulated agent's are those of the instances that it acted on."""
    if before.simulated or not _change("", *_both(before, after, "agent-identity")):
        return ""
    return "the agent's settings, model or files changed since"


def _changed_models(noun: str, before: Sequence[str], after: Sequence[str]) -> str:
    """As _change, but for models that are among the others: clients ask small ones now and then."""
    among = set(before) <= set(after) or set(after) <= set(before)
    return "" if among else _change(noun, before, after)


def _join_names(names: Sequence[str]) -> str:
    return format_names([name if len(name) <= 40 else f"{name[:12]}..." for name in names], _SHOWN)
