"""The stage that finds an environment: the dated ladder first, and behind it a model that proposes a recipe.

A recipe is declarative: what to rebuild, which command tests, where its JUnit report lies. Deterministic code resolves
its requirements as of the head commit, builds it and runs it on both sides of the pull request.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from typing_extensions import override

from pytest_crab import ecosystems, serialization
from pytest_crab.clients.prompting import as_data
from pytest_crab.curation.certify import SOURCE, diagnosis_of, is_given, open_search
from pytest_crab.curation.environment_probe import (
    TESTS,
    JUnitCommand,
    changed_modules,
    changed_tests,
    commands_to_show,
    probe,
    write_probes,
)
from pytest_crab.curation.environment_search import BARE, Attempt, Candidate, EnvironmentSearch
from pytest_crab.curation.pinning import Requirements
from pytest_crab.curation.proposals import Proposing, last_json
from pytest_crab.curation.publish import to_instance
from pytest_crab.curation.stages import CurationContext, Rejection, Stage
from pytest_crab.ecosystems.python.manifests import import_roots
from pytest_crab.scratch import scratch
from pytest_crab.text import one_line
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import CandidateComment, Comment, Environment, Instance, PullCandidate

#: The word for a model's recipe, where an environment comes from.
RECIPE = "recipe"

#: The doubt about an environment in which modules can be imported and tests do not pass.
UNTESTED = "the changed tests do not pass in the environment"

#: So much of a manifest is shown, and so many names of files.
_LONGEST_MANIFEST, _MOST_NAMES = 6_000, 300

#: So many characters say in the funnel why no environment was found.
_LONGEST_REASON = 1_000

_MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "requirements*.txt", "Makefile")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A model's proposal of an environment."""

    python: str | None = None
    #: They have no addresses.
    requirements: tuple[str, ...] = ()
    #: Whether the requirements of the project's manifest and of its ``extras`` are added.
    project: bool = False
    extras: tuple[str, ...] = ()
    #: Requirements files of the tree.
    files: tuple[str, ...] = ()
    #: Packages of Debian.
    system: tuple[str, ...] = ()
    #: Shell commands that run when the environment is built.
    rebuild: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    #: A command that writes the JUnit report ``report``.
    test: tuple[str, ...]
    report: str

    def __post_init__(self) -> None:
        for line in self.requirements:
            try:
                if Requirement(line).url is not None:
                    raise ValueError(f"requirements has {line!r}; one with an address of its own has no date")
            except InvalidRequirement as error:
                raise ValueError(f"requirements has {line!r}, which is none: {error}") from error
        if not self.test:
            raise ValueError("test should be a command")
        for name in (self.report, *self.files, *self.paths):
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise ValueError(f"{name} should be a path in the project")

    def wanted(self) -> Requirements:
        """Return what is to be resolved."""
        projects = (".",) if self.project else ()
        return Requirements(
            requirements=(*BARE, *self.requirements), files=self.files, projects=projects, extras=self.extras
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEnvironment:
    """An environment that holds."""

    environment: Environment
    #: Where it comes from.
    source: str
    #: The command of its tests.
    tests: JUnitCommand | None = None
    #: A doubt about it.
    doubt: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentFinding(Proposing, Stage):
    """Finds an environment for each candidate that has none.

    One holds if the changed modules can be imported and the changed tests pass, at head and at merged, twice each,
    without network. Where no rung of the ladder holds, a model proposes a recipe, at most ``attempts`` times. The other
    settings are those of ``single-shot``.
    """

    role = "propose-environment"
    name = "environment"
    version = 6

    #: The model that proposes; without one there is the ladder alone.
    model: str = ""

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"version": self.version, **self.writer_identity()}

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        if candidate.environment is not None and is_given(candidate.environment):
            return candidate
        if candidate.source is None or candidate.source.merged is None:
            return Rejection(reason="no merged commit, on which an environment could be tried")
        if ecosystems.of_language(candidate.language) is not ecosystems.DEFAULT:
            return candidate  # its environment is found with its oracles
        if candidate.language not in ("", ecosystems.DEFAULT.name):
            return Rejection(reason=f"no environment is looked for where the language is {candidate.language}")
        with scratch("environment") as folder:
            found = _Finding(self, candidate, context, folder).find()
        if isinstance(found, str):
            return Rejection(reason="no environment was found", detail=one_line(found, _LONGEST_REASON))
        return dataclasses.replace(
            candidate,
            environment=found.environment,
            pass_to_pass=() if found.tests is None else found.tests.command,
            tags={**candidate.tags, SOURCE: found.source},
            flags=(*candidate.flags, *([found.doubt] if found.doubt else [])),
        )


