"""The curate command: merged pull requests become a set of instances, stage by stage."""

from __future__ import annotations

import dataclasses
import functools
import json
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import click

from pytest_crab.cli.asking import spent_line
from pytest_crab.cli.candidate_sources import SourceArguments, open_source
from pytest_crab.cli.choices import choose_runtime, runtime_option, store_option
from pytest_crab.cli.curate_gold import annotate, calibrate
from pytest_crab.cli.judges import Asking, asked_line
from pytest_crab.cli.progress import as_they_end
from pytest_crab.cli.run_contexts import proving_context
from pytest_crab.curation.collect import CandidateSource, Collection
from pytest_crab.curation.funnel import FunnelStage, count_funnel, funnel_data, funnel_lines
from pytest_crab.curation.licence_notes import write_notes
from pytest_crab.curation.listing import ListedSource, Listing, listing_path, read_listing, write_listing
from pytest_crab.curation.pipeline import Fate, Passage, run_candidate, walk
from pytest_crab.curation.publish import remove_rejected, write_set
from pytest_crab.curation.python_version import RELEASED
from pytest_crab.curation.stages import CurationContext, Stage, make_stages, usual_stages
from pytest_crab.errors import BadInput, CrabError
from pytest_crab.formats import format_count
from pytest_crab.instances import FILE
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.step_cache import StepCache
from pytest_crab.settings import Settings, load_settings
from pytest_crab.show.page.funnel import write_funnel_page
from pytest_crab.side_by_side import side_by_side
from pytest_crab.store import FileStore
from pytest_crab.trial import Crew, RunContext
from pytest_crab.types import PullCandidate, Usage, total_usage

#: The page with the funnel, and its numbers, in the set's folder.
PAGE, NUMBERS = "funnel.html", "funnel.json"


@dataclass(kw_only=True)
class _Services:
    """The services of a curation, each opened once, when a stage first asks for it."""

    stack: ExitStack
    settings: Settings
    store: Path
    runtime: str
    jobs: int
    budget: float | None
    replay: bool
    _judges: dict[str, JudgeBench] = field(default_factory=dict)
    _opening: threading.Lock = field(default_factory=threading.Lock)
    _proving: list[tuple[Crew, RunContext]] = field(default_factory=list)
    _uses: dict[tuple[str, str], list[Usage | None]] = field(default_factory=dict)

    def note_use(self, name: str, noun: str, usage: Usage | None) -> None:
        """Remember what a proposal of a model or an attempt of an agent used."""
        with self._opening:
            self._uses.setdefault((name, noun), []).append(usage)

    def spent_lines(self) -> Iterator[str]:
        """Yield what was asked of models in this call, and what that cost."""
        for bench in self._judges.values():
            use = bench.use()
            if use.asked or use.failed:
                yield asked_line(use)
        for (name, noun), usages in self._uses.items():
            yield spent_line(name, noun, asked=len(usages), failed=0, usage=total_usage(usages))

    def judge(self, name: str) -> JudgeBench:
        """Return the judge of this name in crab.yaml; all of them share one gateway. Raises BadInput."""
        with self._opening:
            if not self._judges:
                asking = Asking(budget=self.budget, jobs=self.jobs, plan=False, replay=self.replay, store=self.store)
                benches = self.stack.enter_context(asking.open(dict.fromkeys(self.settings.judges)))
                self._judges.update((bench.name, bench) for bench in benches)
        return self._judges[name]

    def stop(self) -> None:
        """End the proofs and attempts that run."""
        for _, run_context in self._proving:
            run_context.stop()

    def proving(self) -> tuple[Crew, RunContext]:
        """Return a crew and a run context for proofs. Raises ClickException."""
        with self._opening:
            if not self._proving:
                opened = proving_context(
                    choose_runtime(self.runtime, [*RELEASED]), self.store, self.settings, self.budget
                )
                self._proving.append(self.stack.enter_context(opened))
        return self._proving[0]


class _CurateGroup(click.Group):
    """A group whose first word is a source unless it is one of its commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the command in front that is meant where none is named."""
        named = args[:1] and args[0] in (*self.commands, "-h", "--help")
        return super().parse_args(ctx, args if named or not args else ["run", *args])


@click.group(cls=_CurateGroup)
def curate() -> None:
    """Make a set of instances of merged pull requests: curate SOURCE --out SET.

    ``curate SOURCE`` is short for ``curate run SOURCE``, whose help has the options.
    """


curate.add_command(annotate)
curate.add_command(calibrate)


