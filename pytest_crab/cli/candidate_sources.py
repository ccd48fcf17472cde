"""Opens the source of a curation that a command line names."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import click

from pytest_crab.cli.shared_options import address_for
from pytest_crab.clients.github_pulls import API, TOKENS, GitHubPulls
from pytest_crab.clients.gitlab_pulls import TOKEN, GitLabPulls
from pytest_crab.clients.reviewed_pulls import ReviewedPulls
from pytest_crab.curation.collect import CandidateSource
from pytest_crab.curation.discussion import read_discussions
from pytest_crab.curation.forge_repository import ForgeRepository
from pytest_crab.curation.known_set import KnownSet
from pytest_crab.curation.local_clone import LocalClone
from pytest_crab.formats import format_names
from pytest_crab.instances.loading import find_instances, load_instances
from pytest_crab.registry import offered
from pytest_crab.sources.remotes import is_repository

_SHORT = re.compile(r"[\w.-]+/[\w.-]+")
_ADDRESS = re.compile(r"(?P<server>https?://[^/\s]+)/(?P<project>[\w.-]+(?:/[\w.-]+)+?)(?:\.git)?/?")
_GITHUB, _GITLAB = "https://github.com", "https://gitlab.com"


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
        try:
            return None if self.only is None else frozenset(int(part) for part in self.only.split(","))
        except ValueError:
            raise click.UsageError(f"--only is {self.only}; it should be numbers such as 12,15") from None


def local_repository(wanted: SourceArguments) -> tuple[Path, str] | None:
    """Return the repository on this machine that is named, with its address; None: none is. Raises UsageError."""
    place = Path(wanted.source)
    if not (place.is_dir() and is_repository(place)):
        return None
    return place, address_for(place, wanted.url)


def open_forge(named: str, *, known: bool = False) -> ReviewedPulls | None:
    """Return the repository that is named as OWNER/NAME on GitHub, or by its address; None where it is neither.

    An address is GitLab's if its host says so, CI_SERVER_URL names it, or the project is in a group of a group; any
    other is that of a GitHub server. A token goes to no server but github.com, gitlab.com and those that
    GITHUB_SERVER_URL and CI_SERVER_URL name. ``known``: only one of these. Raises ForgeError.
    """
    match = _ADDRESS.fullmatch(f"{_GITHUB}/{named}" if _SHORT.fullmatch(named) else named)
    if match is None:
        return None
    server, project = match["server"], match["project"]
    own, own_gitlab = os.environ.get("GITHUB_SERVER_URL", _GITHUB), os.environ.get("CI_SERVER_URL")
    is_trusted = server in (_GITHUB, _GITLAB, own, own_gitlab)
    if known and not is_trusted:
        return None
    if server not in (_GITHUB, own) and ("gitlab" in server or server == own_gitlab or project.count("/") > 1):
        token = os.environ.get(TOKEN) if is_trusted else None
        return GitLabPulls(project=project, server=server, token=token or None)
    usual = API if server == _GITHUB else f"{server}/api/v3"
    api = os.environ.get("GITHUB_API_URL", usual) if server == own else usual
    token = next((os.environ[name] for name in TOKENS if os.environ.get(name)), None) if is_trusted else None
    return GitHubPulls(repo=project, api=api, token=token)


def open_source(wanted: SourceArguments, known: tuple[Path, str] | None) -> CandidateSource:
    """Return the source; ``known`` is its local_repository. Raises UsageError, BadInput, SourceError."""
    place = Path(wanted.source)
    if known is not None:
        url = known[1]
        forge = open_forge(url, known=True) if wanted.comments is None else None
        if forge is not None:
            return ForgeRepository(pulls=forge, only=wanted.numbers, since=wanted.day)
        discussions = read_discussions(wanted.comments) if wanted.comments is not None else None
        clone = LocalClone(folder=place, url=url, discussions=discussions, only=wanted.numbers, since=wanted.day)
        strangers = clone.strangers()
        if strangers:
            numbers = format_names([str(number) for number in strangers], 10)
            click.echo(
                f"{wanted.comments} has comments on pull requests that {place} has no refs of: {numbers}", err=True
            )
        return clone
    if not place.exists() and (forge := open_forge(wanted.source)) is not None:
        return ForgeRepository(pulls=forge, only=wanted.numbers, since=wanted.day)
    for option, value in (("--comments", wanted.comments), ("--url", wanted.url), ("--since", wanted.since)):
        if value is not None:
            raise click.UsageError(f"{option} is for a repository, and {wanted.source} is none on this machine")
    if place.is_dir() and any(find_instances(place)):
        return KnownSet(read=functools.partial(load_instances, place))
    repos = None if wanted.only is None else frozenset(wanted.only.split(","))
    readers = dict(offered(lambda benchmark: benchmark.candidates))
    for read in readers.values() if place.is_file() else ():
        found: CandidateSource | None = read(place, repos)
        if found is not None:
            return found
    raise click.UsageError(
        f"{wanted.source} is no repository on this machine or on a forge (OWNER/NAME, or its address), no set of "
        f"instances and no file that a benchmark has candidates in ({format_names(list(readers), 20)})"
    )
