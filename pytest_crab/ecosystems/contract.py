"""The contract of an ecosystem: what each language says of its tools, so that nothing else has to name it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Protocol

from pytest_crab.ecosystems.linters import Linter
from pytest_crab.ecosystems.patterns import Patterns
from pytest_crab.ecosystems.toolchain import Tools, numbers
from pytest_crab.program_texts import program_text
from pytest_crab.types import Comment, Environment, Oracle

#: The Dockerfiles that come with this package, each for the ecosystem of its name.
_DOCKERFILES = ("python", "node", "go", "rust", "java", "cpp", "php", "ruby")


class Spelling(NamedTuple):
    """The spelling of a text."""

    #: A regular expression that matches the whole of the text.
    expression: str
    #: The same in words.
    words: str


#: The name of an oracle's file that names tests of the project itself, which ``own_tests`` runs in the tree.
OWN_TESTS = Spelling(r"\.json", ".json")


class Grammar(NamedTuple):
    """The place of a grammar of tree-sitter, the words of the language, and what it writes."""

    module: str
    function: str = "language"
    true: bytes = b"true"
    false: bytes = b"false"
    #: What stands for an empty statement.
    nothing: bytes = b";"
    #: What stands before what is denied.
    denied: bytes = b"!"
    #: The function for a piece of a file, where that is read in another way than a whole one, and what whole ones have.
    piece: tuple[str, bytes] | None = None
    #: The query that finds the tests of a file: ``@test`` and its ``@name``, and ``@import`` for each import that must
    #: be used by something; empty: nothing finds them.
    tests: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """The words of an ecosystem's programs about what went wrong, as regular expressions; empty where it has none."""

    #: Begins a line that is printed below what went wrong: a version, a stack, where a log lies.
    banner: str = ""
    #: Begins the line that says what went wrong, where much is printed below it.
    cause: str = ""
    #: Is found in a line of a build that tells why it failed.
    telling: str = ""
    #: Is found in a line of a build that only points at the cause, or away from it.
    pointing: str = ""
    #: Begins the lines of a tool whose first line is the cause, where others' last one is.
    cause_first: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names by which an ecosystem's files are told apart, as regular expressions; empty where it has none."""

    #: Is found in the name of a file of tests, beyond ``test_a``, ``a_test.b`` and ``a.spec.b``, which all have.
    tests: str = ""
    #: The whole name of a file of code that says how tests are run, and is none.
    running: str = ""
    #: The whole name of a file that says which dependencies come, beyond those that end in ``.lock``.
    dependencies: str = ""
    #: The whole name of a variable that changes how the harness or the tools behave, and not only the project.
    variables: str = ""
    #: Is found in an oracle's text that reads source, or looks at an interface, instead of using it.
    reading: str = ""
    #: Is found where code reads a variable or a setting; the group that matches is its name.
    settings: str = ""
    #: Begins where somebody speaks of its old releases.
    old: str = ""
    #: An expression for the names of its formatters and linters in titles.
    form: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """The variables that what runs in any environment has for an ecosystem's tools; None takes one away."""

    #: Those of every run.
    runs: Mapping[str, str | None] = field(default_factory=dict)
    #: Those that the project's own commands have otherwise.
    commands: Mapping[str, str | None] = field(default_factory=dict)
    #: Those that hold the folders from which modules are imported.
    paths: tuple[str, ...] = ()


#: A text of at least so many words is a wording.
WORDING = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TestLines:
    """A test of a file, and its first and last line with what stands right above it."""

    __test__ = False

    name: str
    first: int
    last: int
    #: Whether other code stands on these lines.
    is_shared: bool = False


class CodeParts(Protocol):
    """Parts of code of a language that is read in another way than by its grammar.

    All but ``idle_lines`` and ``function_at`` raise ValueError for a file that cannot be read.
    """

    def tests_of(self, text: str) -> Sequence[TestLines]:
        """Return the tests of a file."""

    def without(self, text: str, names: Collection[str]) -> str:
        """Return a file without these tests."""

    def alone(self, text: str, names: Collection[str]) -> str:
        """Return a file with these tests alone, and what they need of the rest."""

    def stands_alone(self, text: str) -> bool:
        """Return whether a file of tests asks for no fixture, plugin or helper of the project's other tests."""

    def claims_of(self, text: str) -> list[str]:
        """Return what each test of a file says that should hold."""

    def added_names(self, before: str, after: str) -> frozenset[str]:
        """Return the names that a file's new text defines and its old one does not."""

    def added_texts(self, before: str, after: str) -> frozenset[str]:
        """Return the wordings (texts of several words) that a file's new text has and its old one has not."""

    def asking(self, text: str, names: Collection[str], wordings: Collection[str]) -> frozenset[str]:
        """Return the names of those tests that use one of these names, or hold something against a wording."""

    def comment_lines(self, text: str) -> frozenset[int]:
        """Return the lines of a file that are comments and nothing else."""

    def idle_lines(self, text: str) -> frozenset[int]:
        """Return the lines of a file that do nothing; none where it cannot be read."""

    def function_at(self, text: str, line: int) -> str | None:
        """Return the dotted name of the innermost function or class at a line; None where there is none."""


