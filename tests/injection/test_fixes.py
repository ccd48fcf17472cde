"""What is proposed of a repository's fixes, from its history alone."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_crab.cli.curation_run import CurationServices, run_stages
from pytest_crab.curation.listing import ListedSource, Listing
from pytest_crab.curation.stages import Rejection
from pytest_crab.errors import SourceError
from pytest_crab.injection.fixes import FixSource, fault_in, mends, parts_of, place_of, subject_of
from pytest_crab.injection.proposals import Method, witnesses_of
from pytest_crab.injection.repository import Change, open_repository
from pytest_crab.injection.stages import Publishing
from pytest_crab.injection.twins import clean_twin, twin_id
from pytest_crab.instances import load_instance
from pytest_crab.settings import load_settings
from pytest_crab.store import FileStore
from pytest_crab.types import PullCandidate, PullRequestFacts

from .conftest import curation

URL = "https://git.example/owner/shop"


@pytest.fixture(scope="module")
def proposed(
    shop_history: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, PullCandidate | Rejection]]:
    """What the source makes of each fix, by the subject's last word but the number."""

    context = curation(tmp_path_factory.mktemp("proposed"))
    with open_repository(shop_history) as repository:
        source = FixSource(repository=repository, url=URL)
        subjects = {change.commit: change.texts[0] for change in source.repository.line}
        yield {subjects[one.tags["fix"]]: source.complete(one, context) for one in source.list_candidates()}


def kept(found: PullCandidate | Rejection) -> PullCandidate:
    assert isinstance(found, PullCandidate), found
    return found


def test_a_fix_of_lines_that_a_change_wrote_is_carried_back_to_that_change(
    proposed: dict[str, PullCandidate | Rejection],
) -> None:
    found = kept(proposed["Fix discounts, which took the share as a price"])
    assert found.tags["injected"] == Method.INTRODUCED
    assert (found.pull_request.title, found.pull_request.body) == ("Discount prices", "A share is taken off.")
    assert found.pull_request.number == 1
    assert "+    return price - share" in found.diff
    assert "+    return price - price * share / 100" in found.files["reference.diff"]
    (one,) = found.comments
    assert (one.comment.path, one.comment.lines) == ("shop.py", (10, 10))
    assert "`discount`" in one.comment.body
    assert list(witnesses_of(found)) == ["tests/test_shop.py", "tests/conftest.py"]
    assert "test_mean" not in witnesses_of(found)["tests/test_shop.py"]
    assert "+++ b/tests/shares.txt" in found.files["before.diff"]  # what its tests may read


def test_a_fix_of_what_was_missing_is_taken_back_in_a_later_change(
    proposed: dict[str, PullCandidate | Rejection],
) -> None:
    found = kept(proposed["Fix the crash of empty carts"])
    assert found.tags["injected"] == Method.REVERSED
    assert found.pull_request.title == "Name the currency"
    assert '+CURRENCY = "EUR"' in found.diff
    assert "-    if not cart:" in found.diff
    told = found.pull_request.title + found.pull_request.body + found.diff
    assert "crash" not in told  # the note on the fix is in neither side
    assert "Carts may be empty" not in told + found.files["reference.diff"]
    assert "-- The mean of an empty cart" in found.files["before.diff"]
    assert "carts.txt" not in found.files["before.diff"] + found.diff  # what its tests may read stays where it is


def test_a_fix_whose_tests_ask_for_what_it_adds_is_none(proposed: dict[str, PullCandidate | Rejection]) -> None:
    found = proposed["Fix labels that had no sign"]
    assert isinstance(found, Rejection)
    assert "ask for" in found.reason


def test_a_fix_of_another_branch_fails_and_is_tried_again(shop_history: Path, tmp_path: Path) -> None:
    listed = PullCandidate(
        id="a", origin="injected", repo="owner/shop", pull_request=PullRequestFacts(number=1, title="a"),
        tags={"fix": "0123456789" * 4},
    )  # fmt: skip
    with open_repository(shop_history) as repository, pytest.raises(SourceError, match="0123456789"):
        FixSource(repository=repository, url=URL).complete(listed, curation(tmp_path))


def test_only_changes_that_mend_with_tests_are_looked_at(proposed: dict[str, PullCandidate | Rejection]) -> None:
    assert set(proposed) == {
        "Fix discounts, which took the share as a price", "Fix the crash of empty carts",
        "Fix labels that had no sign", "Fix labels of pairs", "Fix the number of places",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Cache keys\n\n* Fix the test\n* ensure names", False),  # only squashed commits speak of a fix
        ("Cache keys\n\nWithout it a lookup fails.", True),
        ("Allow a list of valid names", False),
        ("Merge stable into main\n\nIt fixes a crash.", False),
        ("Merge names in a crash report", True),
        ("Adds an option to fix keys", True),
        ("Add validation of names", False),
        ("Add validation of names, which crashed", True),
        ("Fix prettier output", True),  # a formatter, but of another language
        ("Fix what black left", False),
        ("Merge defaults to settings, which crashed", True),
        ("Merge lists to avoid a crash", True),
        ("Merge remote-tracking branch 'origin/fix' into main", False),
        ("Merge pull request #3 from a/fix", False),
        ("Revert to the old default when a lookup fails", True),
        ("Reverts the fix of names", False),
        ("Reverted the fix of names", False),
    ],
)
def test_a_change_mends_if_its_subject_or_prose_says_so(message: str, expected: bool) -> None:  # noqa: FBT001
    change = Change(commit="a", parent="b", tree="c", seconds=0, day="2025-06-01", author="a", message=message)
    assert mends(change, ["shop.py"]) is expected


