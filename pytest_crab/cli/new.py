"""The new command: the skeleton of an instance, from a pull request, a release or a folder."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pytest_crab.cli.shared_options import address_for, store_option
from pytest_crab.curation import pull_requests, template
from pytest_crab.curation.locations import Location, parse_location
from pytest_crab.curation.pull_requests import PullRequestDraft
from pytest_crab.errors import BadInput
from pytest_crab.sources.pull_request import PullRequestQuery
from pytest_crab.sources.remotes import is_repository
from pytest_crab.store import FileStore
from pytest_crab.types import INSTANCE_ID

_PULL = re.compile(r"(https://[^/\s]+/[^/\s]+/[^/\s]+)/pull/(\d+)(?:/.*)?")
_URL = re.compile(r"(https://[^/\s]+/[^/\s]+/[^/\s]+?)(?:\.git)?/?")
_SHORT = re.compile(r"([\w.-]+/[\w.-]+)(?:#(\d+))?")
_RELEASE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9.!+_-]*)")


@dataclasses.dataclass(frozen=True, kw_only=True)
class NewArguments:
    """The arguments that the origin of the new instance is made from."""

    source: str
    into: Path
    number: int | None
    base: str | None
    head: str | None
    merged: str | None
    reference: Path | None
    url: str | None
    cache: Path


@click.command(name="new")
@click.argument("source")
@click.option(
    "--into", type=click.Path(file_okay=False, path_type=Path), default=Path(), show_default=True,
    help="The set's folder, in which the instance's folder is made.",
)  # fmt: skip
@click.option("--id", "name", help="The instance's id; made of repository, number and head if not given.")
@click.option(
    "--comment", "places", multiple=True, metavar="PATH[:LINE[-LINE]]", help="A place that is commented on; repeatable."
)
@click.option("--title", help="The pull request's title.")
@click.option("--number", type=click.IntRange(min=1), help="The pull request's number.")
@click.option("--repo", metavar="OWNER/NAME", help="The project's name.")
@click.option("--base", metavar="SHA", help="Where the pull request starts; the merge base if not given.")
@click.option(
    "--head", metavar="SHA|DIFF|FOLDER",
    help="The commit that was commented on; on a release or a folder a diff, or a changed copy.",
)  # fmt: skip
@click.option("--merged", metavar="SHA", help="The merged commit; looked for in the main line if not given.")
@click.option(
    "--reference", metavar="DIFF|FOLDER", type=click.Path(exists=True, path_type=Path),
    help="On a release or a folder: every comment resolved, a diff from head or a copy.",
)  # fmt: skip
@click.option("--url", help="The https address of a repository that is given as a folder.")
@store_option("The folder in which fetched sources are kept.")
def new(
    name: str | None, places: tuple[str, ...], title: str | None, repo: str | None, store: Path, **given: Any
) -> None:
    """Write the skeleton of an instance of SOURCE, overwriting nothing.

    SOURCE is a pull request's address (or OWNER/NAME#NUMBER), a repository's address or clone with --head SHA or
    --number, a release as NAME==VERSION, or a project's folder. It fills in all that it can find, and lists the rest.
    """
    asked = NewArguments(cache=FileStore(store).cache, **given)
    anchored = [parse_location(place) for place in places]
    with _origin(asked) as origin:
        folder = _make(_with_options(origin, title, asked.number, repo), asked.into, name, anchored)
        warnings = origin.warnings
    click.echo(f"{folder}: written")
    for warning in warnings:
        click.echo(f"{folder}: note: {warning}")
    click.echo(f"write what is still open in its instance.yaml and oracles/; pytest-crab set check {folder} lists it")


def _with_options(
    origin: PullRequestDraft, title: str | None, number: int | None, repo: str | None
) -> PullRequestDraft:
    """Return the origin, with its facts replaced by those of the command line."""
    facts = dataclasses.replace(origin.facts, title=title or origin.facts.title, number=number or origin.facts.number)
    return dataclasses.replace(origin, facts=facts, repo=repo or origin.repo)


def _make(origin: PullRequestDraft, into: Path, name: str | None, anchored: list[Location]) -> Path:
    name = name or origin.id
    if not INSTANCE_ID.fullmatch(name):
        raise BadInput("--id", [f"{name!r} is no id; it should be 1 to 120 letters, digits or any of . _ @ -"])
    template.refuse_existing(into / name)
    instance = origin.instance(into / name, anchored)
    files = {**origin.files, **dict(template.stubs(instance.comments))}
    template.write(instance, files, template.instance_text(instance, origin.diff, origin.notes))
    return into / name


@contextmanager
def _origin(asked: NewArguments) -> Iterator[PullRequestDraft]:
    release = _RELEASE.fullmatch(asked.source)
    folder = Path(asked.source)
    if release:
        with pull_requests.from_release(release[1], release[2], _change(asked), asked.reference, asked.cache) as origin:
            yield origin
    elif folder.is_dir() and not (is_repository(folder) and _names_commits(asked)):
        with pull_requests.from_folder(folder, asked.into, _change(asked), asked.reference) as origin:
            yield origin
    else:
        yield pull_requests.from_repository(_wanted_pull(asked, folder), asked.cache)


def _names_commits(asked: NewArguments) -> bool:
    """Return whether what is asked for is in the history of a repository, and not in a folder's files."""
    if asked.head is not None:
        return not Path(asked.head).exists()
    return asked.reference is None and any((asked.number, asked.base, asked.merged, asked.url))


def _change(asked: NewArguments) -> Path | None:
    """The diff or the changed copy that makes the head of a release or a folder."""
    for option, value in (("--base", asked.base), ("--merged", asked.merged), ("--url", asked.url)):
        if value is not None:
            raise click.UsageError(f"{option} is for repositories; a release or a folder has --head and --reference")
    if asked.head is not None and not Path(asked.head).exists():
        raise click.UsageError(f"--head is {asked.head}, which is neither a diff's file nor a folder here")
    return None if asked.head is None else Path(asked.head)


def _wanted_pull(asked: NewArguments, folder: Path) -> PullRequestQuery:
    if asked.reference is not None:
        raise click.UsageError("--reference is for releases and folders; a repository's is --merged SHA")
    shas = {"base": asked.base, "head": asked.head, "merged": asked.merged}
    if folder.is_dir():
        url = address_for(folder, asked.url)
        return PullRequestQuery(url=url, number=asked.number, place=str(folder.absolute()), **shas)
    if match := _PULL.fullmatch(asked.source):
        return PullRequestQuery(url=match[1], number=int(match[2]), **shas)
    if match := _URL.fullmatch(asked.source):
        return PullRequestQuery(url=match[1], number=asked.number, **shas)
    if match := _SHORT.fullmatch(asked.source):
        number = int(match[2]) if match[2] else asked.number
        return PullRequestQuery(url=f"https://github.com/{match[1]}", number=number, **shas)
    raise click.UsageError(
        f"{asked.source} is no pull request's address, no repository, no NAME==VERSION and no folder"
    )
