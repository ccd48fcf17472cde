"""The head of a page: each reviewer's rate with its burden, the facts of the run, and the warnings that rates need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone

from pytest_crab.formats import format_count, format_names, format_percent
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import Summary
from pytest_crab.show.headline import unmeasured_line
from pytest_crab.show.summary_tables import label
from pytest_crab.show.summary_text import clean_line
from pytest_crab.types import CONTROL, UNNAMED_REPOSITORY

#: A rate is warned of where more than this share of its oracles is unknown, as gates do by default.
MUCH_UNKNOWN = 0.05

#: What a rate with a simulated agent is.
_SIMULATED = (
    "No model read the findings. A rate says how often a finding lies on the lines of a human comment, and a "
    "reviewer that flags many lines gets a high one."
)

#: The most reviewers that a title names.
NAMED = 3


class Clock:
    """The time that trials took place in, from the first start to the last end."""

    def __init__(self) -> None:
        self.first: datetime | None = None
        self.last: datetime | None = None

    def add(self, started: datetime, seconds: float) -> None:
        """Take a trial's time in."""
        ended = started + timedelta(seconds=seconds)
        self.first = started if self.first is None else min(self.first, started)
        self.last = ended if self.last is None else max(self.last, ended)

    def words(self) -> str:
        """Return the time in words, in UTC; empty where no start is on record."""
        if self.first is None or self.last is None:
            return ""
        same = self.first.date() == self.last.date()
        return f"{self.first:%d %b %Y, %H:%M} to {self.last:{'%H:%M' if same else '%d %b %Y, %H:%M'}} UTC"


def parse_time(text: str | None) -> datetime | None:
    """Return the time that a record states, in UTC; None if it states none that can be read."""
    try:
        found = None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None
    if found is None:
        return None
    return found.astimezone(timezone.utc) if found.tzinfo else found.replace(tzinfo=timezone.utc)


def title_words(summary: Summary) -> str:
    """Return who was measured on what: ``ruff and bot on quickstart``."""
    names = [label(one) for one in summary.contestants.values() or summary.reviewers]
    repos = {oracle.repo for one in summary.reviewers for oracle in one.oracles} - {UNNAMED_REPOSITORY}
    owners = {repo.partition("/")[0] for repo in repos}
    many = format_count(len(repos), "repository") if repos else "the set"
    place = min(repos) if len(repos) == 1 else min(owners) if len(owners) == 1 else many
    return f"{_list(names) if len(names) <= NAMED else format_names(names, NAMED)} on {place}" if names else "Results"


