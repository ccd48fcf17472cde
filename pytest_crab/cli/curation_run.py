"""The run of a curation that commands share: its list of candidates, its services, its stages and its funnel."""

from __future__ import annotations

import dataclasses
import functools
import json
import shlex
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import click

from pytest_crab.cli.asking import spent_line
from pytest_crab.cli.judges import Asking, asked_line
from pytest_crab.cli.progress import as_they_end
from pytest_crab.cli.run_contexts import proving_context
from pytest_crab.cli.shared_options import choose_runtime
from pytest_crab.curation.collect import CandidateSource, Collection
from pytest_crab.curation.fresh_rates import rate_lines
from pytest_crab.curation.funnel import FunnelStage, count_funnel, funnel_data, funnel_lines
from pytest_crab.curation.licence_notes import readable, write_notes
from pytest_crab.curation.listing import ListedSource, Listing, listing_path, read_listing, write_listing
from pytest_crab.curation.pipeline import Fate, Passage, run_candidate, walk
from pytest_crab.curation.publish import record_audits, remove_rejected, write_set
from pytest_crab.curation.rulings import read_rulings, ruled
from pytest_crab.curation.stages import CurationContext, ListedStage, NamedStage, Stage, make_stages
from pytest_crab.ecosystems.interpreters import RELEASED
from pytest_crab.errors import BadInput, CrabError
from pytest_crab.formats import format_count
from pytest_crab.injection.twins import TWIN, twin_id
from pytest_crab.instances import FILE
from pytest_crab.scoring.judges.bench import JudgeBench
from pytest_crab.scoring.steps import StepCache
from pytest_crab.settings import Settings, load_settings
from pytest_crab.show.page.funnel import write_funnel_page
from pytest_crab.side_by_side import side_by_side
from pytest_crab.store import FileStore
from pytest_crab.trial import Crew, RunContext
from pytest_crab.types import PullCandidate, Usage, total_usage

#: The page with the funnel, and its numbers, in the set's folder.
PAGE, NUMBERS = "funnel.html", "funnel.json"


@dataclass(kw_only=True)
class CurationServices:
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

    def next_lines(self, out: Path) -> Iterator[str]:
        """Yield the command that measures a set under the runtime that proved it; nothing where nothing was proved.

        It is one that gives every oracle a verdict: ``human`` is in it where each comment has what that applies.
        """
        oracles = [one for instance in readable(out) for one in instance.with_oracles] if self._proving else []
        bare = sum(one.reference is None for one in oracles)
        for _, run_context in self._proving if oracles else []:
            reviewers = ["--reviewer=none"] if bare else ["--reviewer=human", "--reviewer=none"]
            words = ["pytest", *reviewers, f"--crab-runtime={run_context.runtime.name}", str(out)]
            yield f"now run: {shlex.join(words)}"
            if bare:
                told = f"{format_count(bare, 'comment')} without a reference, which --reviewer=human applies"
                yield f"{out}: {told}; write one in instance.yaml, or give --reviewer=human an --agent"

    def proving(self) -> tuple[Crew, RunContext]:
        """Return a crew and a run context for proofs. Raises ClickException where the runtime cannot be had."""
        with self._opening:
            if not self._proving:
                try:
                    place = choose_runtime(self.runtime, [*RELEASED])
                    opened = proving_context(place, self.store, self.settings, self.budget)
                    self._proving.append(self.stack.enter_context(opened))
                except CrabError as error:  # a CrabError would be a failure of each candidate in turn
                    raise click.ClickException(str(error)) from error
        return self._proving[0]


def list_candidates(path: Path, out: Path, name: str, since: str | None, source: CandidateSource | None) -> Listing:
    """Return the list of candidates: the stored one, or, with a source that is new or asked since a day, a fresh one.

    Raises BadInput, and what the source raises.
    """
    known = read_listing(path)
    if source is None:
        if known is None:
            raise BadInput(str(out), ["nothing was curated here yet; name a source"])
        return known
    named = ListedSource(source=name, identity=source.identity(), since=since)
    if known is not None and known.source.identity != named.identity:
        problem = f"it is made from {known.source.source}; name another --out for {name}"
        if known.source.source == name:
            told = "it was listed by another version of pytest-crab, or with other options"
            problem = f"{told}; remove {path} to list {name} anew, or name another --out"
        raise BadInput(str(out), [problem])
    found = tuple(source.list_candidates())
    made = Listing(source=named, candidates=found if known is None else known.extend(found))
    write_listing(path, made)
    return made


def finished(out: Path, store: Path, stages: Sequence[str] | None = None) -> Iterator[PullCandidate]:
    """Yield the candidates that passed these stages, as the store has them; None: all those of the last run.

    Raises BadInput, StoreError.
    """
    listing = read_listing(listing_path(store, out))
    if listing is None:
        raise BadInput(
            str(out), ["nothing was made here yet: call pytest-crab set curate SOURCE or set inject SOURCE first"]
        )
    chain: list[NamedStage] = [*listing.source.stages]
    if stages is not None:
        settings = load_settings(Path.cwd())
        chain = [Collection(known=listing.source.identity), *make_stages(stages, settings)]
    for candidate in listing.candidates if chain else ():
        *_, last = walk(candidate, chain, FileStore(store.absolute()))
        if last.stage == chain[-1].name and last.decision is not None and last.decision.candidate is not None:
            yield last.decision.candidate


