"""The order of rungs, what each asks for, and which attempt is kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from datetime import datetime
from datetime import timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.curation.diagnose import Diagnosis
from pytest_crab.curation.ladder import Attempt
from pytest_crab.curation.ladder import Ladder
from pytest_crab.curation.ladder import Rung
from pytest_crab.curation.ladder import Sides
from pytest_crab.curation.resolve import Requirements
from pytest_crab.errors import ImageError
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.types import Category
from pytest_crab.types import Comment
from pytest_crab.types import Environment
from pytest_crab.types import GitSource
from pytest_crab.types import Instance
from pytest_crab.types import Kind
from pytest_crab.types import Oracle
from pytest_crab.types import Proof
from pytest_crab.types import Provenance
from pytest_crab.types import PullRequestFacts
from pytest_crab.types import Source

COMMENTS = tuple(
    Comment(
        id=name,
        path="core/shop.py",
        body="x",
        category=Category.DESIGN,
        kind=Kind.STRUCTURAL,
        oracle=Oracle(file=f"test_{name}.py"),
    )
    for name in ("c0", "c1")
)


@dataclass
class Index:
    """Stands for uv: pins are the requirements themselves, with version 1; some cannot be had."""

    lacking: tuple[str, ...] = ()
    asked: list[tuple[Requirements, str, str]] = field(default_factory=list)

    def pins(self, wanted: Requirements, tree: Path, python: str, moment: str) -> tuple[str, ...]:
        self.asked.append((wanted, python, moment))
        names = [*wanted.requirements, *wanted.files, *(f"of {folder} {tree.name}" for folder in wanted.projects)]
        for name in names:
            if name in self.lacking:
                raise ImageError(f"there is no {name}")
        return tuple(sorted(f"{name}{''.join(wanted.extras)}==1" for name in names))


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    return Instance(
        id="shop-7",
        folder=str(tmp_path),
        provenance=Provenance.GITHUB,
        repo="owner/shop",
        license="MIT",
        pull_request=PullRequestFacts(number=7, title="Count"),
        source=Source(git=GitSource(url="https://git.invalid/o/shop", base="a" * 40, head="b" * 40, merged="c" * 40)),
        environment=Environment(dockerfile="python", timeout=50, env={"A": "b"}),
        comments=COMMENTS,
    )


@pytest.fixture
def climb(tmp_path: Path, instance: Instance) -> Callable[..., Ladder]:
    """Climb where ``proves`` says how many oracles an environment proves, by the first word that is in its pins."""
    for side in ("head", "merged"):
        (tmp_path / side / "core").mkdir(parents=True)
        (tmp_path / side / "core" / "setup.py").write_text("")
        (tmp_path / side / "core" / "shop.py").write_text("")
        (tmp_path / side / "core" / "requirements.txt").write_text("")
        (tmp_path / side / "dev-requirements.txt").write_text("")

    def run(
        proves: Mapping[str, int],
        diagnosis: Diagnosis | None = None,
        index: Index | None = None,
        environment: Environment | None = None,
        broken: Mapping[str, bool] | None = None,
    ) -> Ladder:
        """``broken`` are pins that do not install, and whether the installer names them."""

        def attempt(rung: Rung) -> Attempt:
            text = " ".join([*rung.environment.packages, *rung.environment.install])
            bad = next((pin for pin in broken or {} if pin in rung.environment.packages), None)
            if bad is not None:
                named = (bad,) if (broken or {})[bad] else ()
                return Attempt(rung=rung, context=None, problem=f"{bad} breaks", blamed=named)  # type: ignore[arg-type]
            proved = next((number for word, number in proves.items() if word in text), 0)
            proof = Proof(comment="c0", expected=("t",), runs=2, flake_bound=0.7)
            proven = tuple(
                ProvedComment(comment=comment, key="k", proof=proof if number < proved else None)
                for number, comment in enumerate(COMMENTS)
            )
            stage: Any = None
            return Attempt(rung=rung, context=stage, proven=proven)

        wanted = instance if environment is None else dataclasses.replace(instance, environment=environment)
        sides = Sides(
            head=tmp_path / "head",
            merged=lambda: tmp_path / "merged",
            head_date=datetime(2021, 2, 6, 3, 10, 40, tzinfo=timezone.utc),
            merged_date=datetime(2021, 3, 1, tzinfo=timezone.utc),
        )
        resolver: Any = index or Index()
        ladder = Ladder(wanted, sides, resolver, ("3.8", "3.9"), attempt, lambda _: diagnosis or Diagnosis())
        ladder.climb()
        return ladder

    return run


def names(ladder: Ladder) -> list[str]:
    return [attempt.rung.name for attempt in ladder.attempts]


def best(ladder: Ladder) -> Attempt:
    assert ladder.best is not None
    return ladder.best


def test_the_barest_that_proves_all_is_enough(climb: Callable[..., Ladder]) -> None:
    ladder = climb({"pytest": 2})
    assert names(ladder) == ["bare"]
    environment = best(ladder).rung.environment
    assert environment.python == "3.8"
    assert environment.resolved == "2021-02-07T03:10:40Z"
    assert environment.packages == ("pytest==1", "setuptools==1")
    assert environment.paths == (".", "core")
    assert (environment.timeout, environment.env) == (50, {"A": "b"})


def test_declared_is_the_project_of_the_commented_file(climb: Callable[..., Ladder]) -> None:
    ladder = climb({"of core head": 2})
    assert names(ladder) == ["bare", "declared"]


def test_requirements_files_stand_in_for_a_manifest_that_leads_nowhere(climb: Callable[..., Ladder]) -> None:
    ladder = climb({"core/requirements.txt": 2}, index=Index(lacking=("of core head",)))
    assert names(ladder) == ["bare", "declared"]
    assert ladder.problems == ["declared: there is no of core head"]


def test_missing_modules_are_added_one_after_the_other(climb: Callable[..., Ladder]) -> None:
    diagnosis = Diagnosis(missing=("yaml", "gone.inner"), vain=("shop", "later", "json"))
    ladder = climb({"later": 2}, diagnosis, Index(lacking=("gone",)))
    assert names(ladder) == ["bare", "declared", "missing", "missing"]
    assert best(ladder).rung.environment.packages == (
        "later==1", "of core head==1", "pytest==1", "pyyaml==1", "setuptools==1",
    )  # fmt: skip


def test_every_rung_in_its_order_when_nothing_helps(climb: Callable[..., Ladder]) -> None:
    ladder = climb({})
    assert list(dict.fromkeys(names(ladder))) == ["bare", "declared", "tests", "installed", "merged"]
    assert best(ladder).rung.name == "tests"
    install = next(attempt for attempt in ladder.attempts if attempt.rung.name == "installed").rung.environment.install
    assert install == ("pip install --no-build-isolation --no-deps -e ./core",)


def test_the_merged_side_is_resolved_as_of_its_own_day(climb: Callable[..., Ladder]) -> None:
    index = Index()
    ladder = climb({"of core merged": 2}, index=index)
    assert names(ladder)[-1] == "merged"
    assert best(ladder).rung.environment.resolved == "2021-03-02T00:00:00Z"


def test_what_head_declares_besides_is_added_to_the_merged_side(climb: Callable[..., Ladder]) -> None:
    index = Index()
    ladder = climb({"of core head==1 of core merged==1": 2}, index=index)
    assert names(ladder)[-2:] == ["merged", "merged"]
    assert index.asked[-1][0].requirements == ("pytest", "setuptools", "of core head")


def test_the_first_of_those_that_prove_most_is_kept(climb: Callable[..., Ladder]) -> None:
    assert best(climb({"of core head": 1})).rung.name == "declared"


def test_a_python_that_is_given_stays(climb: Callable[..., Ladder]) -> None:
    ladder = climb({"pytest": 2}, environment=Environment(dockerfile="python", python="3.9"))
    assert best(ladder).rung.environment.python == "3.9"


def test_nothing_to_be_had_is_no_attempt_and_a_sentence(climb: Callable[..., Ladder]) -> None:
    ladder = climb({}, index=Index(lacking=("pytest",)))
    assert ladder.best is None
    assert "bare: there is no pytest" in ladder.problems


def carried(ladder: Ladder, pin: str) -> int:
    """How many environments were tried with a package."""
    return sum(pin in attempt.rung.environment.packages for attempt in ladder.attempts)


def test_what_resolves_and_does_not_install_is_tried_once_and_dropped(climb: Callable[..., Ladder]) -> None:
    diagnosis = Diagnosis(missing=("yaml", "later"))
    ladder = climb({"later==1 pytest==1 pyyaml==1": 2}, diagnosis, broken={"of core head==1": True})
    assert names(ladder) == ["bare", "declared", "declared", "missing", "missing"]
    assert carried(ladder, "of core head==1") == 1
    assert ladder.dropped == {("3.8", "of core head==1"): "of core head==1 breaks"}


def test_several_that_do_not_install_are_dropped_one_after_the_other(climb: Callable[..., Ladder]) -> None:
    broken = {"of core head==1": True, "dev-requirements.txt==1": True, "core/requirements.txt==1": True}
    ladder = climb({}, broken=broken)
    assert {pin: carried(ladder, pin) for pin in broken} == dict.fromkeys(broken, 1)
    assert {pin for _, pin in ladder.dropped} == set(broken)


def test_an_install_that_fails_for_no_named_package_leaves_what_is_wanted_as_it_was(
    climb: Callable[..., Ladder],
) -> None:
    diagnosis = Diagnosis(missing=("gone", "yaml"))
    ladder = climb({"pyyaml": 2}, diagnosis, broken={"of core head==1": False, "gone==1": False})
    assert carried(ladder, "of core head==1") == 1
    assert carried(ladder, "gone==1") == 1
    assert best(ladder).rung.environment.packages == (
        "core/requirements.txt==1",
        "pytest==1",
        "pyyaml==1",
        "setuptools==1",
    )


def test_what_every_environment_has_is_never_dropped(climb: Callable[..., Ladder]) -> None:
    ladder = climb({}, broken={"pytest==1": True})
    assert ladder.dropped == {}
    assert all(attempt.problem for attempt in ladder.attempts)