def run_facts(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield who ran what: a name and its words, without those that are not on record."""
    reviewers, errors = summary.reviewers, summary.oracle_errors
    facts = {
        "Reviewers": ", ".join(map(_with_version, reviewers)),
        "Coding agent": _agents(reviewers),
        "Models": ", ".join(dict.fromkeys(_models(reviewers))) or "none on record",
        "Oracle errors": "" if errors is None else errors.words(),
        "False alarms": "; ".join(f"{label(one)} {line}" for one in reviewers if (line := clean_line(one)) is not None),
        "Repeats": str(max((one.repeats for one in reviewers), default=0)),
        "Runtime": ", ".join(dict.fromkeys(name for one in reviewers for name in one.runtimes)),
        "Versions": ", ".join(
            f"{name} {version}"
            for part, name in (("pytest_crab", "pytest-crab"), ("harness", "harness"))
            for version in dict.fromkeys(word for one in reviewers for word in one.versions.get(part, ()))
        ),
        "Part of the run": summary.shard or "",
    }
    yield from ((name, words) for name, words in facts.items() if words)


def measured_sentences(summary: Summary) -> Iterator[str]:
    """Yield what a rate is."""
    reviewers = summary.reviewers
    if reviewers:
        if all(one.decided_by for one in reviewers):
            yield "The rate is the share of human comments that a ruler finds in the review; Rulers says which."
        elif all(one.counted == "comment" for one in reviewers):
            yield "The rate is the share of human comments after which the agent's change is exactly the reference's."
        else:
            yield (
                "The rate is the share of oracles that pass after a coding agent acted on the review. An oracle is the "
                "test of one human comment: red on the pull request, green once the comment is resolved."
            )


def _with_version(one: ReviewerSummary) -> str:
    versions = [word.removeprefix(f"{one.reviewer} ") for word in one.versions.get("reviewer", ())]
    return f"{label(one)} {' and '.join(versions)}".strip()


def _agents(reviewers: Iterable[ReviewerSummary]) -> str:
    found: dict[str, dict[str, None]] = {}
    for one in reviewers:
        for agent in one.agents:
            simulated = " (simulated)" if one.simulated and agent != "simulated" else ""
            found.setdefault(f"{agent}{simulated}", {}).update(dict.fromkeys(one.versions.get("agent", ())))
    return ", ".join(f"{name}{', version ' if own else ''}{' and '.join(own)}" for name, own in found.items())


def _models(reviewers: Iterable[ReviewerSummary]) -> Iterator[str]:
    """Yield the models that were asked, each with who asked it; one that only failed attempts asked has no asker."""
    for one in reviewers:
        roles = {"review": one.reviewer, "revision": "coding agent", "judgement": "judge"}
        asked = [own for own in one.usage if own.model and own.part in roles]
        yield from (f"{own.model} ({roles[own.part]})" for own in asked)
        known = {own.model for own in asked}
        yield from (f"{own.model} (no answer)" for own in one.usage if own.model and own.model not in known)


def set_words(summary: Summary) -> str:
    """Return the size of the set in words."""
    oracles = {oracle.key: (oracle, one.counted) for one in summary.reviewers for oracle in one.oracles}
    counted = Counter(word for _, word in oracles.values()) or {summary.counted: 0}
    repositories = {oracle.repo for oracle, _ in oracles.values()}
    widest = max(summary.reviewers, key=lambda one: one.instances, default=None)
    if widest is None:
        return ""
    instances = max(widest.instances, len({oracle.instance for oracle, _ in oracles.values()}))
    counts = {"authored": widest.authored, "from GitHub": widest.github, "injected": widest.injected}
    counts = counts if instances == widest.instances else {}
    origins = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    named = len(repositories - {UNNAMED_REPOSITORY})
    origin = f" from {format_count(named, 'repository')}" if named else ""
    return (
        f"{format_count(instances, 'pull request')}{f' ({origins})' if origins else ''}{origin}, "
        f"with {' and '.join(format_count(count, word) for word, count in counted.items())}"
    )


def banners(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield what a reader of the rates must know first, as first words and the rest.

    That is a simulated agent, reviewers that could cheat, and what is unknown.
    """
    reviewers = summary.reviewers
    for one in reviewers:
        if (line := unmeasured_line(one)) is not None:
            yield (f"{line}.", "Such a rate says nothing of the reviewer, and no gate passes on it.")
    if any(one.simulated for one in reviewers):
        yield "Simulated agent: location overlap only.", _SIMULATED
    leaky = [one.reviewer for one in reviewers if one.leaky]
    if leaky:
        yield (
            f"{_list(leaky)} worked on the public pull request.",
            "The discussion can be read there, so such a reviewer is not compared with others.",
        )
    for one in reviewers:
        share = one.overall.unknown / one.overall.oracles if one.overall.oracles else 0
        if share > MUCH_UNKNOWN:
            low, high = format_percent(one.overall.low), format_percent(one.overall.high)
            head = f"{one.reviewer}: {one.overall.unknown} of {one.overall.oracles} {one.counted}s have no verdict."
            yield head, f"The rate over all of them lies between {low}% and {high}%."


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def role(one: ReviewerSummary) -> str:
    """Return the words for a reviewer that is no plain contestant, else an empty text."""
    if one.variant == CONTROL:
        return "control: the agent gets no review"
    if one.variant is not None:
        return one.variant
    return "shown the answer: an upper bound" if one.reviewer in one.privileged else ""


def highest(reviewers: Sequence[ReviewerSummary], count: int) -> list[ReviewerSummary]:
    """Return so many of the reviewers, in their order: all if they are few, else those with the highest rates."""
    best = sorted(reviewers, key=lambda one: -1.0 if one.overall.micro is None else one.overall.micro, reverse=True)
    kept = {one.reviewer for one in best[:count]}
    return [one for one in reviewers if one.reviewer in kept]