@curate.command()
@click.argument("source", required=False)
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="The set's folder.")
@click.option(
    "--stages", metavar="NAME,...",
    help="Run these stages; a candidate waits before the first one that is left out. Without it all run: environment, "
    "oracles and validate only where crab.yaml has settings for them.",
)  # fmt: skip
@click.option("--status", is_flag=True, help="Print the funnel of what is stored; run nothing.")
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
    makes one of another benchmark), or a benchmark's file of fixed issues. Each pull request passes the stages in their
    order; each decision is stored with its reason, so an interrupted command continues where it stopped.

    The exit status is 1 if a pull request failed, for example because of the network: run the command again.
    Rejected pull requests do not change it, and with --status it is 0.
    """
    if source is None and not status:
        raise click.UsageError("name a source, or ask for the funnel of an earlier run with --status")
    wanted = SourceArguments(source=source or "", comments=comments, url=url, only=only, since=since)
    try:
        settings = load_settings(Path.cwd())
        kept = FileStore(store.absolute())
        with ExitStack() as stack:
            services = _Services(
                stack=stack, settings=settings, store=store, runtime=runtime, jobs=jobs, budget=budget, replay=replay
            )
            later = make_stages(usual_stages(settings) if stages is None else stages.split(","), settings)
            opened = None if status else open_source(wanted)
            listing = _listing(listing_path(store, out), out, wanted, opened)
            chain: list[Stage] = [Collection(source=opened, known=listing.source.identity), *later]
            notes = [] if status else _run(listing, chain, services, kept, out)
        rows = _account(listing, chain, kept, out)
    except CrabError as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(funnel_data(rows), indent=1) if as_json else "\n".join(funnel_lines(rows)))
    for note in notes:
        click.echo(note, err=as_json)
    if not status and any(row.pulls.failed for row in rows):
        sys.exit(1)


def _listing(path: Path, out: Path, wanted: SourceArguments, source: CandidateSource | None) -> Listing:
    """Return the list of candidates: the stored one, or, with a source that is new or asked since a day, a fresh one.

    Raises BadInput, and what the source raises.
    """
    known = read_listing(path)
    if source is None:
        if known is None:
            raise BadInput(str(out), ["nothing was curated here yet; name a source"])
        return known
    named = ListedSource(source=wanted.source, identity=source.identity(), since=wanted.day)
    if known is not None and known.source.identity != named.identity:
        problem = f"it is made from {known.source.source}; name another --out for {wanted.source}"
        raise BadInput(str(out), [problem])
    found = tuple(source.list_candidates())
    made = Listing(source=named, candidates=found if known is None else known.extend(found))
    write_listing(path, made)
    return made


def _run(listing: Listing, chain: Sequence[Stage], services: _Services, store: FileStore, out: Path) -> list[str]:
    """Run the stages on every candidate and write the set; return sentences on it."""
    context = CurationContext(
        cache=StepCache(store=store),
        folder=store.cache,
        judge=services.judge,
        proving=services.proving,
        note_use=services.note_use,
    )

    def pass_stages(candidate: PullCandidate, notice: Callable[[str], None]) -> None:
        run_candidate(candidate, chain, dataclasses.replace(context, notice=notice))

    def stop() -> None:
        context.cache.cancelled.set()
        services.stop()

    work = {each.id: functools.partial(pass_stages, each) for each in listing.candidates}
    with side_by_side(services.jobs, stop) as pool, as_they_end(pool, work, "pull requests") as ended:
        deque(ended, maxlen=0)
    if chain[-1].name != "publish":
        return list(services.spent_lines())
    ends = [passage for one in listing.candidates for *_, passage in [walk(one, chain, store)]]
    decided = [passage.decision for passage in ends if passage.decision is not None]
    published = [decision.candidate for decision in decided if decision.candidate is not None]
    notes = [*write_set(out, published), *_notes_on_others(out, ends)]
    write_notes(out)
    bare = sum(each.comment.oracle is None for one in published for each in one.comments)
    lack = f"; {format_count(bare, 'comment')} without an oracle, which no run measures" if bare else ""
    return [*services.spent_lines(), *notes, f"{out}: {format_count(len(published), 'instance')}{lack}"]


def _notes_on_others(out: Path, ends: Sequence[Passage]) -> Iterator[str]:
    """Remove instances that are rejected now from the set; yield sentences on these and on those that failed."""
    fates = {end.candidate.id: end.decision.fate for end in ends if end.decision is not None}
    yield from remove_rejected(out, [name for name, fate in fates.items() if fate is Fate.REJECTED])
    failed = [name for name, fate in fates.items() if fate is Fate.FAILED and (out / name / FILE).is_file()]
    if failed:
        yield f"{out} has {', '.join(failed)} as an earlier run wrote them, since they failed now"


def _account(listing: Listing, chain: Sequence[Stage], store: FileStore, out: Path) -> list[FunnelStage]:
    """Return the funnel, and write it beside the set as a page and as data."""
    rows = count_funnel([stage.name for stage in chain], (walk(one, chain, store) for one in listing.candidates))
    write_funnel_page(out / PAGE, out / NUMBERS, listing.source.source, funnel_data(rows))
    return rows
