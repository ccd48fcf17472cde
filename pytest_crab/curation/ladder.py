"""The ladder: environments for a pull request that comes without one, from the barest up, each with a fresh proof."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_crab.curation import interpreter
from pytest_crab.curation import manifests
from pytest_crab.curation.diagnose import Diagnosis
from pytest_crab.curation.distributions import distribution
from pytest_crab.curation.resolve import Requirements
from pytest_crab.curation.resolve import Resolver
from pytest_crab.errors import ImageError
from pytest_crab.scoring.oracles.proof import ProvedComment
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Environment
from pytest_crab.types import Instance

#: What every environment has: the runner, and what old projects expect to find beside it.
BARE = ("pytest", "setuptools")

#: Extras that projects keep their tests' requirements in; one that a project does not have is passed over.
_EXTRAS = ("test", "tests", "testing", "dev")

#: How often a missing module is looked for before the ladder goes on.
_MOST_MISSING = 8

#: Much of what a tree looks for in vain it does well without.
_MOST_VAIN = 3

_INSTALL = "pip install --no-build-isolation --no-deps -e {folder}"
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One environment to try, and the name under which it is recorded."""

    name: str
    environment: Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What came of a rung: the oracles with their proofs, or the sentence that says why there was no proof at all.

    ``blamed`` are the pins that the environment could not be installed for.
    """

    rung: Rung
    context: TrialContext
    proven: tuple[ProvedComment, ...] = ()
    problem: str | None = None
    blamed: tuple[str, ...] = ()

    @property
    def proved(self) -> int:
        """How many oracles were proved."""
        return sum(one.proof is not None for one in self.proven)

    @property
    def whole(self) -> bool:
        """Whether every oracle was proved."""
        return bool(self.proven) and self.proved == len(self.proven)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Checkouts to read manifests from, merged made when asked for; and when each was committed (in UTC)."""

    head: Path
    merged: Callable[[], Path]
    head_date: datetime.datetime
    merged_date: datetime.datetime