class _Finding:
    """The search for one candidate."""

    def __init__(
        self, settings: EnvironmentFinding, candidate: PullCandidate, context: CurationContext, scratch: Path
    ) -> None:
        self._settings = settings
        self._candidate = candidate
        self._context = context
        self._scratch = scratch
        self._crew, self._run_context = context.proving()
        self._path = next((one.comment.path for one in candidate.comments), "setup.py")
        self._plain = self._trial(self._instance("plain", None))
        self._tree = scratch / "tree"
        self._modules: tuple[str, ...] = ()
        self._tried = ""

    def _instance(self, name: str, tests: JUnitCommand | None, modules: Sequence[str] = ()) -> Instance:
        """Return an instance whose oracles are the probes of these modules and tests."""
        folder = self._scratch / name / self._candidate.id
        probes = write_probes(folder, self._path, modules, tests)
        probes = probes or (Comment(id="none", path=self._path, body="none"),)
        probed = dataclasses.replace(
            self._candidate,
            comments=tuple(CandidateComment(comment=one) for one in probes),
            environment=Environment(dockerfile="python"),
            pass_to_pass=() if tests is None else tests.command,
        )
        return to_instance(probed, folder)

    def _trial(self, instance: Instance) -> TrialContext:
        return TrialContext(instance, self._crew, self._run_context)

    def find(self) -> FoundEnvironment | str:
        """Return the environment, or why there is none.

        Raises SourceError, EngineError, ImageError, ModelError, Cancelled.
        """
        snapshot = self._plain.snapshot
        snapshot.clone(self._tree)
        self._modules = changed_modules(snapshot, import_roots(self._tree, [self._path]))
        tests = changed_tests(snapshot)
        ladder = self._climb(tests) if self._modules or tests else "it changes no module and no test"
        if isinstance(ladder, FoundEnvironment) and ladder.doubt is None:
            return ladder
        if not self._settings.model:
            return ladder
        fault = self._tried or (ladder if isinstance(ladder, str) else str(ladder.doubt))
        proposed = self._settings.propose(self._question(fault), self._try, self._services, self._context)
        return ladder if isinstance(proposed, str) and isinstance(ladder, FoundEnvironment) else proposed

    def _climb(self, tests: JUnitCommand | None) -> FoundEnvironment | str:
        instance = self._instance("ladder", tests, self._modules)
        with self._search(instance, tests) as search:
            best = search.search()
            self._tried = "\n".join(_steps(search))
            if best is None or not best.proved:
                return _faults(search, best)
            environment, rung = best.candidate.environment, best.candidate.name
            if best.whole:
                return FoundEnvironment(environment=environment, source=rung, tests=tests)
            if any(one.proof is None and one.comment.id != TESTS for one in best.proven):
                return _faults(search, best)
            return FoundEnvironment(environment=environment, source=rung, doubt=UNTESTED)

    def _search(self, instance: Instance, tests: JUnitCommand | None) -> AbstractContextManager[EnvironmentSearch]:
        """Return the search of an environment in which the probes pass."""
        prover = functools.partial(probe, shown=commands_to_show(self._modules, tests))
        return open_search(instance, self._crew, self._run_context, self._context.notice, prover)

    def _try(self, answer: str, number: int) -> FoundEnvironment | str:
        """Return the environment of a model's answer if it holds, else why not, in words for the model."""
        recipe = read_recipe(answer)
        if isinstance(recipe, str):
            return recipe
        tests = JUnitCommand(command=recipe.test, report=recipe.report)
        instance = self._instance(f"recipe-{number}", tests, self._modules)
        with self._search(instance, tests) as search:
            environment = search.resolve(RECIPE, recipe.wanted(), python=recipe.python)
            if environment is None:
                search.blame_machine()
                return "\n".join(search.problems)
            changes: dict[str, Any] = {"install": recipe.rebuild, "system": recipe.system, "env": recipe.env}
            changes |= {"paths": recipe.paths} if recipe.paths else {}
            tried = search.attempt(Candidate(name=RECIPE, environment=dataclasses.replace(environment, **changes)))
            if not tried.whole:
                search.blame_machine()
                return _faults(search, tried)
            return FoundEnvironment(environment=tried.candidate.environment, source=RECIPE, tests=tests)

    def _services(self, number: int) -> Any:
        self._context.notice(f"recipe, attempt {number}")
        return self._plain.services(f"environment-{number}")

    def _question(self, fault: str) -> str:
        tree = self._tree
        names = sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*") if ".git" not in path.parts)
        manifests = [
            f"{path.name}:\n{path.read_text('utf-8', 'replace')[:_LONGEST_MANIFEST]}"
            for pattern in _MANIFESTS
            for path in sorted(tree.glob(pattern))
            if path.is_file() and not path.is_symlink()
        ]
        changed = ", ".join(self._modules) or "none"
        merged = self._candidate.pull_request.merged_at or "at a time unknown"
        parts = [
            f"The project: {self._candidate.repo}, merged {merged}.",
            f"Changed modules: {changed}.",
            f"What was tried without you failed:\n{fault}",
            "Files:\n" + "\n".join(names[:_MOST_NAMES]),
            *manifests,
        ]
        return as_data(self._settings.instructions(), "\n\n".join(parts))


def read_recipe(answer: str) -> Recipe | str:
    """Return the recipe of an answer, the last block of JSON, or what is wrong with it."""
    try:
        value = last_json(answer)
    except ValueError as error:
        return str(error)
    problems: list[str] = []
    recipe = serialization.read(Recipe, value, problems)
    return "; ".join(problems) if recipe is None else recipe


def _faults(search: EnvironmentSearch, attempt: Attempt | None) -> str:
    """Return why an attempt does not hold: its probes, the modules that are missing, or the build's own sentence."""
    if attempt is None or attempt.problem is not None:
        return "; ".join(dict.fromkeys(search.problems)) or "no environment could be made"
    missing = diagnosis_of(attempt).missing
    named = [f"not importable: {', '.join(missing)}"] if missing else []
    return "\n".join([*_probe_problems(attempt), *named, *dict.fromkeys(search.problems)])


def _steps(search: EnvironmentSearch) -> Iterator[str]:
    """Yield what each environment was, and how it failed: the last lines of its build, or of its probes' commands."""
    for attempt in search.attempts:
        environment = attempt.candidate.environment
        yield f"{attempt.candidate.name}, CPython {environment.python} with {' '.join(environment.packages)}:"
        yield from [attempt.problem] if attempt.problem is not None else _probe_problems(attempt)
    yield from dict.fromkeys(search.problems)


def _probe_problems(attempt: Attempt) -> list[str]:
    return [f"{one.comment.id}: {one.problem}" for one in attempt.proven if one.problem is not None]