def test_only_what_tests_read_is_data_of_a_fix() -> None:
    data, others = ["tests/carts.txt"], ["CHANGES.md", "docs/test_guide.md", "web/cart.test.js"]
    changed = {"shop.py": "M", "tests/test_shop.py": "M"} | dict.fromkeys([*data, *others], "A")
    parts = parts_of(changed)
    assert parts is not None
    assert (parts.data, sorted(parts.others)) == (tuple(data), others)


def test_the_number_of_an_issue_is_no_word_on_a_fault() -> None:
    message = "Fix wraps, which fixes #123"
    change = Change(commit="a", parent="b", tree="c", seconds=0, day="2025-06-01", author="a", message=message)
    assert subject_of(change) == "Fix wraps"


@pytest.mark.parametrize(
    ("head", "mended", "lines"),
    [
        ("a = 1\nb = 2\nc = 3\n", "a = 1\nb = 2\nd = 4\nc = 3\n", (2, 2)),
        ("a = 1\nb = 2\nc = 3\n", "a = 1\nb = 3\nc = 4\n", (2, 3)),
        ("import a\n\n\n\n\n\n\n\nb = 1\n", "import a, c\n\n\n\n\n\n\n\nb = 2\n", (9, 9)),
        ('"""Long\nwords.\n"""\n\n\n\n\n\n\na = 1\n', '"""Other\nwords\nhere.\n"""\n\n\n\n\n\n\na = 2\n', (10, 10)),
    ],
    ids=["the line before what is added", "changed lines", "code and not imports", "code and not words"],
)
def test_a_comment_stands_where_code_changes(
    shop_history: Path, head: str, mended: str, lines: tuple[int, int]
) -> None:
    with open_repository(shop_history) as repository:
        trees = [repository.with_files(repository.tree("HEAD"), {"shop.py": text}) for text in (head, mended)]
        assert place_of(repository, trees[0], trees[1], "") == ("shop.py", lines)


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        ("Fix the crash of empty carts", "has a fault here. Fix crash of empty carts."),
        ("Don't mutate styles", "does not do what it should here: Don't mutate styles."),
        ("Proposed fix for issue #358", "does not do what it should here."),
        ("A few minor fixes", "does not do what it should here."),
        ("Test and fix for #348", "does not do what it should here."),
    ],
)
def test_the_subject_of_a_fix_becomes_words_on_a_fault(subject: str, words: str) -> None:
    assert fault_in(subject) == words


def test_a_twin_goes_with_its_instance_and_a_ruling_stays(
    proposed: dict[str, PullCandidate | Rejection], shop_history: Path, tmp_path: Path
) -> None:
    found = [
        kept(proposed[each]) for each in ("Fix discounts, which took the share as a price", "Fix the number of places")
    ]
    found[0] = dataclasses.replace(found[0], tags={**found[0].tags, "fixed_on": "2024-06-01"})
    listing = Listing(source=ListedSource(source="shop", identity={}), candidates=tuple(found))
    out, store = tmp_path / "set", FileStore(tmp_path / ".crab")

    def publish(*, twins: bool = True) -> set[str]:
        with open_repository(shop_history) as repository, ExitStack() as stack:
            services = CurationServices(
                stack=stack, settings=load_settings(tmp_path), store=tmp_path / ".crab", runtime="local", jobs=1,
                budget=None, replay=True,
            )  # fmt: skip
            twin = functools.partial(clean_twin, repository) if twins else None
            run_stages(listing, [Publishing()], services, store, out, twin=twin)
        return {path.name for path in out.iterdir() if path.is_dir()}

    first, second = (one.id for one in found)
    assert publish() == {first, twin_id(first), second, twin_id(second)}
    days = [load_instance(out / one).pull_request.merged_at for one in (first, second)]
    assert days == ["2024-06-01", "2025-06-01"]  # that of an older fix, and that of the change
    assert "code" in (out / "LICENCES.md").read_text()
    ruling = {"candidate": first, "comment": "c0", "ruling": "reject", "by": "ann", "reason": "taste"}
    (out / "rulings.json").write_text(json.dumps({"schema": 1, "rulings": [ruling]}))
    assert publish() == publish() == {second, twin_id(second)}
    assert publish(twins=False) == {second}
