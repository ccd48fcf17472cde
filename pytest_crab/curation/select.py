"""The second stage of curation: SWE-PRBench's ten filters as switches (arXiv 2603.26130, sections 3.2 to 3.4).

Nine of them are rules on facts; the tenth is the review value (RVS). The two on the forge (the base is accessible, the
repository is public) are answered while a candidate is collected. Where a source does not tell a fact, its rule
passes, and the candidate has a flag that says so. Bots, generated texts, answers within a discussion and remarks of the
pull request's own author are no known issues, and are taken out before the rules count.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from pytest_crab import diffs
from pytest_crab.curation.stages import CurationContext, Rejection, SettingsStage
from pytest_crab.diffs import ChangedFile
from pytest_crab.parsing.changed_paths import is_dependency_update, is_documentation, is_test
from pytest_crab.parsing.review_comments import is_bot, is_substantive, looks_generated
from pytest_crab.statistics.pull_classes import CONTEXTUAL, DIFFICULTIES, DIRECT, LATENT, size_class
from pytest_crab.statistics.review_value import LEAST_RVS_IN_TEXT, ReviewedPull, ReviewValue, review_value
from pytest_crab.types import CandidateComment, PullCandidate, Side

#: Stands on a candidate where a rule had nothing to go by.
UNTOLD = "the source does not say: {}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(SettingsStage):
    """SWE-PRBench's filters; a switch that is ``false``, or a number of 0, turns its rule off.

    ``substantive`` is the fewest substantive comments, ``ai_share`` the largest share of comments of bots or with the
    signs of a generated text (1: any, and none is taken out), ``rvs`` the least review value (the paper says 0.3 in its
    text and 0.35 in its table 3), ``most_added`` the most added lines (the paper's longest has 797), ``most_files``
    that of files. ``own_remarks`` keeps remarks of the pull request's own author.
    """

    merged: bool = True
    substantive: int = 2
    code: bool = True
    documentation: bool = True
    dependencies: bool = True
    ai_share: float = 0.3
    parseable: bool = True
    base: bool = True
    public: bool = True
    rvs: float = LEAST_RVS_IN_TEXT
    most_added: int = 800
    most_files: int = 0
    own_remarks: bool = False

    name = "select"
    version = 1

    def __post_init__(self) -> None:
        if not 0 <= self.ai_share <= 1 or not 0 <= self.rvs <= 1:
            raise ValueError("ai_share and rvs should be from 0 to 1")

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        """The numbers of a kept candidate are its tags."""
        try:
            files = diffs.parse(diffs.normalise(candidate.diff))
        except ValueError as error:
            if self.parseable:
                return Rejection(reason="the diff cannot be read", detail=str(error))
            files = ()
        value = review_value(_counts(candidate, files))
        found = next(self._faults(candidate, files, value), None)
        if found is not None:
            return found
        kept = candidate.drop(dict(self._not_issues(candidate)))
        labelled = tuple(_with_difficulty(one, files) for one in kept.comments)
        return dataclasses.replace(
            kept,
            comments=labelled,
            flags=(*kept.flags, *self._untold(candidate)),
            tags={**kept.tags, **_tags(labelled, files, value)},
        )

    def _faults(
        self, candidate: PullCandidate, files: Sequence[ChangedFile], value: ReviewValue
    ) -> Iterator[Rejection]:
        """Yield the reasons against a candidate."""
        activity = candidate.activity
        if self.merged and activity.merged is False:
            yield Rejection(reason="not merged")
        if self.public and activity.public is False:
            yield Rejection(reason="the repository is not public")
        if self.base and candidate.source is None:
            yield Rejection(reason="the base commit is not known")
        yield from self._faults_of_review(candidate)
        yield from self._faults_of_change(candidate, files)
        if value.score < self.rvs:
            yield Rejection(reason=f"RVS below {self.rvs:g}", detail=f"RVS is {value.score:.3f}")

    def _faults_of_review(self, candidate: PullCandidate) -> Iterator[Rejection]:
        every = candidate.comments
        substantive = sum(is_substantive(one.author, one.comment.body) for one in every)
        if substantive < self.substantive:
            yield Rejection(
                reason=f"fewer than {self.substantive} substantive comments",
                detail=f"{substantive} of {len(every)} comments",
            )
        generated = sum(is_bot(one.author) or looks_generated(one.comment.body) for one in every)
        if every and generated / len(every) > self.ai_share:
            yield Rejection(reason="reviewed mostly by machines", detail=f"{generated} of {len(every)} comments")

    def _faults_of_change(self, candidate: PullCandidate, files: Sequence[ChangedFile]) -> Iterator[Rejection]:
        author, title = candidate.activity.author, candidate.pull_request.title
        paths = [file.path for file in files]
        added = sum(len(file.added) for file in files)
        if self.code and paths and all(is_test(path) for path in paths):
            yield Rejection(reason="only tests changed")
        if self.documentation and paths and all(is_documentation(path) for path in paths):
            yield Rejection(reason="only documentation changed")
        if self.dependencies and is_dependency_update(author, title, paths):
            yield Rejection(reason="a dependency update", detail=f"by {author}")
        if self.most_added and added > self.most_added:
            yield Rejection(reason="too large", detail=f"{added} added lines, more than {self.most_added}")
        if self.most_files and len(paths) > self.most_files:
            yield Rejection(reason="too large", detail=f"{len(paths)} files, more than {self.most_files}")

    def _not_issues(self, candidate: PullCandidate) -> Iterator[tuple[str, str]]:
        for one in candidate.comments:
            if self.ai_share < 1 and is_bot(one.author):
                yield one.comment.id, "by a bot"
            elif self.ai_share < 1 and looks_generated(one.comment.body):
                yield one.comment.id, "looks generated"
            elif one.reply_to is not None:
                yield one.comment.id, "an answer in a discussion"
            elif one.author and one.author == candidate.activity.author and not self.own_remarks:
                yield one.comment.id, "by the pull request's author"

    def _untold(self, candidate: PullCandidate) -> Iterator[str]:
        known: Mapping[str, Any] = {"merged": candidate.activity.merged, "public": candidate.activity.public}
        for name, value in known.items():
            if getattr(self, name) and value is None:
                yield UNTOLD.format(name)


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
        lines=sum(len(file.added) + len(file.removed) for file in files),
        directories=len({file.path.rpartition("/")[0] for file in files}),
        tests_modified=any(file.old is not None for file in tests),
        tests_added=any(file.old is None for file in tests),
        title=candidate.pull_request.title,
        labels=candidate.activity.labels,
    )


def _with_difficulty(one: CandidateComment, files: Sequence[ChangedFile]) -> CandidateComment:
    labels = {**one.comment.labels, "difficulty": difficulty(one, files)}
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


def _tags(comments: Sequence[CandidateComment], files: Sequence[ChangedFile], value: ReviewValue) -> dict[str, str]:
    """Return the numbers of a candidate; its own difficulty is that of its hardest comment."""
    types = [one.comment.labels["difficulty"] for one in comments]
    parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    changed = sum(len(file.added) + len(file.removed) for file in files)
    return {
        "rvs": f"{value.score:.3f}",
        **{f"rvs_{name}": f"{part:.3f}" for name, part in parts.items()},
        **({"difficulty": max(types, key=DIFFICULTIES.index)} if types else {}),
        "size": size_class(changed),
        "changed_lines": str(changed),
    }
