"""Opens the source of a curation that a command line names."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import click

from pytest_crab.curation.collect import CandidateSource
from pytest_crab.curation.discussion import read_discussions
from pytest_crab.curation.local_clone import LocalClone
from pytest_crab.sources.remotes import address_of
from pytest_crab.sources.remotes import is_repository


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceArguments:
    """The arguments that a source is opened with."""

    source: str
    comments: Path | None = None
    url: str | None = None
    only: str | None = None
    since: date | None = None

    @property
    def day(self) -> str | None:
        """The day from which pull requests are looked for."""
        return None if self.since is None else self.since.strftime("%Y-%m-%d")

    @property
    def numbers(self) -> frozenset[int] | None:
        """The numbers of pull requests to take. Raises UsageError."""
        if self.only is None:
            return None
        try:
            return frozenset(int(part) for part in self.only.split(","))
        except ValueError:
            raise click.UsageError(f"--only is {self.only}; it should be numbers such as 12,15") from None


def open_source(wanted: SourceArguments) -> CandidateSource:
    """Return the source. Raises UsageError, BadInput, SourceError."""
    place = Path(wanted.source)
    if place.is_dir() and is_repository(place):
        url = wanted.url or address_of(place)
        if url is None:
            raise click.UsageError(f"{place} has no https origin; say with --url where the repository can be found")
        discussions = read_discussions(wanted.comments) if wanted.comments is not None else {}
        return LocalClone(folder=place, url=url, discussions=discussions, only=wanted.numbers, since=wanted.day)
    raise click.UsageError(f"{wanted.source} is no repository on this machine")