class Ladder:
    """Climbs for one instance.

    ``attempt`` proves an environment, ``diagnose`` says why the oracles that an attempt left unproved do not run;
    ``at_hand`` are the X.Y that this machine has; ``notice`` is told of steps.
    """

    def __init__(
        self,
        instance: Instance,
        sides: Sides,
        resolver: Resolver,
        at_hand: tuple[str, ...],
        attempt: Callable[[Rung], Attempt],
        diagnose: Callable[[Attempt], Diagnosis],
        notice: Callable[[str], None] = lambda _step: None,
    ) -> None:
        self.instance = instance
        self.sides = sides
        self.attempts: list[Attempt] = []
        self.problems: list[str] = []
        #: Why packages that resolve are left out of every later rung, by CPython X.Y and pin.
        self.dropped: dict[tuple[str, str], str] = {}
        self._resolver = resolver
        self._at_hand = at_hand
        self._attempt = attempt
        self._diagnose = diagnose
        self._notice = notice
        self._paths = [comment.path for comment in instance.with_oracles]
        self._project = next((at for path in self._paths if (at := manifests.project_folder(sides.head, path))), None)

    @property
    def best(self) -> Attempt | None:
        """The attempt that proved most, of several the first, which asked for least; if none did, the richest."""
        best = max(self.attempts, key=lambda attempt: attempt.proved, default=None)
        return self._richest() if best is not None and not best.proved else best

    def _richest(self) -> Attempt | None:
        """The attempt with most packages of those that proved most."""
        ran = [attempt for attempt in self.attempts if attempt.problem is None] or self.attempts
        return max(ran, key=lambda attempt: (attempt.proved, len(attempt.rung.environment.packages)), default=None)

    def climb(self) -> Attempt | None:
        """Try rung after rung until every oracle is proved; the best attempt, None if none came to be made.

        Raises what keeps the world from answering: SourceError, EngineError, StoreError, Cancelled.
        """
        for rung in self._rungs():
            attempt = self._attempt(rung)
            self.attempts.append(attempt)
            if attempt.problem is not None:
                self.problems.append(f"{rung.name}: {attempt.problem}")
            if attempt.whole:
                break
        return self.best

    def _rungs(self) -> Iterator[Rung]:
        yield from self._tried("bare", Requirements(requirements=BARE))
        wanted = Requirements(requirements=BARE)
        for choice in self._declared(self.sides.head):
            if (yield from self._tried("declared", choice)):
                wanted = choice
                break
        missing = yield from self._missing(wanted)
        yield from self._tests(missing)
        yield from self._installed()
        yield from self._merged()

    def _declared(self, tree: Path) -> Iterator[Requirements]:
        """What a tree declares, by its manifest and, if that leads nowhere, by its requirements files."""
        folder = self._project or "."
        files = manifests.requirement_files(tree, folder)
        if self._project is not None and manifests.is_project(tree / folder):
            yield Requirements(requirements=BARE, projects=(folder,))
        if files:
            yield Requirements(requirements=BARE, files=files[:1])

    def _missing(self, wanted: Requirements) -> Generator[Rung, None, Requirements]:
        """Add what failures name as missing, one after the other; what is wanted in the end."""
        tried: set[str] = set()
        for _ in range(_MOST_MISSING):
            usable = [attempt for attempt in self.attempts if attempt.problem is None]
            if not usable:
                break
            new = [name for name in self._lacking(self._diagnose(usable[-1])) if name not in tried]
            if not new:
                break
            tried.add(new[0])
            more = dataclasses.replace(wanted, requirements=(*wanted.requirements, new[0]))
            if (yield from self._tried("missing", more)):
                wanted = more
        return wanted

    def _lacking(self, diagnosis: Diagnosis) -> list[str]:
        """The distributions of missing modules: what failures name, then a few that the tree looked for in vain."""
        return [*self._distributions(diagnosis.missing), *self._distributions(diagnosis.vain)[:_MOST_VAIN]]

    def _distributions(self, modules: Sequence[str]) -> list[str]:
        roots = manifests.import_roots(self.sides.head, self._paths)
        foreign = [name for name in modules if not manifests.provides(self.sides.head, roots, name.partition(".")[0])]
        return list(dict.fromkeys(filter(None, map(distribution, foreign))))

    def _tests(self, wanted: Requirements) -> Iterator[Rung]:
        """Add what the project needs for its own tests: extras, groups and requirements files; else each file alone."""
        tree, folder = self.sides.head, self._project or "."
        groups = manifests.dependency_groups(tree / folder)
        files = tuple(file for file in manifests.testing_files(tree, folder) if file not in wanted.files)
        if wanted.projects or groups:
            more = dataclasses.replace(wanted, requirements=(*wanted.requirements, *groups), extras=_EXTRAS)
            yield from self._tried("tests", more)
        if files:
            together = dataclasses.replace(wanted, files=(*wanted.files, *files))
            found = yield from self._tried("tests", together)
            if not found and len(files) > 1:
                for file in files:
                    yield from self._tried("tests", dataclasses.replace(wanted, files=(*wanted.files, file)))

    def _installed(self) -> Iterator[Rung]:
        """The best so far with the project itself installed from its tree, so that its metadata is there."""
        richest = self._richest()
        if richest is None or richest.problem is not None or self._project is None:
            return
        folder = "." if self._project == "." else f"./{self._project}"
        environment = dataclasses.replace(richest.rung.environment, install=(_INSTALL.format(folder=folder),))
        yield Rung(name="installed", environment=environment)

    def _merged(self) -> Iterator[Rung]:
        """What the merged side declares, for both, since an instance has one environment; then with head's rest."""
        ran = (one for one in self.attempts if one.problem is None)
        declared = next((one for one in ran if one.rung.name == "declared"), None)
        names = {_name(pin) for pin in declared.rung.environment.packages} if declared else set()
        for choice in self._declared(self.sides.merged()):
            found = yield from self._tried("merged", choice, merged=True)
            if found:
                rest = sorted(names - {_name(pin) for pin in found.rung.environment.packages})
                both = dataclasses.replace(choice, requirements=(*choice.requirements, *rest))
                if rest:
                    yield from self._tried("merged", both, merged=True)
                return

    def _tried(self, name: str, wanted: Requirements, *, merged: bool = False) -> Generator[Rung, None, Attempt | None]:
        """Try what is wanted, without the packages that do not install; the attempt, None if there is no new one.

        What does not install is named once and dropped from here on: no later rung fetches it again.
        """
        environment = self._resolved(name, wanted, merged=merged)
        while environment is not None:
            environment = self._without_dropped(environment)
            if any(environment == attempt.rung.environment for attempt in self.attempts):
                return None
            yield Rung(name=name, environment=environment)
            last = self.attempts[-1]
            if last.problem is None:
                return last
            if not self._drop(last):
                return None
        return None

    def _drop(self, attempt: Attempt) -> bool:
        """Drop what an attempt could not install; whether there was anything to drop."""
        environment = attempt.rung.environment
        pins = [pin for pin in attempt.blamed if pin in environment.packages and _name(pin) not in BARE]
        self.dropped.update(((str(environment.python), pin), str(attempt.problem)) for pin in pins)
        return bool(pins)

    def _without_dropped(self, environment: Environment) -> Environment:
        packages = (pin for pin in environment.packages if (str(environment.python), pin) not in self.dropped)
        return dataclasses.replace(environment, packages=tuple(packages))

    def _resolved(self, name: str, wanted: Requirements, *, merged: bool) -> Environment | None:
        """The environment of what is wanted, with every version; None if it cannot be resolved."""
        sides = self.sides
        tree, date = (sides.merged(), sides.merged_date) if merged else (sides.head, sides.head_date)
        declared = manifests.declared(tree / (self._project or "."))
        given = self.instance.required_environment.python
        python = given or interpreter.choose(
            self._at_hand, requires=declared.requires, classifiers=declared.classifiers, head=date.date()
        )
        if python is None:
            self.problems.append(f"{name}: there is no CPython on this machine that an environment can be made with")
            return None
        moment = (date + _DAY).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._notice(f"{name}, versions")
        try:
            pins = self._resolver.pins(wanted, tree, python, moment)
        except ImageError as error:
            self.problems.append(f"{name}: {error}")
            return None
        return dataclasses.replace(
            self.instance.required_environment,
            python=python,
            packages=pins,
            resolved=moment,
            paths=manifests.import_roots(self.sides.head, self._paths),
        )


def _name(pin: str) -> str:
    return pin.partition("==")[0]
