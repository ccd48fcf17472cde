"""Search an environment for a pull request that names none: candidates from the barest up, each with its own proof."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name

from pytest_crab.curation.missing_modules import Diagnosis
from pytest_crab.curation.pinning import Requirements, Resolver
from pytest_crab.ecosystems.interpreters import RELEASED
from pytest_crab.ecosystems.python import manifests, test_requirements, versions
from pytest_crab.ecosystems.python.module_packages import distribution_of
from pytest_crab.errors import ImageError
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Environment, Instance

#: What every environment has: the runner, and what old projects expect to find beside it.
BARE = ("pytest", "setuptools")

#: How many missing modules are added at most.
_MOST_MISSING = 8

#: Much of what a tree looks for in vain it does well without.
_MOST_VAIN = 3

#: The import roots of an instance whose file names none.
_NO_PATHS = (".",)

_INSTALL = "pip install --no-build-isolation --no-deps -e {folder}"
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One environment to try."""

    #: That of its source, under which it is recorded.
    name: str
    environment: Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The result of a candidate."""

    candidate: Candidate
    context: TrialContext
    #: The oracles with their proofs.
    proven: tuple[ProvedComment, ...] = ()
    #: Why nothing could be proved.
    problem: str | None = None
    #: The pins for which the environment could not be installed.
    blamed: tuple[str, ...] = ()
    #: As in ImageError.
    of_machine: bool = False

    @property
    def proved(self) -> int:
        """The number of oracles that were proved."""
        return sum(one.proof is not None for one in self.proven)

    @property
    def whole(self) -> bool:
        """True if every oracle was proved."""
        return bool(self.proven) and self.proved == len(self.proven)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkouts:
    """Checkouts of head and of merged, to read manifests from."""

    head: Path
    #: Made on demand.
    merged: Callable[[], Path]
    #: Its commit time in UTC.
    head_date: datetime.datetime
    #: Its commit time in UTC.
    merged_date: datetime.datetime


class EnvironmentSearch:
    """The search for one instance.

    ``attempt`` proves in a candidate, ``diagnose`` finds why the unproved oracles of an attempt do not run, ``at_hand``
    are the CPython versions X.Y of this machine, and ``notice`` is called with the name of each step. ``discard``
    removes the environment of an attempt that is of no more use, and nothing that those which are kept share with it.
    """

    def __init__(
        self,
        instance: Instance,
        checkouts: Checkouts,
        resolver: Resolver,
        at_hand: tuple[str, ...],
        attempt: Callable[[Candidate], Attempt],
        diagnose: Callable[[Attempt], Diagnosis],
        notice: Callable[[str], None] = lambda _step: None,
        discard: Callable[[Attempt, Sequence[Attempt]], None] = lambda _attempt, _kept: None,
    ) -> None:
        self.instance = instance
        self.checkouts = checkouts
        self.attempts: list[Attempt] = []
        self.problems: list[str] = []
        #: Why packages that resolve are left out of later candidates, by CPython X.Y and pin.
        self.dropped: dict[tuple[str, str], str] = {}
        self._resolver = resolver
        self._at_hand = at_hand
        self._attempt = attempt
        self._diagnose = diagnose
        self._notice = notice
        self._discard = discard
        self._discarded: list[Attempt] = []
        self._machine_fault = ""
        #: The CPython X.Y that the project would get if it were at hand; None: it is.
        self.lacking: str | None = None
        self._paths = [comment.path for comment in instance.with_oracles]
        self._project = next(
            (at for path in self._paths if (at := manifests.project_folder(checkouts.head, path))), None
        )

    @property
    def best(self) -> Attempt | None:
        """The attempt that proved most oracles, the first of several; if none proved any, that with most packages."""
        best = max(self.attempts, key=lambda attempt: attempt.proved, default=None)
        return self._richest() if best is not None and not best.proved else best

    def _richest(self) -> Attempt | None:
        """Return the attempt with most packages of those that proved most."""
        ran = [attempt for attempt in self.attempts if attempt.problem is None] or self.attempts
        return max(ran, key=lambda attempt: (attempt.proved, len(attempt.candidate.environment.packages)), default=None)

    def search(self, *, tests_first: bool = False, seconds: float | None = None) -> Attempt | None:
        """Try candidates until every oracle is proved; return the best attempt, None if there was none.

        ``tests_first``: the oracles are the project's own tests, so what those need is tried before less. After so many
        ``seconds`` no further one is begun.

        Raises SourceError, EngineError, StoreError, Cancelled, and ImageError where nothing was proved and this machine
        may be to blame.
        """
        started = time.monotonic()
        tests = self._with_project_tests() if tests_first else iter(())
        for number, candidate in enumerate(itertools.chain(tests, self._candidates())):
            if number and seconds is not None and time.monotonic() - started > seconds:
                self.problems.append(f"no further environment was tried after {seconds:.0f} seconds")
                break
            if self.attempt(candidate).whole:
                break
        best = self.best
        self._discard_all_but([best])
        if best is None or not best.proved:
            self.blame_machine()
        return best

    def blame_machine(self) -> None:
        """Raise ImageError if a candidate could not be tried for lack of something on this machine or its network."""
        if self._machine_fault:
            raise ImageError(self._machine_fault, of_machine=True)

    def attempt(self, candidate: Candidate) -> Attempt:
        """Try one environment, and remember the result. Raises SourceError, EngineError, StoreError, Cancelled."""
        attempt = self._attempt(candidate)
        self.attempts.append(attempt)
        if attempt.problem is not None:
            self._note(candidate.name, attempt.problem, of_machine=attempt.of_machine)
        usable = [one for one in self.attempts if one.problem is None]
        self._discard_all_but([self.best, self._richest(), *usable[-1:]])
        return attempt

    def _discard_all_but(self, kept: Sequence[Attempt | None]) -> None:
        """Give back what failed attempts left on the disk, at once: a search may try a dozen environments."""
        needed = [one for one in kept if one is not None]
        for attempt in self.attempts:
            if not any(attempt is one for one in (*needed, *self._discarded)):
                self._discarded.append(attempt)
                self._discard(attempt, needed)

    def _note(self, name: str, problem: str, *, of_machine: bool) -> None:
        self.problems.append(f"{name}: {problem}")
        if of_machine:
            self._machine_fault = self._machine_fault or problem

    def _with_project_tests(self) -> Iterator[Candidate]:
        """Try what the project's own tests need, then the project installed beside it."""
        yield from self._with_test_requirements(Requirements(requirements=BARE))
        yield from self._with_project_installed()

    def _candidates(self) -> Iterator[Candidate]:
        yield from self._try("bare", Requirements(requirements=BARE))
        wanted = Requirements(requirements=BARE)
        for choice in self._declared_requirements(self.checkouts.head):
            found = yield from self._try("declared", choice)
            wanted = choice if found and not wanted.projects else wanted
            if found and found.candidate.name == "declared":  # else it adds nothing, and the next may
                break
        missing = yield from self._with_missing(wanted)
        yield from self._with_test_requirements(missing)
        yield from self._with_project_installed()
        yield from self._with_merged_requirements()

    def _declared_requirements(self, tree: Path) -> Iterator[Requirements]:
        """Yield the requirements of a tree's manifest, then those of its requirements files."""
        folder = self._project or "."
        files = manifests.requirement_files(tree, folder)
        if self._is_pytest():
            yield self._requirements_of_pytest(tree)
        elif self._project is not None and manifests.is_project(tree / folder):
            yield Requirements(requirements=BARE, projects=(folder,))
        if files:
            yield Requirements(requirements=BARE, files=files[:1])

    def _requirements_of_pytest(self, tree: Path) -> Requirements:
        """Return what pytest's own tree needs beside a release of pytest; one resolution cannot have both."""
        extras = test_requirements.extras(tree / (self._project or "."))
        own = Requirements(requirements=BARE[1:], projects=(self._project or ".",), extras=extras)
        found = self.resolve("declared", own, merged=tree != self.checkouts.head)
        names = () if found is None else tuple(_name(pin) for pin in found.packages)
        return Requirements(requirements=tuple(dict.fromkeys((*BARE, *names))))

    def _is_pytest(self) -> bool:
        """Return whether the project is pytest itself."""
        roots = self._import_roots()
        return manifests.provides(self.checkouts.head, roots, "_pytest")

    def _import_roots(self) -> tuple[str, ...]:
        """Return the import roots that the instance's file names, else those that are found in the tree."""
        given = self.instance.required_environment.paths
        return given if given != _NO_PATHS else manifests.import_roots(self.checkouts.head, self._paths)

    def _with_missing(self, wanted: Requirements) -> Generator[Candidate, None, Requirements]:
        """Add the packages that failures name as missing, one after the other; return the last requirements."""
        tried: set[str] = set()
        for _ in range(_MOST_MISSING):
            usable = [attempt for attempt in self.attempts if attempt.problem is None]
            if not usable:
                break
            new = [name for name in self._missing_distributions(self._diagnose(usable[-1])) if name not in tried]
            if not new:
                break
            tried.add(new[0])
            more = dataclasses.replace(wanted, requirements=(*wanted.requirements, new[0]))
            if (yield from self._try("missing", more)):
                wanted = more
        return wanted

    def _missing_distributions(self, diagnosis: Diagnosis) -> list[str]:
        """Return the distributions of missing modules: those that failures name, then a few looked for in vain."""
        return [*self._distributions(diagnosis.missing), *self._distributions(diagnosis.vain)[:_MOST_VAIN]]

    def _distributions(self, modules: Sequence[str]) -> list[str]:
        roots = self._import_roots()
        foreign = [
            name for name in modules if not manifests.provides(self.checkouts.head, roots, name.partition(".")[0])
        ]
        return list(dict.fromkeys(filter(None, map(distribution_of, foreign))))

    def _with_test_requirements(self, wanted: Requirements) -> Iterator[Candidate]:
        """Add the requirements of the project's own tests: extras, groups and files together, else each file alone."""
        tree, folder = self.checkouts.head, self._project or "."
        files = tuple(file for file in manifests.testing_files(tree, folder) if file not in wanted.files)
        for choices in self._choices_of_tests(wanted, tree / folder, folder):
            for choice in choices:
                if (yield from self._try("tests", choice)):
                    wanted = choice
                    break
        if files:
            together = dataclasses.replace(wanted, files=(*wanted.files, *files))
            found = yield from self._try("tests", together)
            if not found and len(files) > 1:
                for file in files:
                    yield from self._try("tests", dataclasses.replace(wanted, files=(*wanted.files, file)))

    def _choices_of_tests(self, wanted: Requirements, place: Path, folder: str) -> Iterator[Sequence[Requirements]]:
        """Yield choices with extras and groups: those for tests alone, then those for tests and development.

        The project's extras come in with the project, which goes together with nothing that needs a release of it, so
        the second choice is the groups without it, beside the packages of the best attempt.
        """
        projects = () if self._is_pytest() or not manifests.is_project(place) else (folder,)
        for alone in (True, False):
            groups = test_requirements.requirements(place, tests_alone=alone)
            extras = test_requirements.extras(place, tests_alone=alone)
            more = dataclasses.replace(wanted, requirements=(*wanted.requirements, *groups))
            choices = [dataclasses.replace(more, projects=projects, extras=extras)] if projects else []
            if groups:
                richest = self._richest()
                pins = BARE if richest is None else map(_name, richest.candidate.environment.packages)
                choices.append(dataclasses.replace(wanted, requirements=(*pins, *groups), projects=()))
            yield choices

    def _with_project_installed(self) -> Iterator[Candidate]:
        """Add to the best attempt the project itself, installed from its tree for its metadata, and what builds it.

        pytest is not installed so: it would take the place of the release that runs oracles.
        """
        richest = self._richest()
        if richest is None or richest.problem is not None or self._project is None or self._is_pytest():
            return
        folder = "." if self._project == "." else f"./{self._project}"
        environment = dataclasses.replace(richest.candidate.environment, install=(_INSTALL.format(folder=folder),))
        tools = manifests.build_requirements(self.checkouts.head / self._project)
        wanted = Requirements(requirements=(*environment.packages, *tools))
        found = self.resolve("installed", wanted, python=environment.python) if tools else None
        if found is not None:
            environment = dataclasses.replace(environment, packages=found.packages)
        yield Candidate(name="installed", environment=self._without_dropped(environment))

    def _with_merged_requirements(self) -> Iterator[Candidate]:
        """Try the requirements of the merged side for both checkouts, alone, then with those that only head has."""
        ran = (one for one in self.attempts if one.problem is None)
        declared = next((one for one in ran if one.candidate.name == "declared"), None)
        names = {_name(pin) for pin in declared.candidate.environment.packages} if declared else set()
        for choice in self._declared_requirements(self.checkouts.merged()):
            found = yield from self._try("merged", choice, merged=True)
            if found:
                rest = sorted(names - {_name(pin) for pin in found.candidate.environment.packages})
                both = dataclasses.replace(choice, requirements=(*choice.requirements, *rest))
                if rest:
                    yield from self._try("merged", both, merged=True)
                return

    def _try(
        self, name: str, wanted: Requirements, *, merged: bool = False
    ) -> Generator[Candidate, None, Attempt | None]:
        """Try requirements without the packages that do not install; return the attempt, None if there is none.

        Where it has been tried already, under whichever name, it is not tried again.

        A package that does not install is recorded once and dropped from all later candidates.
        """
        environment = self.resolve(name, wanted, merged=merged)
        while environment is not None:
            environment = self._without_dropped(environment)
            same = next((one for one in self.attempts if one.candidate.environment == environment), None)
            if same is not None:
                return same if same.problem is None else None
            yield Candidate(name=name, environment=environment)
            last = self.attempts[-1]
            if last.problem is None:
                return last
            if not self._drop(last):
                return None
        return None

    def _drop(self, attempt: Attempt) -> bool:
        """Drop the packages that an attempt could not install; return whether there were any."""
        environment = attempt.candidate.environment
        pins = [pin for pin in attempt.blamed if pin in environment.packages and _name(pin) not in BARE]
        self.dropped.update(((str(environment.python), pin), str(attempt.problem)) for pin in pins)
        return bool(pins)

    def _without_dropped(self, environment: Environment) -> Environment:
        packages = (pin for pin in environment.packages if (str(environment.python), pin) not in self.dropped)
        return dataclasses.replace(environment, packages=tuple(packages))

    def resolve(
        self, name: str, wanted: Requirements, *, merged: bool = False, python: str | None = None
    ) -> Environment | None:
        """Return the environment with every package pinned as of the commit's date; None, with a problem, if none fits.

        ``python`` is the CPython X.Y to take; without it the instance or the project's manifest decides.
        """
        checkouts = self.checkouts
        tree, date = (checkouts.merged(), checkouts.merged_date) if merged else (checkouts.head, checkouts.head_date)
        declared = manifests.python_support(tree / (self._project or "."))
        python = python or self.instance.required_environment.python or self._choose_python(declared, date.date())
        if python is None:
            lack = "there is no CPython on this machine that an environment can be made with"
            self._note(name, lack, of_machine=True)
            return None
        moment = (date + _DAY).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._notice(f"{name}, versions")
        try:
            pins = self._resolver.pins(wanted, tree, python, moment)
        except ImageError as error:
            self._note(name, str(error), of_machine=error.of_machine)
            return None
        own = test_requirements.own_name(tree / (self._project or "."))
        return dataclasses.replace(
            self.instance.required_environment,
            python=python,
            packages=tuple(pin for pin in pins if canonicalize_name(_name(pin)) != own),  # a release has the fix
            resolved=moment,
            paths=self._import_roots(),
        )

    def _choose_python(self, declared: manifests.PythonSupport, head: datetime.date) -> str | None:
        """Return the CPython X.Y at hand that suits the project most; note if another one would suit it more."""

        def choose(among: Iterable[str]) -> str | None:
            return versions.choose(among, requires=declared.requires, classifiers=declared.classifiers, head=head)

        best = choose(RELEASED)
        if best not in self._at_hand:
            self.lacking = self.lacking or best
        return choose(self._at_hand)


def _name(pin: str) -> str:
    return pin.partition("==")[0]
