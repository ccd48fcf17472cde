"""Faults by mutation, proposed from a repository's history alone: where they are put, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter", reason="mutants need the extra mutation")

from pytest_crab import diffs
from pytest_crab.curation.mutation import distinct, drafts
from pytest_crab.injection.deciding import how_far
from pytest_crab.injection.fault_words import fault_words
from pytest_crab.injection.proposals import Method, witnesses_of
from pytest_crab.injection.repository import Repository, open_repository
from pytest_crab.injection.seeded import SeededSource, _related
from pytest_crab.injection.twins import TWIN, clean_twin, stands
from pytest_crab.types import PullCandidate

from .conftest import SEND, SHOP, curation

URL = "https://git.example/owner/shop"


@pytest.fixture(scope="module")
def seeded(
    send_history: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Repository, list[PullCandidate]]]:
    context = curation(tmp_path_factory.mktemp("store"))
    with open_repository(send_history) as repository:
        source = SeededSource(repository=repository, url=URL)
        found = [source.complete(one, context) for one in source.list_candidates()]
        yield repository, [one for one in found if isinstance(one, PullCandidate)]


def test_a_fault_lies_in_lines_that_a_change_added_and_that_stand(
    seeded: tuple[Repository, list[PullCandidate]],
) -> None:
    _, found = seeded
    assert {one.pull_request.title for one in found} >= {"Send carts"}
    for one in found:
        added = diffs.changed_lines(one.files["head.diff"])["shop.py"]
        mended = diffs.changed_lines(one.files["reference.diff"])
        assert set(mended) == {"shop.py"}
        (comment,) = one.comments
        assert comment.comment.lines is not None
        assert comment.comment.lines[0] in added
        assert "parcel is not None and" not in one.files["reference.diff"]  # a later change rewrote it


def test_the_pull_request_is_the_innocent_change_with_its_tests_as_witnesses(
    seeded: tuple[Repository, list[PullCandidate]],
) -> None:
    _, found = seeded
    one = next(one for one in found if one.pull_request.number == 1)
    assert (one.pull_request.title, one.pull_request.body) == ("Send carts", "Parcels are made.")
    assert (one.provenance, one.tags["injected"]) == ("injected", Method.SEEDED)
    assert "test_send" in witnesses_of(one)["tests/test_shop.py"]
    assert one.tags["operator"]


def test_the_tests_of_the_change_come_first_and_then_all_of_their_files(send_history: Path, tmp_path: Path) -> None:
    context = curation(tmp_path)
    with open_repository(send_history) as repository:
        source = SeededSource(repository=repository, url=URL)
        listed = list(source.list_candidates())
        found = [one for one in (source.complete(each, context) for each in listed) if isinstance(one, PullCandidate)]
        one = next(one for one in found if one.pull_request.number == 1)
        (wide,) = source.propose_others(one, context)
        (brought, every) = (witnesses_of(each) for each in (one, wide))
        assert set(brought) == set(every) == {"tests/test_shop.py", "tests/conftest.py"}
        shown = [
            ("test_send" in each["tests/test_shop.py"], "test_mean" in each["tests/test_shop.py"])
            for each in (brought, every)
        ]
        assert shown == [(True, False), (True, True)]
        assert not list(source.propose_others(wide, context))


def test_the_clean_twin_is_the_change_as_it_was(seeded: tuple[Repository, list[PullCandidate]]) -> None:
    repository, found = seeded
    one = next(one for one in found if one.pull_request.number == 1)
    twin = clean_twin(repository, one)
    assert twin is not None
    assert (twin.clean, twin.comments, twin.tags[TWIN]) == (True, (), one.id)
    assert one.commit is not None
    base = repository.tree(one.commit.sha)
    whole = repository.read(repository.apply(twin.files["head.diff"], base), "shop.py")
    assert whole == SHOP + SEND


def test_a_change_that_a_later_one_rewrote_has_no_clean_twin(send_history: Path) -> None:
    with open_repository(send_history) as repository:
        trees = {change.texts[0]: (change.parent, change.tree) for change in repository.line}
        assert stands(repository, *trees["Send carts"])
        assert not stands(repository, *trees["Wrap parcels"])
        assert not stands(repository, trees["Send carts"][1], trees["Send carts"][1])  # it adds nothing


def test_each_kind_of_fault_is_told_as_a_reviewer_would() -> None:
    told = {
        words.kind: words.body
        for one in distinct(drafts("shop.py", SEND.encode(), range(1, 30)), {"shop.py": SEND.encode()})
        if (words := fault_words(one)) is not None
    }
    assert "`item.weight <= 30`" in told["boundary"]
    assert "`not cart`" in told["unchecked input"]
    assert 'raise ValueError("there is nothing to send")' in told["unchecked input"]
    assert "`parcels.append((item, address))`" not in told.get("boundary", "")


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("src/cart.ts", "test/cart.test.ts"),
        ("src/main/java/Cart.java", "src/test/java/CartTest.java"),
        ("lib/cart.rb", "spec/cart_spec.rb"),
        ("src/Cart.php", "tests/CartTest.php"),
        ("src/cart.rs", "tests/cart.rs"),
        ("shop/cart.go", "shop/cart_test.go"),
        ("shop/cart.py", "tests/test_cart.py"),
    ],
)
def test_a_file_of_tests_is_near_to_the_file_that_it_is_called_after(path: str, test: str) -> None:
    assert how_far(path, [test]) == "near"
    assert how_far(path, [test.replace("art", "oins")]) == "far"
    assert next(_related(path, [f"b_{test.rpartition('/')[2]}", test])) == test
