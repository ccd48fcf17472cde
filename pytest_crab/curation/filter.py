"""The third stage of curation: judges say which comments are fit for a benchmark, and give them labels.

A judge is one of crab.yaml, with its prompt, its votes and its stored answers. An answer that is no label is unknown
and never a reason to keep a comment; by default it is kept with that doubt, since a doubt is no silent end. With three
votes a label that is not unanimous is a doubt too. ``precision`` holds the judge against people's labels first, see
``curation.gold``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.curation.gold import find_filter_calibration
from pytest_crab.curation.stages import CurationContext, Rejection, SettingsStage
from pytest_crab.diffs import excerpt, parse_hunks
from pytest_crab.errors import BadInput, ModelUnavailable
from pytest_crab.scoring.judges import build_judge
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.judges.votes import Gold, JudgeQuestion, VotedLabel
from pytest_crab.settings import load_settings
from pytest_crab.types import FIX, CandidateComment, Finding, PullCandidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(SettingsStage):
    """Asks judges of crab.yaml about each comment; without any it keeps all."""

    #: The judge that decides: a comment with another label than one of ``keep`` goes.
    judge: str = ""
    keep: tuple[str, ...] = ("HIGH",)
    #: Whether a comment that it has no label for is kept, with a doubt.
    keep_unknown: bool = True
    #: The least share of comments with a label of ``keep`` that people label alike, on the part of the gold set that no
    #: prompt was made on; 0: it is not asked for.
    precision: float = 0.0
    #: A judge for each dimension of labels of comments.
    labels: Mapping[str, str] = field(default_factory=dict)
    #: A judge for each tag of pull requests.
    pull_labels: Mapping[str, str] = field(default_factory=dict)
    folder: str = "."

    name = "filter"
    version = 1

    def __post_init__(self) -> None:
        if not 0 <= self.precision <= 1:
            raise ValueError("precision should be from 0 to 1")

    def identity(self) -> Mapping[str, Any]:
        """Return the settings with the identities and votes of the judges that they name. Raises BadInput."""
        settings = {name: value for name, value in serialization.dump(self).items() if name != "folder"}
        names = dict.fromkeys((self.judge, *self.labels.values(), *self.pull_labels.values()))
        judges = {name: judge_identity(name, Path(self.folder)) for name in names if name}
        return {"version": self.version, "settings": settings, "judges": judges}

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        """Raises BadInput for a judge without the precision that is asked for."""
        found = candidate
        if self.judge:
            found = self._filter(candidate, context)
        for dimension, name in self.labels.items():
            found = _label_comments(found, dimension, context.judge(name))
        for dimension, name in self.pull_labels.items():
            bench = context.judge(name)
            (decision,) = ask_judge(bench, [_pull_question(found)])
            if decision.label is not None:
                found = dataclasses.replace(found, tags={**found.tags, dimension: decision.label})
        return found

    def _filter(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate:
        bench = context.judge(self.judge)
        self._require_precision(bench)
        kept, gone = [], {}
        for one, decision in _decide(candidate, bench):
            doubt = _doubt(self.judge, decision)
            kept.append(_with_judgement(one, self.judge, decision, doubt))
            if decision.label is None and not self.keep_unknown:
                gone[one.comment.id] = "the filter's answer is no label"
            elif decision.label is not None and decision.label not in self.keep:
                gone[one.comment.id] = f"labelled {decision.label}"
        return dataclasses.replace(candidate, comments=tuple(kept)).drop(gone)

    def _require_precision(self, bench: JudgeBench) -> None:
        if not self.precision:
            return
        known = find_filter_calibration(bench)
        wanted = f"precision is {self.precision:g}, and {self.judge}"
        problem = None
        if known is None or known.precision is None:
            problem = (
                f"{wanted} was never compared with labels by people: call pytest-crab set curate annotate, then "
                f"pytest-crab set curate calibrate --judge {self.judge}"
            )
        elif known.precision < self.precision:
            problem = f"{wanted} reaches {known.precision:.2f}: refine its prompt on the tuning part"
        if problem is not None:
            raise BadInput("crab.yaml: curate.filter", [problem])


def judge_identity(name: str, folder: Path) -> Mapping[str, Any]:
    """Return everything that decides the labels of a judge of crab.yaml in ``folder``. Raises BadInput."""
    judge = build_judge(name, load_settings(folder))
    return {**judge.identity(), "votes": judge.votes}


def comment_questions(
    candidate: PullCandidate, comments: Sequence[CandidateComment], judge: Any
) -> Iterator[JudgeQuestion]:
    """Yield the question on each of these comments; the patch that fixed a bug is shown to judges that want it."""
    try:
        hunks = list(parse_hunks(candidate.diff))
    except ValueError:  # which select keeps where it is told to
        hunks = []
    digest = serialization.digest(candidate.diff)
    fix = candidate.files.get(FIX, "") if judge.headings[0] else ""
    for one in comments:
        comment = one.comment
        start, end = comment.lines or (None, None)
        yield JudgeQuestion(
            instance=candidate.id,
            pull_request=digest,
            finding=Finding(body=comment.body, path=comment.path, start=start, end=end, side=comment.side),
            gold=Gold(body=fix),
            code=excerpt(hunks, comment.path, comment.lines, comment.side),
        )


def _pull_question(candidate: PullCandidate) -> JudgeQuestion:
    facts = candidate.pull_request
    return JudgeQuestion(
        instance=candidate.id,
        pull_request=serialization.digest(candidate.diff),
        finding=Finding(body=f"{facts.title}\n\n{facts.body}".strip()),
        gold=Gold(body=""),
    )


def ask_judge(bench: JudgeBench, questions: Sequence[JudgeQuestion]) -> list[VotedLabel]:
    """Return the decision on each question. Raises ModelUnavailable where a vote could not be had."""
    found = bench.decide(questions)
    decisions = [found[question.digest] for question in questions]
    for decision in decisions:
        if len(decision.votes) < bench.judge.votes:
            raise ModelUnavailable(f"{bench.name}: {decision.reason}")
    return decisions


def _decide(candidate: PullCandidate, bench: JudgeBench) -> Iterator[tuple[CandidateComment, VotedLabel]]:
    questions = list(comment_questions(candidate, candidate.comments, bench.judge))
    yield from zip(candidate.comments, ask_judge(bench, questions), strict=True)


def _doubt(judge: str, decision: VotedLabel) -> str:
    """Return why a decision is in doubt; empty if it is not."""
    if decision.label is None:
        return f"{judge}: no label ({decision.reason[:80]})"
    alike = sum(vote.label == decision.label for vote in decision.votes)
    total = len(decision.votes)
    return f"{judge}: {decision.label} by {alike} of {total} votes" if alike < total else ""


def _with_judgement(one: CandidateComment, judge: str, decision: VotedLabel, doubt: str) -> CandidateComment:
    """Return the comment with a judge's label and reason, and with the doubt if there is one."""
    reason = f"{judge}: {decision.label or 'no label'}{f', {decision.reason}' if decision.reason else ''}"
    return dataclasses.replace(one, flags=(*one.flags, *([doubt] if doubt else [])), reasons=(*one.reasons, reason))


def _label_comments(candidate: PullCandidate, dimension: str, bench: JudgeBench) -> PullCandidate:
    labelled = []
    for one, decision in _decide(candidate, bench):
        doubt = _doubt(bench.name, decision)
        comment = one.comment
        if decision.label is not None:
            comment = dataclasses.replace(comment, labels={**comment.labels, dimension: decision.label})
        labelled.append(_with_judgement(dataclasses.replace(one, comment=comment), bench.name, decision, doubt))
    return dataclasses.replace(candidate, comments=tuple(labelled))
