"""Resolve requirements to pins as of a moment, by uv in a sandbox."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pytest_crab.ecosystems import interpreters, uv_cli
from pytest_crab.ecosystems.python import manifests
from pytest_crab.errors import ImageError
from pytest_crab.protocols import INSTALL_LIMITS, Command, Completed, FileChange
from pytest_crab.runtimes import bubblewrap, build_failures, venvs
from pytest_crab.runtimes.run_lock import RunFolder
from pytest_crab.runtimes.tree_diff import put
from pytest_crab.text import split_lines

_SECONDS = 600
_TREE = "/opt/crab/project"
_VERSION_TAG = re.compile(r"(?m)^tag[_-](?:build|date)[ \t]*[=:].*\n?")
_PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """Requirements to resolve."""

    #: Lines.
    requirements: tuple[str, ...]
    #: Requirements files of the tree.
    files: tuple[str, ...] = ()
    #: Project folders of the tree.
    projects: tuple[str, ...] = ()
    #: Those of the projects.
    extras: tuple[str, ...] = ()

    def lines(self, tree: str) -> Iterator[str]:
        """Yield the lines of one requirements file for all of them; ``tree`` is where the tree lies."""
        yield from self.requirements
        yield from (f"-r {tree}/{name}" for name in self.files)
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        for folder in self.projects:
            yield f"{tree}{extras}" if folder == "." else f"{tree}/{folder}{extras}"


class Resolver:
    """Runs uv; builds that tell a project's dependencies run in a sandbox with network and without secrets."""

    def __init__(self, run: RunFolder, cache: Path, cancelled: threading.Event) -> None:
        self._run = run
        self._cache = cache.absolute() / "uv"
        self._cancelled = cancelled

    def pins(self, wanted: Requirements, tree: Path, version: str, moment: str) -> tuple[str, ...]:
        """Return every package with its version, sorted, for CPython X.Y as of ``moment``. Raises ImageError.

        Where this machine has no such interpreter, as an image may have, the running one builds what must be built.
        The tree is a checkout of its own, which builds write into.
        """
        interpreter = interpreters.find(version) or interpreters.find(interpreters.running_version())
        assert interpreter is not None
        uv = uv_cli.program()
        for folder in wanted.projects:
            drop_version_tags(tree, folder)
        self._cache.mkdir(parents=True, exist_ok=True)
        arguments = [
            *(str(uv), *uv_cli.compiling(str(interpreter.program), version)),
            *("--cache-dir", "/opt/crab/uv", *uv_cli.arguments(moment)),
        ]

        def compiled(*more: str) -> Completed:
            return self._run_confined([*arguments, *more], wanted, tree, (uv, interpreter))

        done = compiled()
        if done.exit_code != 0 and any(manifests.names_sources(tree / folder) for folder in wanted.projects):
            done = compiled("--no-sources")  # a workspace that the tree is no longer in, or no whole one
        if done.exit_code != 0:
            raise build_failures.failure(f"no versions fit as of {moment}", done, INSTALL_LIMITS, _SECONDS)
        return _pins(done.stdout.decode("utf-8", "replace"))

    def _run_confined(
        self,
        arguments: Sequence[str],
        wanted: Requirements,
        tree: Path,
        programs: tuple[Path, interpreters.Interpreter],
    ) -> Completed:
        """Run uv on requirements in a sandbox that holds the tree, uv and an interpreter."""
        uv, interpreter = programs
        git = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        command = Command(
            argv=arguments,
            stdin="".join(f"{line}\n" for line in wanted.lines(_TREE)).encode(),
            env={**uv_cli.variables(venvs.route_env()), **git},
        )
        prefix = str(interpreter.prefix)
        here = {} if prefix in ("/usr", "/usr/local") else {prefix: interpreter.prefix}
        view = bubblewrap.View(
            readable={str(uv): uv, **here, **venvs.route_files()},
            writable={_TREE: tree, "/opt/crab/uv": self._cache},
            network=True,
            cwd=_TREE,
        )
        return bubblewrap.run_confined(
            self._run, [view], [command], limits=INSTALL_LIMITS, seconds=_SECONDS, cancelled=[self._cancelled]
        )[0]


def _pins(printed: str) -> tuple[str, ...]:
    pins = []
    for line in split_lines(printed):
        text = line.partition(" ;")[0].partition(" #")[0].strip()
        if not text or text.startswith(("#", "-")):
            continue
        match = _PIN.fullmatch(text)
        if match:
            pins.append(text)
        elif _TREE not in text:
            name = text.partition(" ")[0]
            raise ImageError(f"it depends on {name} at an address of its own, which no version pins")
    return tuple(sorted(pins))


def drop_version_tags(tree: Path, folder: str) -> None:
    """Remove from the setup.cfg in a folder of a tree the tags that setuptools adds to the version of a build.

    Older ones add both in each step of a build, so that a tree with a tag and a date has no valid version.
    """
    path = PurePosixPath(folder, "setup.cfg")
    text = manifests.text_of(tree / path)
    plain = _VERSION_TAG.sub("", text)
    if plain != text:  # no link of a foreign tree may lead this out of it
        put(tree, [FileChange(path=str(path), mode="100644", content=plain.encode())])
