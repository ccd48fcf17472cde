"""The inject command: a repository with tests becomes a set of instances with known faults."""

from __future__ import annotations

import functools
from contextlib import ExitStack
from datetime import date
from pathlib import Path

import click

from pytest_crab import ecosystems
from pytest_crab.cli.candidate_sources import SourceArguments, local_repository
from pytest_crab.cli.curation_run import CurationServices, account, finish, list_candidates, run_stages
from pytest_crab.cli.shared_options import runtime_option, store_option
from pytest_crab.curation.collect import Collection
from pytest_crab.curation.listing import listing_path, read_listing
from pytest_crab.curation.pipeline import walk
from pytest_crab.curation.stages import Stage
from pytest_crab.ecosystems import interpreters
from pytest_crab.injection.company import company_for
from pytest_crab.injection.deciding import Deciding
from pytest_crab.injection.faults import FaultSource
from pytest_crab.injection.fixes import FixSource
from pytest_crab.injection.linting import absent_linters
from pytest_crab.injection.proposals import Method
from pytest_crab.injection.repository import open_repository
from pytest_crab.injection.seeded import SeededSource
from pytest_crab.injection.stages import Proving, Publishing, Sharpness
from pytest_crab.injection.twins import clean_twin
from pytest_crab.parsing.syntax_trees import parser_of
from pytest_crab.settings import load_settings
from pytest_crab.sources.git import bring_history
from pytest_crab.store import FileStore

#: The methods that begin with a fix, in order of preference.
_OF_FIXES = (Method.INTRODUCED, Method.REVERSED)

#: So many seeded faults are listed for each instance that is wanted: some are seen by no test.
_FOR_ONE = 4


@click.command()
@click.argument("source")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="The set's folder.")
@click.option(
    "--until", type=click.IntRange(min=1), default=50, show_default=True, help="Stop at this many proved instances."
)
@click.option(
    "--method", "methods", multiple=True, type=click.Choice([each.value for each in (*_OF_FIXES, Method.SEEDED)]),
    help="Use this method alone; may be given again. Without it a fix is introduced, else reversed; more are seeded.",
)  # fmt: skip
@click.option("--url", help="The https address of a repository that is given as a folder.")
@click.option(
    "--since", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE", help="Look for fixes from this day on alone."
)
@click.option(
    interpreters.OPTION,
    "version",
    metavar="X.Y",
    help="The CPython of all environments; without it each manifest decides.",
)
@click.option(
    "--runs", type=click.IntRange(min=2), default=3, show_default=True, help="Prove with so many runs of each state."
)
@click.option(
    "--near-misses", "most", type=click.IntRange(min=0), default=10, show_default=True,
    help="Judge each oracle by at most so many near misses, made of its reference.",
)  # fmt: skip
@click.option(
    "--least-refused", "least", type=click.FloatRange(0, 1), default=0.7, show_default=True,
    help="Keep an oracle that refuses at least this share of them; some may do the same as the reference.",
)  # fmt: skip
@click.option("--twins/--no-twins", default=True, show_default=True, help="Add each pull request without its fault.")
@click.option("--status", is_flag=True, help="Print the funnel of what is stored; run nothing.")
@runtime_option("What runs the project's tests.")
@click.option("--jobs", type=click.IntRange(min=1), default=2, show_default=True, help="Faults at a time.")
@store_option("The folder in which decisions and sources are kept.")
@click.option("--json", "as_json", is_flag=True, help="Print the funnel as data.")
def inject(
    source: str,
    *,
    out: Path,
    until: int,
    methods: tuple[str, ...],
    url: str | None,
    since: date | None,
    version: str | None,
    runs: int,
    most: int,
    least: float,
    twins: bool,
    status: bool,
    runtime: str,
    jobs: int,
    store: Path,
    as_json: bool,
) -> None:
    """Make a set of instances with known faults of the repository SOURCE, from its own history and tests.

    SOURCE is a repository's folder, or its https address. No model is asked and no review comment is needed: a fault is
    one that a fix of the repository mended, or one that a mutation seeds in a real change, and the project's own tests
    that see it are the oracle. Each fault passes the stages in their order; each decision is stored with its reason, so
    an interrupted command continues where it stopped.

    The exit status is 1 if a fix failed, for example because of the network: run the command again.
    """
    named = SourceArguments(source=source, url=url, since=since)
    asked = tuple(Method(each) for each in methods) or (*_OF_FIXES, Method.SEEDED)
    wanted = tuple(method for method in asked if method in _OF_FIXES)
    known = local_repository(named)
    if known is None and Path(source).is_dir():
        raise click.UsageError(f"{source} is no git repository; name one, or its https address")
    if most:
        # Before hours of work that would end in its lack.
        parser_of(ecosystems.DEFAULT.grammars[ecosystems.DEFAULT_SUFFIX])
    settings = load_settings(Path.cwd())
    kept = FileStore(store.absolute())
    with ExitStack() as stack:
        services = CurationServices(
            stack=stack, settings=settings, store=store, runtime=runtime, jobs=jobs, budget=None, replay=True
        )
        folder, address = known or (bring_history(url or source, kept.cache), url or source)
        repository = stack.enter_context(open_repository(folder))
        fixes = FixSource(repository=repository, url=address, methods=wanted, since=named.day)
        seeded = SeededSource(repository=repository, url=address, since=named.day, most=_FOR_ONE * until)
        faults = FaultSource(fixes=fixes if wanted else None, seeded=seeded if Method.SEEDED in asked else None)
        path = listing_path(store, out)
        listed = status and read_listing(path) is not None
        listing = list_candidates(path, out, source, named.day, None if listed else faults)
        deciding = Deciding(repository=repository, version=version, others=faults.propose_others)
        chain: list[Stage] = [
            Collection(source=faults, known=faults.identity()),
            deciding,
            *([Sharpness(most=most, least=least)] if most else []),
            Proving(runs=runs, company=lambda one: company_for(repository, one)),
            Publishing(),
        ]
        passages = (passage for one in listing.candidates for passage in walk(one, chain[:2], kept))
        ends = (passage.decision for passage in passages if passage.stage == deciding.name)
        deciding.remember(end.candidate for end in ends if end is not None and end.candidate is not None)
        twin = functools.partial(clean_twin, repository) if twins else None
        notes = [] if status else run_stages(listing, chain, services, kept, out, until, twin)
        if not status:
            notes += absent_linters(repository.paths("refs/heads/main"))
            notes += [] if listing.candidates else [_nothing_found()]
        rows = account(listing, chain, kept, out)
    finish(rows, notes, status=status, as_json=as_json)


def _nothing_found() -> str:
    """Return a sentence on a history in which nothing is a candidate."""
    able = (one for one in ecosystems.installed() if one is ecosystems.DEFAULT or one.tests_runner is not None)
    languages = sorted({language for one in able for language in one.languages.values()})
    return (
        "nothing was found to begin with: no commit that was looked at changes source and tests of one language "
        f"({', '.join(languages)}) as --method and --since ask for it"
    )
