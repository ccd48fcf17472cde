"""The order of candidates, what each asks for, and which attempt is kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from pytest_crab.curation.environment_search import Attempt, Candidate, Checkouts, EnvironmentSearch
from pytest_crab.curation.missing_modules import Diagnosis
from pytest_crab.curation.pinning import Requirements
from pytest_crab.errors import ImageError
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.types import (
    Category,
    Comment,
    Environment,
    GitSource,
    Instance,
    Kind,
    Oracle,
    Proof,
    Provenance,
    PullRequestFacts,
    Source,
)

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

#: Runs a search; see the fixture.
RunSearch = Callable[..., EnvironmentSearch]


@dataclass
class Index:
    """Stands for uv: pins are the requirements themselves, with version 1; some cannot be had."""

    lacking: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    asked: list[tuple[Requirements, str, str]] = field(default_factory=list)

    def pins(self, wanted: Requirements, tree: Path, python: str, moment: str) -> tuple[str, ...]:
        self.asked.append((wanted, python, moment))
        names = [*wanted.requirements, *wanted.files, *(f"of {folder} {tree.name}" for folder in wanted.projects)]
        for name in names:
            if name in self.lacking:
                raise ImageError(f"there is no {name}")
            if name in self.silent:
                raise ImageError(f"no answer for {name}", of_machine=True)
        projects = (f"of {folder} {tree.name}{''.join(wanted.extras)}" for folder in wanted.projects)
        return tuple(sorted(f"{name}==1" for name in (*wanted.requirements, *wanted.files, *projects)))


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
def run_search(tmp_path: Path, instance: Instance) -> Callable[..., EnvironmentSearch]:
    """Search where ``proves`` says how many oracles an environment proves, by the first word that is in its pins."""
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
        *,
        tests_first: bool = False,
        seconds: float | None = None,
    ) -> EnvironmentSearch:
        """``broken`` are pins that do not install, and whether the installer names them."""

        def attempt(candidate: Candidate) -> Attempt:
            text = " ".join([*candidate.environment.packages, *candidate.environment.install])
            bad = next((pin for pin in broken or {} if pin in candidate.environment.packages), None)
            if bad is not None:
                named = (bad,) if (broken or {})[bad] else ()
                return Attempt(candidate=candidate, context=None, problem=f"{bad} breaks", blamed=named)  # type: ignore[arg-type]
            proved = next((number for word, number in proves.items() if word in text), 0)
            proof = Proof(comment="c0", expected=("t",), runs=2, flake_bound=0.7)
            proven = tuple(
                ProvedComment(comment=comment, key="k", proof=proof if number < proved else None)
                for number, comment in enumerate(COMMENTS)
            )
            stage: Any = None
            return Attempt(candidate=candidate, context=stage, proven=proven)

        wanted = instance if environment is None else dataclasses.replace(instance, environment=environment)
        checkouts = Checkouts(
            head=tmp_path / "head",
            merged=lambda: tmp_path / "merged",
            head_date=datetime(2021, 2, 6, 3, 10, 40, tzinfo=timezone.utc),
            merged_date=datetime(2021, 3, 1, tzinfo=timezone.utc),
        )
        resolver: Any = index or Index()
        search = EnvironmentSearch(
            wanted, checkouts, resolver, ("3.8", "3.9"), attempt, lambda _: diagnosis or Diagnosis()
        )
        search.search(tests_first=tests_first, seconds=seconds)
        return search

    return run


def names(search: EnvironmentSearch) -> list[str]:
    return [attempt.candidate.name for attempt in search.attempts]


def best(search: EnvironmentSearch) -> Attempt:
    assert search.best is not None
    return search.best


def test_the_barest_that_proves_all_is_enough(run_search: RunSearch) -> None:
    search = run_search({"pytest": 2})
    assert names(search) == ["bare"]
    environment = best(search).candidate.environment
    assert environment.python == "3.8"
    assert environment.resolved == "2021-02-07T03:10:40Z"
    assert environment.packages == ("pytest==1", "setuptools==1")
    assert environment.paths == (".", "core")
    assert (environment.timeout, environment.env) == (50, {"A": "b"})


def test_import_roots_that_the_file_names_are_kept(run_search: RunSearch) -> None:
    search = run_search({"pytest": 2}, environment=Environment(dockerfile="python", paths=("core/lib",)))
    assert best(search).candidate.environment.paths == ("core/lib",)


def test_declared_is_the_project_of_the_commented_file(run_search: RunSearch) -> None:
    search = run_search({"of core head": 2})
    assert names(search) == ["bare", "declared"]


def test_requirements_files_stand_in_for_a_manifest_that_leads_nowhere(
    run_search: RunSearch,
) -> None:
    search = run_search({"core/requirements.txt": 2}, index=Index(lacking=("of core head",)))
    assert names(search) == ["bare", "declared"]
    assert search.problems == ["declared: there is no of core head"]


def test_missing_modules_are_added_one_after_the_other(run_search: RunSearch) -> None:
    diagnosis = Diagnosis(missing=("yaml", "gone.inner"), vain=("shop", "later", "json"))
    search = run_search({"later": 2}, diagnosis, Index(lacking=("gone",)))
    assert names(search) == ["bare", "declared", "missing", "missing"]
    assert best(search).candidate.environment.packages == (
        "later==1", "of core head==1", "pytest==1", "pyyaml==1", "setuptools==1",
    )  # fmt: skip


def test_every_candidate_in_its_order_when_nothing_helps(run_search: RunSearch) -> None:
    search = run_search({})
    assert list(dict.fromkeys(names(search))) == ["bare", "declared", "tests", "installed", "merged"]
    assert best(search).candidate.name == "tests"
    install = next(
        attempt for attempt in search.attempts if attempt.candidate.name == "installed"
    ).candidate.environment.install
    assert install == ("pip install --no-build-isolation --no-deps -e ./core",)


def test_what_the_projects_tests_need_may_come_first(run_search: RunSearch) -> None:
    search = run_search({}, tests_first=True)
    assert list(dict.fromkeys(names(search))) == ["tests", "installed", "bare", "declared", "merged"]


def test_a_search_whose_time_is_over_begins_no_further_candidate_and_says_so(run_search: RunSearch) -> None:
    search = run_search({}, seconds=-1)
    assert names(search) == ["bare"]
    assert "no further environment was tried" in search.problems[-1]


def test_extras_and_groups_are_tried_where_the_project_needs_nothing_itself(
    run_search: RunSearch, tmp_path: Path
) -> None:
    (tmp_path / "head" / "core" / "requirements.txt").unlink()
    (tmp_path / "head" / "dev-requirements.txt").unlink()
    (tmp_path / "head" / "core" / "pyproject.toml").write_text(
        "[project]\nname = 'shop'\n[project.optional-dependencies]\nunit-tests = ['mocks']\ndocs = ['pages']\n"
        "[dependency-groups]\ntest = ['grouped']\n"
    )

    class Nothing(Index):
        """The project declares no requirement: without extras it adds no pin."""

        def pins(self, wanted: Requirements, tree: Path, python: str, moment: str) -> tuple[str, ...]:
            found = super().pins(wanted, tree, python, moment)
            return found if wanted.extras else tuple(pin for pin in found if not pin.startswith("of core"))

    search = run_search({"unit-tests": 2}, index=Nothing())
    assert names(search) == ["bare", "tests"]
    assert set(best(search).candidate.environment.packages) == {
        "grouped==1", "of core headtestteststestingunit-tests==1", "pytest==1", "setuptools==1",
    }  # fmt: skip
    alone = run_search({"grouped": 2}, index=Nothing(lacking=("of core head",)))
    assert best(alone).candidate.environment.packages == ("grouped==1", "pytest==1", "setuptools==1")


def test_pytest_itself_is_resolved_apart_and_never_installed_from_its_tree(
    run_search: RunSearch, tmp_path: Path
) -> None:
    (tmp_path / "head" / "core" / "_pytest").mkdir()
    (tmp_path / "head" / "core" / "_pytest" / "__init__.py").write_text("")
    index = Index()
    search = run_search({}, index=index)
    assert "installed" not in names(search)
    declared = next(one for one in search.attempts if one.candidate.name == "declared").candidate.environment
    assert {"pytest==1", "of core headtestteststestingdev==1"} <= set(declared.packages)
    assert not [wanted for wanted, _, _ in index.asked if wanted.projects and "pytest" in wanted.requirements]


def test_what_builds_the_project_is_there_when_it_is_installed(run_search: RunSearch, tmp_path: Path) -> None:
    (tmp_path / "head" / "core" / "pyproject.toml").write_text('[build-system]\nrequires = ["hatchling>=1"]\n')
    search = run_search({"hatchling>=1": 2})
    found = best(search).candidate
    assert (found.name, found.environment.python) == ("installed", "3.8")
    assert {"hatchling>=1==1", "editables==1"} <= set(found.environment.packages)
    assert found.environment.install == ("pip install --no-build-isolation --no-deps -e ./core",)
    without = run_search({}, index=Index(lacking=("hatchling>=1",)))
    assert "installed: there is no hatchling>=1" in without.problems
    assert "installed" in names(without)


def test_the_merged_side_is_resolved_as_of_its_own_day(run_search: RunSearch) -> None:
    index = Index()
    search = run_search({"of core merged": 2}, index=index)
    assert names(search)[-1] == "merged"
    assert best(search).candidate.environment.resolved == "2021-03-02T00:00:00Z"


def test_what_head_declares_besides_is_added_to_the_merged_side(run_search: RunSearch) -> None:
    index = Index()
    search = run_search({"of core head==1 of core merged==1": 2}, index=index)
    assert names(search)[-2:] == ["merged", "merged"]
    assert index.asked[-1][0].requirements == ("pytest", "setuptools", "of core head")


def test_the_first_of_those_that_prove_most_is_kept(run_search: RunSearch) -> None:
    assert best(run_search({"of core head": 1})).candidate.name == "declared"


def test_a_python_that_is_given_stays(run_search: RunSearch) -> None:
    search = run_search({"pytest": 2}, environment=Environment(dockerfile="python", python="3.9"))
    assert best(search).candidate.environment.python == "3.9"


def test_nothing_to_be_had_is_no_attempt_and_a_sentence(run_search: RunSearch) -> None:
    search = run_search({}, index=Index(lacking=("pytest",)))
    assert search.best is None
    assert "bare: there is no pytest" in search.problems


def test_nothing_proved_while_a_server_is_silent_is_no_result(run_search: RunSearch) -> None:
    with pytest.raises(ImageError, match="no answer for of core head") as caught:
        run_search({}, index=Index(silent=("of core head",)))
    assert caught.value.of_machine
    assert best(run_search({"dev": 1}, index=Index(silent=("of core head",)))).proved == 1


def carried(search: EnvironmentSearch, pin: str) -> int:
    """How many environments were tried with a package."""
    return sum(pin in attempt.candidate.environment.packages for attempt in search.attempts)


def test_what_resolves_and_does_not_install_is_tried_once_and_dropped(
    run_search: RunSearch,
) -> None:
    diagnosis = Diagnosis(missing=("yaml", "later"))
    search = run_search({"later==1 pytest==1 pyyaml==1": 2}, diagnosis, broken={"of core head==1": True})
    assert names(search) == ["bare", "declared", "declared", "missing", "missing"]
    assert carried(search, "of core head==1") == 1
    assert search.dropped == {("3.8", "of core head==1"): "of core head==1 breaks"}


def test_several_that_do_not_install_are_dropped_one_after_the_other(
    run_search: RunSearch,
) -> None:
    broken = {"of core head==1": True, "dev-requirements.txt==1": True, "core/requirements.txt==1": True}
    search = run_search({}, broken=broken)
    assert {pin: carried(search, pin) for pin in broken} == dict.fromkeys(broken, 1)
    assert {pin for _, pin in search.dropped} == set(broken)


def test_an_install_that_fails_for_no_named_package_leaves_what_is_wanted_as_it_was(
    run_search: RunSearch,
) -> None:
    diagnosis = Diagnosis(missing=("gone", "yaml"))
    search = run_search({"pyyaml": 2}, diagnosis, broken={"of core head==1": False, "gone==1": False})
    assert carried(search, "of core head==1") == 1
    assert carried(search, "gone==1") == 1
    assert best(search).candidate.environment.packages == (
        "core/requirements.txt==1",
        "pytest==1",
        "pyyaml==1",
        "setuptools==1",
    )


def test_what_every_environment_has_is_never_dropped(run_search: RunSearch) -> None:
    search = run_search({}, broken={"pytest==1": True})
    assert search.dropped == {}
    assert all(attempt.problem for attempt in search.attempts)
