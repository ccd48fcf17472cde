"""The linter of each language that a pull request changes, kept to its own lines."""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from pytest_crab import ecosystems
from pytest_crab.commands import CommandPlace, printed_version
from pytest_crab.diffs import changed_lines, touches
from pytest_crab.ecosystems.linters import Linter
from pytest_crab.ecosystems.toolchain import version_in
from pytest_crab.errors import ReviewerError
from pytest_crab.parsing.report_formats import ReportFormat
from pytest_crab.protocols import Checkout
from pytest_crab.reviewers.command import CommandReviewer
from pytest_crab.types import Finding, PullRequest, Review, Side

_FILES_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class LinterReviewer:
    """Runs the linter of each changed file's language by its usual rules, and keeps what touches added lines."""

    free: ClassVar[bool] = True

    #: In seconds, for each linter.
    timeout: float = 600.0

    def __post_init__(self) -> None:
        if self.timeout <= 0:
            raise ValueError("timeout should be a number of seconds above 0")

    def identity(self) -> Mapping[str, Any]:
        """The arguments of each linter, and the version of one of this machine. Raises ReviewerError."""
        known = {linter.program: linter for one in ecosystems.installed() if (linter := one.linter) is not None}
        linters = {
            name: [version_of(one), one.script, *one.arguments, *(list(each) for each in one.others)]
            for name, one in sorted(known.items())
        }
        return {"adapter": "linter", "linters": linters}

    def review(self, pull_request: PullRequest, checkout: Checkout) -> Review:
        """Return the linters' findings on the added lines. Raises ReviewerError, Cancelled, EngineError."""
        try:
            changed = changed_lines(pull_request.diff, Side.RIGHT)
        except ValueError as error:
            raise ReviewerError(f"a linter was given a pull request whose diff cannot be read: {error}") from error
        files: dict[str, list[str]] = {}
        linters: dict[str, Linter] = {}
        for path in sorted(path for path, lines in changed.items() if lines):
            owner = ecosystems.of_file(path)
            if owner is None or owner.linter is None:
                continue
            if owner.linter.script is None or owner.name == checkout.ecosystem:
                linters[owner.linter.program] = owner.linter
                files.setdefault(owner.linter.program, []).append(path)
        kept: dict[Finding, None] = {}
        for name, linter in linters.items():
            for some, ways in _ways(linter, files[name]):
                found = self._first(linter, some, ways, pull_request, checkout)
                own = [each for each in found if touches(each.start, each.end, changed.get(each.path or "", ()))]
                kept |= dict.fromkeys(own)
                if stopped := _stopped(linter, found, own):
                    raise ReviewerError(stopped)
        versions = [version for one in linters.values() if (version := version_of(one)) is not None]
        return Review(
            findings=tuple(sorted(kept, key=lambda one: (one.path, one.start, one.end, one.rule or "", one.body))),
            version="; ".join(versions) or None,
        )

    def _first(
        self,
        linter: Linter,
        files: Sequence[str],
        ways: Sequence[Sequence[str]],
        pull_request: PullRequest,
        checkout: Checkout,
    ) -> Sequence[Finding]:
        """Return what a linter finds in the first way in which it can read these files.

        Raises ReviewerError with what it says in the first of all where there is none.
        """
        faults = []
        for more in ways:
            try:
                return self._run(linter, files, more).review(pull_request, checkout).findings
            except ReviewerError as error:
                faults.append(error)
        raise faults[0]

    def _run(self, linter: Linter, files: Sequence[str], more: Sequence[str] = ()) -> _LinterRun:
        """Return the run of a linter, with more arguments.

        Raises ReviewerError where it is not on this machine, and has to be.
        """
        program = linter.find()
        if program is None and not linter.is_of_environment:
            raise ReviewerError(f"{linter.program} is not on this machine: {linter.source}")
        paths = [f"./{file}" for file in files]  # none is then taken for an option
        bound = tuple(place for place in linter.readable if Path(place).is_dir())
        if linter.script is None:
            command = (str(program), *linter.arguments, *more, *paths)
        else:
            if program is not None and linter.above is not None:
                program = program.resolve()
                bound = (str(program.parents[linter.above - 1]),)
            command = ("sh", "-c", linter.script, str(program or linter.program), *paths)
        return _LinterRun(
            command=command,
            linter=linter,
            kind=ReportFormat(linter.format),
            place=CommandPlace.CLONE if linter.script is None else CommandPlace.WORKSPACE,
            readable=bound,
            exit_codes=linter.exit_codes,
            timeout=self.timeout,
        )


def _ways(linter: Linter, files: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[Sequence[str]]]]:
    """Yield files to be looked at together, and the arguments to try, the likelier first.

    A header may be in C or C++, and the files of the same pull request tell which is likelier.
    """
    ends = tuple(end for end, _ in linter.others)
    plain = [file for file in files if not file.endswith(ends)]
    groups: list[tuple[list[str], list[Sequence[str]]]] = [(plain, [()])]
    for end, more in linter.others:
        is_other = any(ecosystems.language_of_file(file) != ecosystems.language_of_file(end) for file in plain)
        some = [file for file in files if file.endswith(end)]
        groups.append((some, [more, ()] if is_other else [(), more]))
    for some, ways in groups:
        for first in range(0, len(some), _FILES_AT_ONCE):
            yield some[first : first + _FILES_AT_ONCE], ways


def _stopped(linter: Linter, found: Sequence[Finding], own: Sequence[Finding]) -> str | None:
    """Return a sentence on a file that a linter could not read for what the pull request did not add; None: none."""
    said = {one.path for one in own if one.rule in linter.stopping}
    broken = next((one for one in found if one.rule in linter.stopping and one.path not in said), None)
    if broken is None:
        return None
    words = " ".join(broken.body.split())[:200]
    return (
        f"{linter.program} could not look at all that the pull request changes: it stopped at {broken.path}:"
        f"{broken.start}, where nothing was added: {words!r}; is something missing in the environment?"
    )


#: Goes to an empty folder, with the whole paths of the files of the tree.
_APART = """\
for one; do
    case $one in ./*) one=$PWD/${one#./} ;; esac
    shift
    set -- "$@" "$one"
done
cd "$(mktemp -d)" || exit
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LinterRun(CommandReviewer):
    """One linter on some files, without a network."""

    network: ClassVar[bool] = False

    linter: Linter

    @override
    def title(self) -> str:
        return f"the linter {self.linter.program}"

    @override
    def start(self, program: Path) -> tuple[str, ...]:
        if self.linter.apart is None:
            return (str(program),)
        return ("/bin/sh", "-c", f'{_APART}{self.linter.apart}\nexec "$0" "$@"', str(program))

    @override
    def files_of(self, pull_request: PullRequest) -> Collection[str]:
        return ()  # a linter that names another file means another file

    @override
    def report(self, stdout: str) -> str:
        try:
            return self.linter.report(stdout)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise self.bad_output([f"it is not what {self.linter.program} prints ({error!r})"], stdout) from error


def version_of(linter: Linter) -> str | None:
    """Return a linter of this machine with its version; None where another one runs. Raises ReviewerError."""
    program = None if linter.is_of_environment else linter.find()
    if program is None:
        return None
    try:
        said = printed_version((str(program), *linter.version), "/")
    except (OSError, subprocess.SubprocessError) as error:
        raise ReviewerError(f"{program} gave no version: {error}; install it again ({linter.source})") from error
    return f"{linter.program} {version_in(said) or said}"
