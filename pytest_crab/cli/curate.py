"""The curate command: merged pull requests become a set of instances, stage by stage."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import date
from pathlib import Path

import click

from pytest_crab.cli.candidate_sources import SourceArguments, local_repository, open_source
from pytest_crab.cli.curate_gold import annotate, calibrate
from pytest_crab.cli.curate_init import init
from pytest_crab.cli.curate_review import review
from pytest_crab.cli.curation_run import CurationServices, account, finish, list_candidates, run_stages
from pytest_crab.cli.selection_effects import effects_lines
from pytest_crab.cli.shared_options import runtime_option, store_option
from pytest_crab.curation.collect import Collection
from pytest_crab.curation.listing import listing_path
from pytest_crab.curation.stages import Stage, make_stages, usual_stages
from pytest_crab.settings import load_settings
from pytest_crab.sources.remotes import mirrored
from pytest_crab.store import FileStore


class _CurateGroup(click.Group):
    """A group whose first word is a source unless it is one of its commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the command in front that is meant where none is named."""
        args = [args[0].removeprefix("--"), *args[1:]] if args[:1] in (["--init"], ["--review"]) else args
        named = args[:1] and args[0] in (*self.commands, "-h", "--help")
        return super().parse_args(ctx, args if named or not args else ["run", *args])


@click.group(cls=_CurateGroup)
def curate() -> None:
    """Make a set of instances of merged pull requests: curate SOURCE --out SET.

    ``curate SOURCE`` is short for ``curate run SOURCE``, whose help has the options.
    """


curate.add_command(annotate)
curate.add_command(calibrate)
curate.add_command(init)
curate.add_command(review)


@curate.command()
@click.argument("source", required=False)
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="The set's folder.")
@click.option(
    "--stages", metavar="NAME,...",
    help="Run these stages; a candidate waits before the first one that is left out. Without it all run: environment, "
    "oracles and validate only where crab.yaml has settings for them.",
)  # fmt: skip
@click.option("--status", is_flag=True, help="Print the funnel of what is stored; run nothing.")
@click.option("--what-if", is_flag=True, help="Collect, and print what each rule would keep; ask no model.")
@click.option(
    "--comments", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Review comments for a repository on this machine: JSON lines with the fields of GitHub's API.",
)  # fmt: skip
@click.option("--url", help="The https address of a repository that is given as a folder.")
@click.option("--only", metavar="N,...", help="Take these pull requests alone; of rows, those of OWNER/NAME,...")
@click.option(
    "--since", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE",
    help="Look for pull requests from this day on, and add them to those that are known.",
)  # fmt: skip
@runtime_option("What runs projects' code.")
@click.option("--jobs", type=click.IntRange(min=1), default=4, show_default=True, help="Candidates at a time.")
@click.option(
    "--budget", type=click.FloatRange(min=0, min_open=True), help="The most to spend on each judge, in US dollars."
)
@click.option("--replay", is_flag=True, help="Use recorded answers only.")
@store_option("The folder in which decisions, sources and judgements are kept.")
@click.option("--json", "as_json", is_flag=True, help="Print the funnel as data.")
def run(
    source: str | None,
    *,
    out: Path,
    stages: str | None,
    status: bool,
    what_if: bool,
    comments: Path | None,
    url: str | None,
    only: str | None,
    since: date | None,
    runtime: str,
    jobs: int,
    budget: float | None,
    replay: bool,
    store: Path,
    as_json: bool,
) -> None:
    """Make a set of instances of the merged pull requests of SOURCE.

    SOURCE is a repository's folder with refs/pull, a repository on GitHub (OWNER/NAME), a set of instances (import
    makes one of a benchmark), or a benchmark's file of fixed issues. Each pull request passes the stages in their
    order; each decision is stored with its reason, so an interrupted command continues where it stopped.

    The exit status is 1 if a pull request failed, for example because of the network: run the command again.
    Rejected pull requests do not change it, and with --status it is 0.
    """
    if source is None and not status:
        raise click.UsageError("name a source, or ask for the funnel of an earlier run with --status")
    wanted = SourceArguments(source=source or "", comments=comments, url=url, only=only, since=since)
    settings = load_settings(Path.cwd())
    kept = FileStore(store.absolute())
    with ExitStack() as stack:
        services = CurationServices(
            stack=stack, settings=settings, store=store, runtime=runtime, jobs=jobs, budget=budget, replay=replay
        )
        later = make_stages(usual_stages(settings) if stages is None else stages.split(","), settings)
        known = None if status else local_repository(wanted)
        opened = None if status else open_source(wanted, known)
        if known is not None:
            stack.enter_context(mirrored(*known, store))
        listing = list_candidates(listing_path(store, out), out, wanted.source, wanted.day, opened)
        chain: list[Stage] = [Collection(source=opened, known=listing.source.identity), *later]
        chain = chain[:1] if what_if else chain
        notes = [] if status else run_stages(listing, chain, services, kept, out)
    if what_if:
        click.echo("\n".join(effects_lines(listing, chain, kept, settings)))
        return
    rows = account(listing, chain, kept, out)
    finish(rows, notes, status=status, as_json=as_json)
