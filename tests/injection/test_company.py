"""Which later changes stand beside a fix in the audit of its oracle."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

pytest.importorskip("tree_sitter", reason="mutants need the extra mutation")

from pytest_crab.injection.company import company_for
from pytest_crab.injection.deciding import trees_of
from pytest_crab.injection.fixes import FIX
from pytest_crab.injection.proposals import WITNESSES
from pytest_crab.injection.repository import Repository, open_repository
from pytest_crab.injection.seeded import SeededSource
from pytest_crab.types import PullCandidate

from .conftest import SEND, SENT, SHOP, TESTS, WRAP, commit, curation, git

URL = "https://git.example/owner/shop"
Made = tuple[Repository, list[PullCandidate]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """The repository, and the faults in the change that sends carts, to which wrapping came later."""
    folder = tmp_path_factory.mktemp("history") / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet")
    git(folder, "symbolic-ref", "HEAD", "refs/heads/main")
    commit(folder, "Start", SHOP, TESTS, "# Changes\n")
    sent, wrapped = SHOP + SEND, SHOP.replace("\n\n\ndef mean", f"\n{WRAP}\n\ndef mean") + SEND
    tests = f"import pytest\n{TESTS}{SENT}"
    commit(folder, "Send carts (#1)", sent, tests, "# Changes\n")
    commit(folder, "Wrap parcels (#2)", wrapped, f"{tests}\n\ndef test_wrap():\n    shop.wrap([])\n", "# Changes\n")
    commit(folder, "Wrap all (#3)", wrapped.replace(" and parcel[0]", ""), tests, "# Changes\n")

    context = curation(tmp_path_factory.mktemp("store"))
    with open_repository(folder) as repository:
        source = SeededSource(repository=repository, url=URL)
        found = [source.complete(one, context) for one in source.list_candidates()]
        sends = [one for one in found if isinstance(one, PullCandidate) and one.pull_request.title == "Send carts"]
        yield repository, sends


def test_a_later_change_of_the_faulty_file_stands_beside_its_fix_without_its_tests(made: Made) -> None:
    repository, sends = made
    assert sends
    for one in sends:
        company = company_for(repository, one)
        assert [repository.line[1].commit[:8] in name for name in company] == [True]  # the newest does not apply alone
        (diff,) = company.values()
        assert "def wrap" in diff
        assert "tests/" not in diff
        _, head, mended = trees_of(repository, one)
        assert repository.apply(diff, head) != repository.apply(diff, mended)


def test_what_mends_the_fault_or_alters_its_tests_is_no_company(made: Made) -> None:
    repository, (one, *_) = made
    fixed = dataclasses.replace(one, tags={**one.tags, FIX: repository.line[1].commit})
    assert not company_for(repository, fixed)
    texts = {f"{WITNESSES}tests/test_shop.py": "import shop\n\n\ndef test_wrap():\n    pass\n"}
    asked = dataclasses.replace(one, files={**one.files, **texts})  # that change brings test_wrap
    assert not company_for(repository, asked)
