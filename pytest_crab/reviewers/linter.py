"""The linter of each language that a pull request changes, kept to its own lines."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from pytest_crab import ecosystems
from pytest_crab.commands import CommandPlace, printed_version
from pytest_crab.diffs import changed_lines
from pytest_crab.ecosystems.contract import version_in
from pytest_crab.ecosystems.linters import Linter
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
        """The version of each linter on this machine, and its arguments. Raises ReviewerError for a broken one."""
        known = {linter.program: linter for one in ecosystems.installed() if (linter := one.linter) is not None}
        linters = {name: [_version(one), one.script, *one.arguments] for name, one in sorted(known.items())}
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
            if (linter := ecosystems.linter_of(path)) is not None:
                linters[linter.program] = linter
                files.setdefault(linter.program, []).append(path)
        found: dict[Finding, None] = {}
        for name, linter in linters.items():
            for first in range(0, len(files[name]), _FILES_AT_ONCE):
                one = self._run(linter, files[name][first : first + _FILES_AT_ONCE])
                found |= dict.fromkeys(one.review(pull_request, checkout).findings)
        kept = [one for one in found if touches(one, changed.get(one.path or "", set()))]
        versions = [version for one in linters.values() if (version := _version(one)) is not None]
        return Review(
            findings=tuple(sorted(kept, key=lambda one: (one.path, one.start, one.end, one.rule or "", one.body))),
            version="; ".join(versions) or None,
        )

    def _run(self, linter: Linter, files: Sequence[str]) -> _LinterRun:
        """Return the run of a linter. Raises ReviewerError where it is not on this machine, and has to be."""
        program = linter.find()
        if program is None and not linter.is_of_environment:
            raise ReviewerError(f"{linter.program} is not on this machine: {linter.source}")
        paths = [f"./{file}" for file in files]  # none is then taken for an option
        bound: tuple[str, ...] = ()
        if linter.script is None:
            command = (str(program), *linter.arguments, *paths)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _LinterRun(CommandReviewer):
    """One linter on some files, without a network."""

    network: ClassVar[bool] = False

    linter: Linter

    @override
    def title(self) -> str:
        return f"the linter {self.linter.program}"

    @override
    def report(self, stdout: str) -> str:
        try:
            return stdout if self.linter.told is None else self.linter.told(stdout)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise self.bad_output([f"it is not what {self.linter.program} prints ({error!r})"], stdout) from error


def touches(finding: Finding, lines: set[int]) -> bool:
    """Return whether a finding covers one of these lines; one on a whole file covers them all."""
    if finding.start is None:
        return bool(lines)
    return any(finding.start <= line <= (finding.end or finding.start) for line in lines)


def _version(linter: Linter) -> str | None:
    """Return a linter of this machine with its version; None where it is not here. Raises ReviewerError."""
    program = linter.find()
    if program is None:
        return None
    try:
        said = printed_version((str(program), *linter.version), "/")
    except (OSError, subprocess.SubprocessError) as error:
        if linter.is_of_environment:
            return None
        raise ReviewerError(f"{program} gave no version: {error}; install it again ({linter.source})") from error
    return f"{linter.program} {version_in(said) or said}"
