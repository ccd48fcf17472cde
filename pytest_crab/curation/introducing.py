"""Candidates from fixed bugs: the pull request that brought a bug, by CR-Bench's algorithm 1 (arXiv 2603.11078).

A row names a commit, the patch that fixes a bug there, and the issue. The lines that the patch removes are blamed (step
3), and the pull requests of the blamed commits are looked for (step 4): exactly one must be left (step 5). It is the
candidate's, with the issue as its one comment. Steps 8 to 12 ask a model: detectable is a judge of the stage
``filter``, the tags are its labels, and the paraphrase is that of ``publish``.

The paper asks GitHub which pull requests a commit belongs to. Here the history of a mirror with refs/pull says it. A
patch that removes no line can blame none: the paper loses it silently, and here it is a rejection of its own.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from pytest_crab import diffs
from pytest_crab.curation import licences
from pytest_crab.curation.collect import CandidateSource
from pytest_crab.curation.stages import CurationContext, Rejection
from pytest_crab.curation.template import language_of
from pytest_crab.errors import SourceUnreachable
from pytest_crab.git_mirror import MIRROR
from pytest_crab.sources.merge_base import mirror_folder
from pytest_crab.sources.pull_refs import BlamedLine, MergedPull, PullRefs
from pytest_crab.text import split_lines
from pytest_crab.types import FIX, CandidateComment, Comment, GitSource, PullCandidate, PullRequestFacts, ReviewActivity


@dataclass(kw_only=True)
class FixedBugs(CandidateSource):
    """Rows of fixed bugs.

    Repositories are read where CRAB_GIT_MIRROR has them.
    """

    #: Each has the patch as its file FIX and the patched commit as its tag ``fixed_on``.
    rows: Sequence[PullCandidate]
    fixed_on: str
    kind: str
    only: frozenset[str] | None = None
    _refs: dict[str, PullRefs] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"kind": self.kind}

    @override
    def list_candidates(self) -> Iterator[PullCandidate]:
        yield from (row for row in self.rows if self.only is None or row.repo in self.only)

    @override
    def complete(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        """Return the candidate with the pull request that brought its bug."""
        url = f"https://github.com/{candidate.repo}"
        refs = self._repository(url)
        removed = {
            file.old: file.removed
            for file in diffs.parse(diffs.normalise(candidate.files[FIX]))
            if file.old is not None and file.removed
        }
        if not removed:
            return Rejection(reason="the fix removes no line", detail="so no line can be blamed")
        fixed_on = candidate.tags[self.fixed_on]
        if not refs.has(fixed_on):
            return Rejection(reason="the fixed commit is gone", detail=f"the mirror has no {fixed_on}")
        blamed = [line for path, lines in removed.items() for line in refs.blame(fixed_on, path, lines)]
        numbers = {commit: refs.introducing(commit) for commit in {line.commit for line in blamed}}
        pulls = sorted({number for number in numbers.values() if number is not None})
        if not pulls:
            return Rejection(reason="no pull request brought the bug", detail="its lines were pushed directly")
        if len(pulls) > 1:
            named = ", ".join(f"#{number}" for number in pulls)
            return Rejection(reason="several pull requests brought the bug", detail=named)
        last = refs.heads().get(pulls[0])
        pull = None if last is None else refs.find(pulls[0], last)
        if last is None or pull is None:
            return Rejection(
                reason="the pull request's commits are gone", detail=f"#{pulls[0]} is not under refs/pull of the mirror"
            )
        own = [line for line in blamed if numbers[line.commit] == pulls[0]]
        return _candidate_of(candidate, refs, pulls[0], pull, own, url)

    def _repository(self, url: str) -> PullRefs:
        with self._lock:
            if url not in self._refs:
                folder = mirror_folder(url)
                if isinstance(folder, str):
                    raise SourceUnreachable(
                        f"{folder}: put a mirror with refs/pull there (git clone --mirror {url}), and set {MIRROR} to "
                        "the folder above its owner's"
                    )
                self._refs[url] = PullRefs(folder)
            return self._refs[url]


def _candidate_of(
    candidate: PullCandidate, refs: PullRefs, number: int, pull: MergedPull, blamed: Sequence[BlamedLine], url: str
) -> PullCandidate:
    diff = refs.diff(pull.base, pull.head)
    path, lines = _place(refs, pull, blamed)
    issue = CandidateComment(
        comment=Comment(id="c0", path=path, lines=lines, body=candidate.pull_request.body),
        flags=("the issue stands for a review comment",),
    )
    return dataclasses.replace(
        candidate,
        pull_request=PullRequestFacts(
            number=number, title=pull.title, body=pull.body, url=f"{url}/pull/{number}", merged_at=pull.merged_at[:10]
        ),
        language=language_of(sorted(diffs.touched_paths(diff))),
        license=licences.detect_licence(lambda name: refs.read(pull.head, name)),
        source=GitSource(url=url, base=pull.base, head=pull.head, merged=pull.merged),
        diff=diff,
        comments=(issue,),
        activity=ReviewActivity(author=pull.author, merged=True),
        tags={**candidate.tags, "merged_by": pull.how},
    )


def _place(refs: PullRefs, pull: MergedPull, blamed: Sequence[BlamedLine]) -> tuple[str, tuple[int, int] | None]:
    """Return file and lines of the bug at the pull request's head; no lines where they read otherwise there."""
    path = blamed[0].path
    text = split_lines((refs.read(pull.head, path) or b"").decode("utf-8", "replace"))
    wanted = {line.text for line in blamed if line.path == path}
    found = [number for number, line in enumerate(text, start=1) if line in wanted and line.strip()]
    near = [number for number in found if number - found[0] <= len(wanted) + 10]
    return path, (near[0], near[-1]) if near else None
