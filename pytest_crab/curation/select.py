"""The rules on pull requests and comments: SWE-PRBench's filters as switches (arXiv 2603.26130, sections 3.2 to 3.4).

Comments of bots, generated texts, answers that ask for nothing new, remarks of the pull request's own author and those
that say nothing are no known issues, and are taken out first; the rules on pull requests count what is left. Where a
source does not tell a fact, its rule passes, and the candidate has a flag that says so. Each reason names its setting.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override

from pytest_crab import diffs
from pytest_crab.curation.permission import UNTOLD
from pytest_crab.curation.stages import CurationContext, Rejection, SettingsStage
from pytest_crab.diffs import ChangedFile
from pytest_crab.ecosystems.files_of_tests import is_test
from pytest_crab.parsing.changed_paths import is_dependency_update, is_documentation
from pytest_crab.parsing.review_comments import asks_anew, is_bot, is_substantive, looks_generated, raises_concern
from pytest_crab.statistics.pull_classes import CONTEXTUAL, DIFFICULTIES, DIRECT, LATENT, size_class
from pytest_crab.statistics.review_value import ReviewedPull, ReviewValue, review_value
from pytest_crab.types import CandidateComment, PullCandidate, Side

#: The tag with how many lines a pull request adds and removes.
CHANGED_LINES = "changed_lines"

#: By rule, the value that turns it off.
OFF: Mapping[str, bool | float] = {
    **dict.fromkeys(("merged", "code", "documentation", "dependencies", "parseable", "base"), False),
    **dict.fromkeys(("substantive", "ai_share", "rvs", "most_added", "most_files"), 0),
    **dict.fromkeys(("bots", "answers", "own_remarks"), True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(SettingsStage):
    """Rules whose defaults keep what people asked for; a switch that is ``false``, or a number of 0, turns one off."""

    merged: bool = True
    #: The fewest comments that raise a concern; those that raise none are taken out.
    substantive: int = 1
    code: bool = True
    documentation: bool = True
    dependencies: bool = True
    #: The largest share of comments of bots or with the signs of a generated text.
    ai_share: float = 0.0
    parseable: bool = True
    base: bool = True
    #: The least review value (the paper says 0.3 in its text and 0.35 in its table 3).
    rvs: float = 0.0
    #: The most added lines (the paper's longest has 797).
    most_added: int = 800
    #: The most files.
    most_files: int = 0
    #: Whether comments of bots and generated ones are kept.
    bots: bool = False
    #: Whether all answers in a discussion are kept; false: those of reviewers that ask for something.
    answers: bool = False
    #: Whether comments of the pull request's own author are kept.
    own_remarks: bool = False

    name = "select"
    version = 3

    def __post_init__(self) -> None:
        if not 0 <= self.ai_share <= 1 or not 0 <= self.rvs <= 1:
            raise ValueError("ai_share and rvs should be from 0 to 1")

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        return self.decide(candidate)

    def decide(self, candidate: PullCandidate) -> PullCandidate | Rejection:
        """Return the candidate with its numbers as tags, or its rejection."""
        try:
            files = diffs.parse(diffs.normalise(candidate.diff))
        except ValueError as error:
            if self.parseable:
                return _rejected("parseable", "the diff cannot be read", str(error))
            files = ()
        value = review_value(_counts(candidate, files))
        kept = candidate.drop(dict(self._not_issues(candidate)))
        found = next(self._faults(candidate, len(kept.comments), files, value), None)
        if found is not None:
            return found
        labelled = tuple(_labelled(one, files) for one in kept.comments)
        return dataclasses.replace(
            kept,
            comments=labelled,
            flags=(
                *kept.flags,
                *([UNTOLD.format("merged")] if self.merged and candidate.activity.merged is None else []),
            ),
            tags={**kept.tags, **_tags(labelled, files, value)},
        )

    def _faults(
        self, candidate: PullCandidate, left: int, files: Sequence[ChangedFile], value: ReviewValue
    ) -> Iterator[Rejection]:
        """Yield the reasons against a candidate with so many comments left."""
        if self.merged and candidate.activity.merged is False:
            yield _rejected("merged", "not merged")
        if self.base and candidate.source is None:
            yield _rejected("base", "the base commit is not known")
        every = candidate.comments
        if left < self.substantive:
            reason = f"fewer than {self.substantive} substantive comments"
            yield _rejected(
                "substantive", reason, f"{left} of {len(every)} comments", dict(self._not_issues(candidate))
            )
        generated = sum(map(_is_machine_made, every))
        if self.ai_share and every and generated / len(every) > self.ai_share:
            yield _rejected("ai_share", "reviewed mostly by machines", f"{generated} of {len(every)} comments")
        yield from self._faults_of_change(candidate, files)
        if value.score < self.rvs:
            yield _rejected("rvs", f"RVS below {self.rvs:g}", f"RVS is {value.score:.3f}")

    def _faults_of_change(self, candidate: PullCandidate, files: Sequence[ChangedFile]) -> Iterator[Rejection]:
        author, title = candidate.activity.author, candidate.pull_request.title
        paths = [file.path for file in files]
        added = sum(len(file.added) for file in files)
        if self.code and paths and all(is_test(path) for path in paths):
            yield _rejected("code", "only tests changed")
        if self.documentation and paths and all(is_documentation(path) for path in paths):
            yield _rejected("documentation", "only documentation changed")
        if self.dependencies and is_dependency_update(author, title, paths):
            yield _rejected("dependencies", "a dependency update", f"by {author}")
        if self.most_added and added > self.most_added:
            yield _rejected("most_added", "too large", f"{added} added lines, more than {self.most_added}")
        if self.most_files and len(paths) > self.most_files:
            yield _rejected("most_files", "too large", f"{len(paths)} files, more than {self.most_files}")

    def _not_issues(self, candidate: PullCandidate) -> Iterator[tuple[str, str]]:
        author = candidate.activity.author
        reviewers = {one.author for one in candidate.comments if one.reply_to is None} - {author}
        for one in candidate.comments:
            body = one.comment.body
            if not self.bots and _is_machine_made(one):
                yield one.comment.id, _named("bots", "by a bot" if is_bot(one.author) else "looks generated")
            elif not self.own_remarks and one.author and one.author == author:
                yield one.comment.id, _named("own_remarks", "by the pull request's author")
            elif not self.answers and one.reply_to and not (one.author in reviewers and asks_anew(one.author, body)):
                yield one.comment.id, _named("answers", "an answer in a discussion")
            elif self.substantive and not (_is_machine_made(one) or raises_concern(one.author, body)):
                yield one.comment.id, _named("substantive", "says nothing that could be mended")


def _is_machine_made(one: CandidateComment) -> bool:
    return is_bot(one.author) or looks_generated(one.comment.body)


def _named(rule: str, reason: str) -> str:
    return f"{reason} (curate.select.{rule})"


def _rejected(rule: str, reason: str, detail: str = "", comments: Mapping[str, str] | None = None) -> Rejection:
    return Rejection(reason=_named(rule, reason), detail=detail, comments=comments)


def _counts(candidate: PullCandidate, files: Sequence[ChangedFile]) -> ReviewedPull:
    threads = [one for one in candidate.comments if one.reply_to is None]
    answered = {one.reply_to for one in candidate.comments if one.reply_to is not None}
    people = {name for name in candidate.activity.reviewers if not is_bot(name)} - {candidate.activity.author}
    tests = [file for file in files if is_test(file.path)]
    return ReviewedPull(
        substantive_comments=sum(is_substantive(one.author, one.comment.body) for one in candidate.comments),
        threads=len(threads),
        change_requests=candidate.activity.change_requests,
        reply_threads=sum(one.comment.id in answered for one in threads),
        reviewers=len(people),
        files=len(files),
        lines=_changed_lines(files),
        directories=len({file.path.rpartition("/")[0] for file in files}),
        tests_modified=any(file.old is not None for file in tests),
        tests_added=any(file.old is None for file in tests),
        title=candidate.pull_request.title,
        labels=candidate.activity.labels,
    )


def _labelled(one: CandidateComment, files: Sequence[ChangedFile]) -> CandidateComment:
    size = size_class(_changed_lines(files))
    labels = {**one.comment.labels, "difficulty": difficulty(one, files), "size": size}
    return dataclasses.replace(one, comment=dataclasses.replace(one.comment, labels=labels))


def difficulty(one: CandidateComment, files: Sequence[ChangedFile]) -> str:
    """Return the type of a comment: on a changed line, elsewhere in a changed file, or in another file (section 3.4).

    A comment on a changed file as a whole is contextual.
    """
    comment = one.comment
    left = comment.side is Side.LEFT
    for file in files:
        if comment.path == (file.old if left else file.new):
            changed = file.removed if left else file.added
            first, last = comment.lines or (1, 0)
            return DIRECT if any(line in changed for line in range(first, last + 1)) else CONTEXTUAL
    return LATENT


def _changed_lines(files: Sequence[ChangedFile]) -> int:
    return sum(len(file.added) + len(file.removed) for file in files)


def _tags(comments: Sequence[CandidateComment], files: Sequence[ChangedFile], value: ReviewValue) -> dict[str, str]:
    """Return the numbers of a candidate; its own difficulty is that of its hardest comment."""
    types = [one.comment.labels["difficulty"] for one in comments]
    parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    changed = _changed_lines(files)
    return {
        "rvs": f"{value.score:.3f}",
        **{f"rvs_{name}": f"{part:.3f}" for name, part in parts.items()},
        **({"difficulty": max(types, key=DIFFICULTIES.index)} if types else {}),
        "size": size_class(changed),
        CHANGED_LINES: str(changed),
    }