class Ecosystem(Protocol):
    """One language with its package manager and its runners of tests. It holds facts and rules, and runs nothing."""

    @property
    def name(self) -> str:
        """The name, as in ``environment.ecosystem``."""

    @property
    def languages(self) -> Mapping[str, str]:
        """The languages that its projects are written in, by the ends of their files' names."""

    @property
    def shared_ends(self) -> tuple[str, ...]:
        """Those of these ends that files of several of its languages have: they decide where no other file does."""
        return ()

    @property
    def grammars(self) -> Mapping[str, Grammar]:
        """The grammars of its languages, by the ends of their files' names."""
        return {}

    @property
    def linter(self) -> Linter | None:
        """The program that looks for faults in its files without a model; None: there is none."""
        return None

    @property
    def names(self) -> Names:
        """The names of its files and variables."""
        return Names()

    @property
    def messages(self) -> Messages:
        """The words of its programs about what went wrong."""
        return Messages()

    @property
    def compiled(self) -> tuple[str, ...]:
        """Ends of the names of compiled modules that an install leaves in a tree beside their sources."""
        return ()

    @property
    def proxy_variables(self) -> Mapping[str, str]:
        """Variables by which its programs look at the usual variables of a proxy, where they do not by themselves."""
        return {}

    @property
    def versions(self) -> Spelling | None:
        """The spelling of the versions of its tools, with an example; None: any."""
        return None

    @property
    def oldest(self) -> str:
        """The first version of its tools that runs oracles; empty: any does."""
        return ""

    @property
    def pin(self) -> Spelling:
        """The spelling of a pinned package in ``environment.packages``."""

    @property
    def pinned_by(self) -> str:
        """The end of a sentence on what pins its packages, where ``environment.packages`` may not; else empty."""
        return ""

    @property
    def own_variables(self) -> Mapping[str, str]:
        """Variables that no environment may set, since the harness does, each with the end of a sentence on it."""
        return {}

    @property
    def runners(self) -> Mapping[str, Spelling]:
        """The runners of its tests by name, each with the end of the name of an oracle's file; the usual one first."""

    @property
    def installed_runners(self) -> Collection[str]:
        """Those of the runners that an environment may have without being for this ecosystem: a trial says if not."""
        return ()

    @property
    def stub(self) -> str:
        """The text of an oracle that is to be written, for the usual runner.

        It has ``{comment}``, ``{place}``, ``{stub}`` and ``{folder}``, the last part of the oracle's folder.
        """

    @property
    def is_beside_code(self) -> bool:
        """Return whether an oracle belongs to a folder of the tree (``oracle.folder``), as tests of the project do."""
        return False

    @property
    def leftovers(self) -> Patterns:
        """The files that its builds and test runs leave: they are never part of a revision."""
        return Patterns(names=())

    @property
    def system_packages(self) -> tuple[str, ...]:
        """Folders in which a system keeps its packages for all users, as patterns of paths."""
        return ()

    @property
    def package_caches(self) -> tuple[str, ...]:
        """Folders below a home in which its package managers keep what they fetched."""
        return ()

    @property
    def variables(self) -> Variables:
        """The variables that its tools have, whatever an environment says."""
        return Variables()

    @property
    def dockerfile(self) -> str | None:
        """The text of the Dockerfile of its environments, which ``NAME.Dockerfile`` in a folder of a run comes before.

        None: this package has one, or each run does.
        """
        return None

    @property
    def tools(self) -> Tools | None:
        """The tools; None for Python."""

    @property
    def runner(self) -> str:
        """The text of what runs its oracles in a sandbox, as ``inside.runner`` of its folder.

        It has ``run(host, run)``, and ``prepare(host)`` if something is to be done before the first run, which returns
        what is wrong with the environment, or None. ``put_back(host, state)``, where it has one, is called before each
        run of an oracle, on the built tree: it puts back what no state may change. ``not_installed(host, text)`` gives
        the name of what a failed ``environment.build`` asks for and the environment does not have, by what it printed.
        """

    @property
    def parts(self) -> Mapping[str, str]:
        """The texts of what its runner uses as ``host.parts["NAME_PART"]``, by the name of the part."""
        return {}

    @property
    def takes_plugins(self) -> bool:
        """Return whether an oracle may name plugins of its runner (``oracle.plugins``)."""
        return False

    @property
    def isolated_runners(self) -> frozenset[str]:
        """The runners whose oracles may run as another user than the project (``isolation: process``).

        Their ``run`` then has a third argument: the program that an oracle starts in place of the language's
        interpreter, which is that of ``facts["tools"]`` by the ecosystem's name, or else the harness's own. It runs
        that in the project's tree.
        """
        return frozenset()

    @property
    def own_tests(self) -> str | None:
        """The text of what runs a project's own tests in a sandbox; None: it cannot.

        It is ``inside.own_tests`` of its folder, and has ``run(host, run)`` as the runner has, which it may use as
        ``host.parts["NAME_runner"]``. ``run["tests"]`` has ``files`` and ``names`` (harness.OwnTestsRun); without
        names all tests of the files are run. The ids that it reports have the file, folder or package before the first
        colon, which no name has.
        """
        return None

    @property
    def own_tests_words(self) -> str:
        """A sentence for who writes such tests on what runs them; empty where any tests of the project show it."""
        return ""

    @property
    def code_parts(self) -> CodeParts | None:
        """The reader that tells the parts of its code apart; None: its grammars do."""
        return None

    def laid_tests(
        self,
        texts: Mapping[str, str],  # noqa: ARG002 - most have another runner for these
        tests: Collection[str] | None,  # noqa: ARG002
    ) -> str | None:
        """Return an oracle for the usual runner that lays files over the tree and runs these of their tests.

        Each is one test of the oracle, with its name between brackets. ``tests`` is None for all that there are. It
        returns None where ``tests_runner`` runs them.
        """
        return None

    def is_told(self, run_id: str, path: str, name: str) -> bool:
        """Return whether an id of a run of the project's tests is that of one, by its file and its name in the code."""
        place, _, told = run_id.partition(":")
        return place in ("", path) and f" > {told}".endswith(f" > {name}")

    @property
    def tests_runner(self) -> str | None:
        """The runner of oracles that name tests of the project itself; None: there is none."""
        return next((name for name, spelling in self.runners.items() if spelling is OWN_TESTS), None)

    @property
    def dated(self) -> bool:
        """Return whether what nothing pins is chosen as of ``environment.resolved``."""
        return False

    def proposals(self, tree: Path, files: Sequence[str]) -> Iterator[Environment]:  # noqa: ARG002 - some have none
        """Yield environments to try for a tree of which nothing is known, the likeliest first.

        They are for the tests of which these files are, or which read them.

        Raises ImageError where this machine has not what is needed.
        """
        yield from ()

    def owns(self, environment: Environment) -> bool:
        """Return whether an environment is for this ecosystem; exactly one owns each."""
        return environment.ecosystem == self.name

    def version(self, environment: Environment) -> str | None:
        """Return the version of its tools that an environment asks for."""
        return environment.version

    def environment_faults(self, environment: Environment) -> Iterator[str]:
        """Yield the faults of the keys that ask for this ecosystem, as sentences that begin with the key.

        Every ecosystem is asked of every environment: its keys may be half there, or stand beside those of another.
        """
        if not self.owns(environment):
            return
        if environment.version is None:
            yield f"environment.version is missing; beside ecosystem {self.name} it should be that of {self.name}"
        elif self.versions is not None and not re.fullmatch(self.versions.expression, environment.version):
            yield f"environment.version is {environment.version!r}; it should be that of {self.versions.words}"
        for key in ("python", "node", *(() if self.dated else ("resolved",))):
            if getattr(environment, key) is not None:
                yield f"environment.{key} is set beside ecosystem {self.name}; it should be left out"
        if environment.dockerfile in _DOCKERFILES and environment.dockerfile != self.name:
            yield (
                f"environment.dockerfile is {environment.dockerfile}; with ecosystem {self.name} it should be "
                f"{self.name}, or your own"
            )
        for name, words in self.own_variables.items():
            if name in environment.env:
                yield f"environment.env.{name} belongs to the harness{words}"
        if self.pinned_by and environment.packages:
            yield f"environment.packages are set; they should be left out, since {self.pinned_by}"

    def start(self, runner: str) -> Environment:  # noqa: ARG002 - most runners come with the tools
        """Return the environment of an instance of which nothing is known but the runner of its oracles."""
        assert self.tools is not None
        return Environment(ecosystem=self.name, version=self.tools.usual)

    def draft(self, language: str, read: Callable[[str], str]) -> tuple[str, Environment]:  # noqa: ARG002 - most have one
        """Return the runner of an oracle that is to be written and its environment, as a project's own files tell.

        ``language`` is that of the project, and ``read`` is as in ``licences``.
        """
        assert self.tools is not None
        build = self.build_commands(read)
        return next(iter(self.runners)), Environment(ecosystem=self.name, version=self.tools.usual, build=build)

    @property
    def stub_changes(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """The changes of the stub for another runner than the first, by the runner: old and new texts."""
        return {}

    def stub_of(self, runner: str) -> str:
        """Return the text of an oracle that is to be written for a runner, which has what ``stub`` has."""
        return functools.reduce(
            lambda text, change: text.replace(*change), self.stub_changes.get(runner, ()), self.stub
        )

    def build_commands(self, read: Callable[[str], str]) -> tuple[str, ...] | None:  # noqa: ARG002 - most need none
        """Return the commands that build a project, as far as its own files tell; None where none are needed or known.

        ``read`` is as in ``licences``.
        """
        return None

    def licences(self, read: Callable[[str], str]) -> Iterator[str]:  # noqa: ARG002 - not every project says it
        """Yield the names of its licence in a project's own files; ``read`` returns a file's text, empty for none."""
        yield from ()

    def is_structural(self, source: str) -> bool:
        """Return whether an oracle reads source or looks at an interface, instead of using it, by its text alone."""
        return bool(self.names.reading) and re.search(self.names.reading, source) is not None

    def licence_words(self) -> Mapping[str, tuple[str, ...]]:
        """Return words that only the text of one licence has, by its name, of the licences of its language alone."""
        return {}

    def unreadable(self, source: bytes) -> str | None:  # noqa: ARG002 - most have nothing here that reads them
        """Return why code cannot be read; None: it can, or nothing here can tell."""
        return None

    def behaviour(self, path: str, source: bytes) -> object | None:  # noqa: ARG002 - as above
        """Return what a file does, which is equal for texts that do the same; None where nothing here can tell."""
        return None

    def outside_needs(self, comment: Comment, source: str) -> Iterator[str]:  # noqa: ARG002 - as above
        """Yield a sentence, with the remedy, for what a comment's oracle takes from outside its file, by its text."""
        yield from ()

    def only_starts_project(self, source: str) -> bool:  # noqa: ARG002 - as above
        """Return whether an oracle only starts the project as a process, by its text."""
        return False

    def own_runner(self, read: Callable[[str], bytes | None], roots: Sequence[str]) -> str:  # noqa: ARG002 - as above
        """Return a sentence if a tree, whose files ``read`` returns, has what runs oracles at an import root.

        It is empty where it has not.
        """
        return ""

    def is_copy(self, name: str, project: str) -> bool:  # noqa: ARG002 - as above
        """Return whether an entry of a folder of packages is a project, or what is known of it, by its name."""
        return False

    def absent(self, module: str) -> tuple[str, str]:
        """Return the path and the text of a file in the place of a compiled module that is not to be imported."""
        return module, ""

    def unsupported_reason(self, facts: Mapping[str, Any], oracle: Oracle) -> str | None:
        """Return why an image with these facts cannot run an oracle of this ecosystem, and what to do about it.

        None: it can, or only a run can tell.
        """
        found = facts.get("tools", {}).get(self.name)
        if found and numbers(found["version"]) < numbers(self.oldest):
            version = f"{self.name} {found['version']}"
            return f"{version} is too old for {oracle.runner}: environment.version should be {self.oldest} or later"
        if found:
            return None
        return (
            f"{oracle.runner} needs {self.name}, which is not in the environment: set environment.ecosystem to "
            f"{self.name}, and environment.version beside it"
        )

    def needs_install(self, changed: Iterable[str], compiled: Collection[str]) -> bool:  # noqa: ARG002 - as above
        """Return whether a tree in which these files changed has to be installed anew.

        ``compiled`` are the modules that head's install compiled. No tree has, where each run builds what it needs.
        """
        return False


def runner_source(package: str, name: str = "runner") -> str:
    """Return the text of ``inside/NAME.py`` in the folder of an ecosystem."""
    return program_text(package, f"inside/{name}")


def nearest_folders(tree: Path, files: Iterable[str], holds: Callable[[Path], bool]) -> tuple[str, ...]:
    """Return the nearest folders above files of a tree that hold something; the tree's own, ".", where none does."""
    found = (next((one for one in PurePosixPath(file).parents if holds(tree / one)), None) for file in files)
    return tuple(sorted({str(folder) for folder in found if folder is not None})) or (".",)
