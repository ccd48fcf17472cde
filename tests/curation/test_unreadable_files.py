"""Files that cannot be read: each is told of in a sentence, or leaves out no more than what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typing_extensions import override

from pytest_crab.curation.certify import _tests_in
from pytest_crab.curation.collect import CandidateSource, Collection
from pytest_crab.curation.filter import comment_questions
from pytest_crab.curation.known_set import KnownSet
from pytest_crab.curation.oracle_writing import _ready_text
from pytest_crab.curation.pipeline import Fate, run_candidate, walk
from pytest_crab.curation.stages import CurationContext, Rejection, Stage
from pytest_crab.diffs import UnreadableDiff, touched_paths
from pytest_crab.errors import BadInput, SourceError
from pytest_crab.instances.files import oracle_source, write_files
from pytest_crab.scoring.steps import StepCache
from pytest_crab.store import FileStore
from pytest_crab.types import (
    CandidateComment,
    Comment,
    GitSource,
    Instance,
    Oracle,
    PullCandidate,
    PullRequestFacts,
    Source,
)

#: A hunk that no git diff has.
TORN = "diff --git a/x b/x\n@@ -1 +1 @@\nfoo\n"


def pull(diff: str = "") -> PullCandidate:
    comment = CandidateComment(comment=Comment(id="c0", path="a.py", body="It."))
    facts = PullRequestFacts(number=1, title="T")
    return PullCandidate(id="a__b-1", origin="git", repo="a/b", pull_request=facts, diff=diff, comments=(comment,))


def context_in(folder: Path) -> CurationContext:
    unused: Any = None
    return CurationContext(cache=StepCache(store=FileStore(folder)), folder=folder, judge=unused, proving=unused)


class _Torn(CandidateSource):
    kind = "torn"

    @override
    def identity(self) -> Mapping[str, Any]:
        return {}

    @override
    def list_candidates(self) -> Iterator[PullCandidate]:
        yield pull()

    @override
    def complete(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        raise UnreadableDiff("not a git diff: it names no file")


class _FullDisk(Stage):
    name = "full"

    @override
    def identity(self) -> Mapping[str, Any]:
        return {}

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        raise OSError(28, "No space left on device", "/there")


def test_a_diff_that_is_none_rejects_its_pull_request(tmp_path: Path) -> None:
    found = Collection(source=_Torn(), known={}).run(pull(), context_in(tmp_path))
    assert found == Rejection(reason="the diff cannot be read", detail="not a git diff: it names no file")


def test_texts_that_are_no_diff_say_so() -> None:
    with pytest.raises(UnreadableDiff):
        touched_paths(TORN)


def test_a_candidate_whose_diff_is_none_is_still_asked_about() -> None:
    judge = SimpleNamespace(headings=("",))
    (question,) = comment_questions(pull(TORN), pull(TORN).comments, judge)
    assert question.finding.body == "It."


def test_what_the_machine_cannot_do_fails_the_candidate(tmp_path: Path) -> None:
    stage, context = _FullDisk(), context_in(tmp_path)
    assert run_candidate(pull(), [stage], context) is None
    (passage,) = walk(pull(), [stage], context.cache.store)
    assert passage.decision is not None
    assert (passage.decision.fate, "No space left on device: /there" in passage.decision.detail) == (Fate.FAILED, True)


def test_a_set_with_a_diff_in_another_encoding_is_listed(
    tmp_path: Path, tree_instance: Callable[..., Instance], tree_comment: Callable[..., Comment]
) -> None:
    write_files(tmp_path, {"fix.diff": b"-caf\xe9\n", "oracles/test_c0.py": "def test(): ..."})
    source = Source(git=GitSource(url="https://git.example/a/b", base="1" * 40, head="2" * 40, merged="3" * 40))
    instance = tree_instance(tmp_path, "a__b-1", tree_comment("c0", "a.py", reference="fix.diff"), source=source)
    (found,) = KnownSet(read=lambda: [instance]).list_candidates()
    write_files(tmp_path / "again", found.files)
    assert (tmp_path / "again" / "fix.diff").read_bytes() == b"-caf\xe9\n"
    (tmp_path / "fix.diff").unlink()
    with pytest.raises(SourceError, match=r"fix\.diff cannot be read"):
        list(KnownSet(read=lambda: [instance]).list_candidates())


def test_an_oracle_in_another_encoding_is_named(
    tmp_path: Path, tree_instance: Callable[..., Instance], tree_comment: Callable[..., Comment]
) -> None:
    (tmp_path / "test_c0.py").write_bytes(b"# caf\xe9\n")
    oracle = Oracle(file="test_c0.py")
    instance = tree_instance(tmp_path, "shop-1", tree_comment("c0", "a.py", oracle=oracle))
    with pytest.raises(SourceError, match=r"shop-1: test_c0\.py cannot be read"):
        oracle_source(instance, oracle)
    with pytest.raises(BadInput, match=r"test_c0\.py"):
        _ready_text(tmp_path / "test_c0.py")


def test_a_file_of_tests_that_cannot_be_read_has_none_that_are_known() -> None:
    snapshot: Any = SimpleNamespace(reference_tree="tree", read=lambda _tree, _path: b"package cart\n\nfunc (((\n")
    assert _tests_in(snapshot, "cart/cart_test.go") == ()
