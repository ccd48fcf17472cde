"""The tools of an ecosystem: how they are found on this machine, put into base images and used for builds."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from pytest_crab.ecosystems.building import PackageRoute, install_script
from pytest_crab.errors import ImageError
from pytest_crab.types import Environment

_NUMBERS = re.compile(r"\d+(?:\.\d+)+")
#: A version that is one number, as the first release of a JDK has.
_NUMBER = re.compile(r"(?<=[ \"])\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """The tool of an ecosystem in an environment."""

    #: The ecosystem's name.
    name: str
    #: X.Y.Z.
    version: str
    #: The path of the program where it runs.
    program: str
    #: The variables that each command in the environment has by it.
    env: Mapping[str, str] = field(default_factory=dict)
    #: The options that the program needs to run oracles.
    options: tuple[str, ...] = ()

    @property
    def minor(self) -> str:
        """X.Y of the version."""
        return ".".join(map(str, numbers(self.version)))


class Tools:
    """The tools of an ecosystem other than Python's, whose interpreters are the harness's too.

    They are found on this machine, put into base images, and build a tree with its packages.
    """

    #: The ecosystem's name, which its Dockerfile has too.
    name: ClassVar[str]
    #: The program that is looked for on PATH, and the arguments by which it prints its version.
    program: ClassVar[str]
    version_arguments: ClassVar[tuple[str, ...]] = ("--version",)
    #: A variable, and its value, by which the program prints its own version.
    version_variable: ClassVar[tuple[str, str] | None] = None
    #: How one gets it, and the programs beside it that builds start, each with how one gets that: ends of sentences.
    source: ClassVar[str] = "install it"
    beside: ClassVar[Mapping[str, str]] = MappingProxyType({})
    #: The public base image; ``{version}`` is the environment's.
    public_base: ClassVar[str]
    #: The version that a new instance asks for.
    usual: ClassVar[str]
    #: What an environment takes above its base where none like it was measured, and its public base, in megabytes.
    takes: ClassVar[int] = 40
    base_takes: ClassVar[int] = 500
    #: Whether a build fills a folder beside the tree, which runs see and do not change.
    has_caches: ClassVar[bool] = False
    #: The folders of these caches with which a build of another commit of the same repository may begin.
    handed_on: ClassVar[tuple[str, ...]] = ()
    #: The words by which the program makes what ``seed`` fills a folder with.
    seeded: ClassVar[tuple[str, ...]] = ()
    #: The variable by which its programs find a bundle of CA certificates; None: they have none.
    bundle_variable: ClassVar[str | None] = None
    #: The variables by which its programs have git fetch what they take from repositories, with git's own settings.
    git_variables: ClassVar[Mapping[str, str]] = MappingProxyType({})

    @property
    def local_base(self) -> str:
        """The base image that is made of this machine's own tools; ``{version}`` is the environment's."""
        return f"pytest-crab-{self.name}:{{version}}"

    @property
    def makes_base(self) -> bool:
        """Return whether a base image can be made of this machine's own."""
        return type(self).copy is not Tools.copy

    def here(self) -> Tool | None:
        """The tool that is first on PATH; None if there is none that works."""
        return _first_on_path(self.name, self.program, self.version_arguments, self.version_variable)

    def absence(self) -> str:
        """Return why there is no tool here, and how one gets it."""
        place = shutil.which(self.program)
        state = f"{self.program} is not on PATH" if place is None else f"{place} does not run, or prints no version"
        return f"{state}; {self.source}"

    def lacks(self) -> Iterator[str]:
        """Yield a sentence for each program that builds start beside the tool, and that is not here."""
        for program, source in self.beside.items():
            if shutil.which(program) is None:
                yield f"{program} is not on PATH; {source}"

    def find(self, wanted: str) -> Tool:
        """The tool on PATH, if it is of the version wanted, X or X.Y or X.Y.Z; "" is any. Raises ImageError."""
        found = self.here()
        if found is None:
            asked = f"{self.program} {wanted}".strip()
            raise ImageError(f"{asked} is needed, and {self.absence()}", of_machine=True)
        if wanted and found.version != wanted and not found.version.startswith(f"{wanted}."):
            raise ImageError(
                f"{self.program} {wanted} is needed, and the {self.program} on PATH is {found.version}; put "
                f"{self.program} {wanted} first on PATH, use the docker runtime, or name in environment.version what "
                "the oracles are proved with",
                of_machine=True,
            )
        return found

    def binds(self, tool: Tool) -> dict[str, str]:
        """Return the host's paths that a sandbox must see beyond the system's own folders, by place inside."""
        program = Path(tool.program)
        prefix = program.parent.parent
        if str(prefix) in ("/usr", "/usr/local"):
            return {}
        home = Path.home()
        own = program.parent.name == "bin" and prefix not in (home, *home.parents)
        place = str(prefix if own else program)
        return {place: place}

    def seed(self, tool: Tool) -> Callable[[Path], None] | None:  # noqa: ARG002 - not every tool has some
        """Return what fills an empty folder with caches as any build leaves some; None: there is nothing to be had.

        It runs nothing of a project, and raises ImageError.
        """
        return None

    def build_script(self, environment: Environment) -> str:
        """Return the shell script that puts the packages in place and runs the install commands, in the tree."""
        return install_script(environment)

    def route_env(self) -> dict[str, str]:
        """Return the variables by which packages are reached from this machine. Raises ImageError on a bad path."""
        route = PackageRoute.here()
        has_bundle = route.bundle is not None and self.bundle_variable is not None
        return {**route.proxies, **({str(self.bundle_variable): str(route.bundle)} if has_bundle else {})}

    def build_arguments(self, bundle: str) -> dict[str, str]:
        """Return arguments for a build that leaves them in an image's history; ``bundle`` is the path of a CA bundle.

        Raises ImageError where one of them holds a password.
        """
        if self.bundle_variable is None:
            return {}
        env = self.route_env()
        return env | ({self.bundle_variable: bundle} if self.bundle_variable in env else {})

    def copy(self, tool: Tool, root: Path) -> list[Path]:  # noqa: ARG002 - as above
        """Copy the tool of this machine into the root of a base image; return the programs whose libraries it needs.

        Raises ImageError where that cannot be done.
        """
        raise ImageError(f"no base image is made of this machine's {self.name}; use the local runtime, or another base")

    def variables(self, version: str, caches: str) -> dict[str, str]:  # noqa: ARG002 - not every tool has some
        """Return the variables that commands have by this tool; ``caches`` is the folder that the build filled."""
        return {}

    def options(self, version: str) -> tuple[str, ...]:  # noqa: ARG002 - as above
        """Return the options that the tool of this version needs to run oracles."""
        return ()

    def placed(self, tool: Tool, caches: str) -> Tool:
        """Return a tool as it is in an environment whose build filled the folder ``caches``."""
        env, options = self.variables(tool.version, caches), self.options(tool.version)
        return dataclasses.replace(tool, env=env, options=options)


def version_in(said: str) -> str | None:
    """Return the version in what a program prints of itself; None if there is none."""
    found = _NUMBERS.search(said) or _NUMBER.search(said)
    return found[0] if found else None


def numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _first_on_path(name: str, program: str, arguments: Sequence[str], variable: tuple[str, str] | None) -> Tool | None:
    found = shutil.which(program)
    return None if found is None else _tool_at(str(Path(found).absolute()), name, arguments, variable)


@functools.cache
def _tool_at(place: str, name: str, arguments: Sequence[str], variable: tuple[str, str] | None) -> Tool | None:
    try:
        done = subprocess.run(
            [place, *arguments], capture_output=True, text=True, timeout=30, check=True,
            cwd="/", env=dict([*os.environ.items(), *([variable] if variable else [])]),
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    version = version_in(done.stdout)
    return None if version is None else Tool(name=name, version=version, program=os.path.realpath(place))