def run_stages(
    listing: Listing,
    chain: Sequence[Stage],
    services: CurationServices,
    store: FileStore,
    out: Path,
    until: int | None = None,
    twin: Callable[[PullCandidate], PullCandidate | None] | None = None,
) -> list[str]:
    """Run the stages on every candidate and write the set; return sentences on it.

    No further candidate is begun once ``until`` of them have passed all stages. ``twin`` makes a second instance of
    one that is published, or None.
    """
    context = CurationContext(
        cache=StepCache(store=store),
        folder=store.cache,
        judge=services.judge,
        proving=services.proving,
        note_use=services.note_use,
    )

    if chain[-1].name == "publish":
        stages = tuple(ListedStage(name=each.name, known=each.identity()) for each in chain)
        source = dataclasses.replace(listing.source, stages=stages)
        write_listing(listing_path(services.store, out), dataclasses.replace(listing, source=source))
    passed: list[PullCandidate] = []

    def pass_stages(candidate: PullCandidate, notice: Callable[[str], None]) -> None:
        if until is None or len(passed) < until:
            end = run_candidate(candidate, chain, dataclasses.replace(context, notice=notice))
            passed.extend([end] if end is not None else [])

    def stop() -> None:
        context.cache.cancelled.set()
        services.stop()

    work = {each.id: functools.partial(pass_stages, each) for each in listing.candidates}
    with side_by_side(services.jobs, stop) as pool, as_they_end(pool, work, "pull requests") as ended:
        deque(ended, maxlen=0)
    if chain[-1].name != "publish":
        return list(services.spent_lines())
    ends = [passage for one in listing.candidates for *_, passage in [walk(one, chain, store)]]
    return [*services.spent_lines(), *_write_ends(ends, out, until, twin), *services.next_lines(out)]


def _write_ends(
    ends: Sequence[Passage], out: Path, until: int | None, twin: Callable[[PullCandidate], PullCandidate | None] | None
) -> list[str]:
    """Write the set of what passed all stages, as people ruled on it, with its twins; return sentences on it."""
    decided = [passage.decision for passage in ends if passage.decision is not None]
    published = [decision.candidate for decision in decided if decision.candidate is not None][:until]
    rulings = read_rulings(out)
    after = [ruled(one, rulings) for one in published]
    published = [one for one in after if one.comments]
    twins = [] if twin is None else [made for one in published if (made := twin(one)) is not None]
    rejected = [end.candidate.id for end in ends if end.decision is not None and end.decision.fate is Fate.REJECTED]
    rejected += [one.id for one in after if not one.comments]
    alone = {*rejected, *(one.id for one in published)} - {one.tags[TWIN] for one in twins}
    notes = [*write_set(out, [*published, *twins]), *remove_rejected(out, rejected)]
    notes += [*remove_rejected(out, sorted(map(twin_id, alone)), "not wanted"), *_notes_on_failed(out, ends)]
    write_notes(out)
    notes += record_audits(out, [*published, *twins])
    notes += rate_lines(out, [one.id for one in published])
    bare = sum(each.comment.oracle is None for one in published for each in one.comments)
    lack = f"; {format_count(bare, 'comment')} without an oracle, which no run measures" if bare else ""
    told = f", and {format_count(len(twins), 'clean twin')}" if twins else ""
    return [*notes, f"{out}: {format_count(len(published), 'instance')}{told}{lack}"]


def _notes_on_failed(out: Path, ends: Sequence[Passage]) -> Iterator[str]:
    """Yield a sentence on instances that failed now and are in the set."""
    names = [end.candidate.id for end in ends if end.decision is not None and end.decision.fate is Fate.FAILED]
    failed = [name for name in names if (out / name / FILE).is_file()]
    if failed:
        yield f"{out} has {', '.join(failed)} as an earlier run wrote them, since they failed now"


def finish(rows: Sequence[FunnelStage], notes: Sequence[str], *, status: bool, as_json: bool) -> None:
    """Print the funnel and the notes; the exit status is 1 if something failed, but for a look at what is stored."""
    click.echo(json.dumps(funnel_data(rows), indent=1) if as_json else "\n".join(funnel_lines(rows)))
    for note in notes:
        click.echo(note, err=as_json)
    if not status and any(row.pulls.failed for row in rows):
        sys.exit(1)


def account(listing: Listing, chain: Sequence[Stage], store: FileStore, out: Path) -> list[FunnelStage]:
    """Return the funnel, and write it beside the set as a page and as data."""
    rows = count_funnel([stage.name for stage in chain], (walk(one, chain, store) for one in listing.candidates))
    write_funnel_page(out / PAGE, out / NUMBERS, listing.source.source, funnel_data(rows))
    return rows
