"""One review judged: its questions, and from their decisions a label for each finding and a hit for each comment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_crab.scoring.judges.votes import Gold, JudgeQuestion, VotedLabel
from pytest_crab.types import Finding

#: A finding's position from 0, and a comment's id.
AskedPair = tuple[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFinding:
    """The label of one finding."""

    trial: str
    #: The finding's place, counted from 0.
    finding: int
    #: None: unknown.
    label: str | None
    #: The judge's reason.
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTrial:
    """One judged trial."""

    findings: tuple[JudgedFinding, ...]
    #: Whether a finding hits the comment, for each comment; None: unknown.
    hits: Mapping[str, bool | None]
    #: Which finding hits it.
    matched: Mapping[str, int]


def questions_of(
    instance: str, pull_request: str, findings: Sequence[Finding], known: Mapping[str, Gold], diff: str = ""
) -> Iterator[tuple[AskedPair, JudgeQuestion]]:
    """Yield a question for each finding and each known issue, which are named by their comments."""
    for at, finding in enumerate(findings):
        for comment, gold in known.items():
            question = JudgeQuestion(
                instance=instance, pull_request=pull_request, finding=finding, gold=gold, diff=diff
            )
            yield (at, comment), question


def judged_trial(
    trial: str, findings: int, comments: Iterable[str], decisions: Mapping[AskedPair, VotedLabel], labels: Sequence[str]
) -> JudgedTrial:
    """Return what the decisions say of so many findings and of these comments; ``labels`` are the judge's."""
    judged, hits, matched = [], {}, {}
    for at in range(findings):
        own = [decision for (finding, _), decision in decisions.items() if finding == at]
        label = label_of_finding(own, labels)
        reason = next((decision.reason for decision in own if decision.label == label), "there is no known issue")
        judged.append(JudgedFinding(trial=trial, finding=at, label=label, reason=reason))
    asked = {comment for _, comment in decisions}
    for comment in comments:
        found = {at: decision.label for (at, on), decision in decisions.items() if on == comment}
        hit = next((at for at, label in found.items() if label == labels[0]), None)
        if hit is not None:
            matched[comment] = hit
        without = findings > 0 and comment not in asked
        hits[comment] = True if hit is not None else None if without or None in found.values() else False
    return JudgedTrial(findings=tuple(judged), hits=hits, matched=matched)


def label_of_finding(decisions: Sequence[VotedLabel], labels: Sequence[str]) -> str | None:
    """Return a finding's label from its decisions against every known issue of the pull request.

    A hit of any issue is a hit. Else it is unknown if one of them is. Else it is the first of ``labels`` that one says.
    """
    found = [decision.label for decision in decisions]
    hit, *others = labels
    return next((label for label in (hit, None, *others) if label in found), None)
