"""The gate: a floor or a baseline, checked before anything runs, that decides the exit status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from pytest_crab.adapters import AdapterSpec
from pytest_crab.errors import BadInput, CrabError
from pytest_crab.gate.baseline import BaselineComparison
from pytest_crab.gate.comparable import Conditions, differences, find_distrust, refusal
from pytest_crab.gate.exit import OracleCounts, RunOutcome, decide, refuse
from pytest_crab.gate.pairing import (
    ANCHOR,
    conditions,
    counterpart,
    design,
    flips,
    full_names,
    pair,
)
from pytest_crab.gate.power_statement import power_statement
from pytest_crab.gate.references import Reference, load_reference, repeated_run
from pytest_crab.gate.resolved import RATE, decided_on
from pytest_crab.instances import lock
from pytest_crab.instances.oracle_errors import oracle_digest
from pytest_crab.instances.resolvability import settings_digest
from pytest_crab.option_table import Options
from pytest_crab.plugin.contestants import Contestants
from pytest_crab.plugin.foreign_failures import ForeignFailures
from pytest_crab.plugin.items import Planned, TrialItem
from pytest_crab.plugin.options import runs_trials
from pytest_crab.results.gate_record import Gate
from pytest_crab.results.reviewer_summary import ReviewerSummary
from pytest_crab.results.summary import Summary
from pytest_crab.statistics.comparison import oracle_name
from pytest_crab.trial.run_context import versions_here
from pytest_crab.types import Explain, full_name


class RunGate(ForeignFailures):
    """Decides the exit status by a floor, a baseline or both; registered on the controller if one is asked for."""

    def __init__(self, options: Options, crews: Contestants, config: pytest.Config) -> None:
        self._options = options
        self._contestants = crews
        self._config = config
        self._items: list[TrialItem] = []
        self._refuse()
        self._references = list(_load_references(options))
        self._before = self._references[0].summary if self._references else None

    # --- before the run ---------------------------------------------------------------------------------------------

    def pytest_report_header(self) -> list[str]:
        """Name the baseline, and contestants that are not what they were there."""
        if self._before is None:
            return []
        terms = self._options.terms
        rest = f"; the {terms.allowed} may differ" if terms.allowed else ""
        rest += "" if terms.on == RATE else "; on resolved alone"
        margins = "".join(f", {name} {points:g} points" for name, points in terms.margins.items())
        looks = f"; one of at most {terms.looks} looks" if terms.looks > 1 else ""
        named = ", ".join(map(str, self._options.baselines))
        anchor = f"; anchor {self._options.anchor}" if self._options.anchor is not None else ""
        line = f"crab: baseline {named}{anchor}; margin {terms.margin:g} points{margins}{looks}{rest}"
        changes = dict.fromkeys(self._changes(self._before))
        return [line, *(f"crab: warning: not as in the baseline: {change}" for change in changes)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Refuse what is not comparable, before the terminal asks for lines: another set, agent, runtime or harness."""
        if not runs_trials(self._options, self._config):
            return
        self._items = [item for item in session.items if isinstance(item, TrialItem)]
        if self._before is None or not self._items:
            return
        instances = {item.instance.id: item.instance for item in self._items}
        runtimes = () if self._options.runtime == "auto" else (self._options.runtime,)
        after = Conditions(
            runtimes=runtimes,
            digests={name: lock.digest(instance)[:16] for name, instance in instances.items()},
            oracles={
                oracle_name((instance.id, comment.id)): oracle_digest(instance, comment)
                for instance in instances.values()
                for comment in instance.with_oracles
            },
            versions={"harness": (versions_here()["harness"],)},
        )
        for reference in self._references:
            for name, own in self._opponents(reference.summary).items():
                before = conditions(reference.summary, own)
                now = replace(after, agents=(self._contestants.by_reviewer[name].spec.agent,))
                sentence = find_distrust(before) or refusal(differences(before, now), self._options.terms.allowed)
                if sentence is not None:
                    raise pytest.UsageError(f"--crab-baseline: not comparable with {reference.name}: {sentence}")

    def pytest_report_collectionfinish(self) -> list[str]:
        """Say what the comparison of each reviewer will be able to see."""
        lines = []
        opponents = {} if self._before is None or not self._items else self._opponents(self._before)
        for name, own in opponents.items():
            chosen = {item.instance.id for item in self._items if item.trial_id[1:] == (name, 1)}
            reviews, terms = self._options.repeat, self._options.terms
            repeated, grounds = repeated_run(self._options.store, own) or (own, None)
            ahead = design(
                own, chosen, reviews=reviews, repeats=reviews * self._options.revisions, terms=terms, repeated=repeated
            )
            if ahead is None:
                lines.append(f"crab: gate: {name}: the baseline knows nothing of what was selected")
                continue
            margin = terms.margin
            facts = power_statement(ahead, margin=margin, grounds=grounds, flips=flips(repeated), counted=own.counted)
            lines += [f"crab: gate: {name}: {fact}" for fact in facts]
        return lines

    # --- the decision -----------------------------------------------------------------------------------------------

    def decide(
        self,
        status: int,
        summary: Summary,
        planned: Sequence[Planned],
        problems: Sequence[str],
        given_up: tuple[str, ...],
    ) -> Gate:
        """Return the decision on the run, with its exit status."""
        options = self._options
        objections = self._config.hook.pytest_crab_gate(summary=summary, config=self._config)
        judged = decided_on(summary, options.gate_on)
        against = self._against(judged, planned) if self._references else None
        absent = _absent_oracles(summary, planned)
        decision = decide(
            RunOutcome(
                terms=options.terms,
                status=status,
                only_trials_failed=self.foreign_failures == 0 and not problems,
                counts=tuple(
                    OracleCounts.of(row, absent=absent.get(row.reviewer, 0), is_control=self._is_control(row.reviewer))
                    for row in judged.reviewers
                ),
                baselines=against,
                objections=tuple(text for text in objections if text),
                given_up=given_up,
            )
        )
        return replace(
            decision,
            baseline=", ".join(map(str, options.baselines)) or None,
            anchor=None if options.anchor is None else str(options.anchor),
            margin=options.terms.margin if options.baselines else None,
        )

    def _against(self, summary: Summary, planned: Sequence[Planned]) -> tuple[BaselineComparison, ...]:
        """Compare every contestant with its baseline, and then with its anchor."""
        return tuple(
            pair(
                reference.summary,
                self._opponents(reference.summary).get(name),
                summary,
                own,
                name=reference.name,
                terms=self._options.terms,
                planned={one.instance.id for one in planned if one.trial_id.reviewer == name},
                whole=True,
            )
            for reference in self._references
            for name, own in summary.contestants.items()
        )

    def _opponents(self, before: Summary) -> dict[str, ReviewerSummary]:
        """Return the baseline's reviewer for each contestant of this run that has one."""
        found = before.contestants
        specs = [crew.spec for crew in self._contestants.by_reviewer.values() if crew.spec.variant is None]
        names = {spec.reviewer: full_name(spec.review_name, [spec.agent]) for spec in specs}
        pairs = {name: counterpart(name, full_names(found.values()), names) for name in names}
        return {name: found[other] for name, other in pairs.items() if other is not None}

    def _changes(self, before: Summary) -> Iterator[str]:
        """Yield a sentence for each reviewer or agent whose client, model, prompt or settings have changed."""
        for name, own in self._opponents(before).items():
            spec, crew = self._contestants.by_reviewer[name].spec, self._contestants.by_reviewer[name]
            if own.reviewer in (name, spec.review_by):
                yield from _changes_of(f"reviewer {name}", "reviewer", spec.reviewer_spec, crew.reviewer, own)
            if spec.agent in own.agents:
                yield from _changes_of(f"agent {spec.agent}", "agent", spec.agent_spec, crew.agent, own)

    def _is_control(self, reviewer: str) -> bool:
        crew = self._contestants.by_reviewer.get(reviewer)
        return crew is not None and crew.spec.variant is not None

    def _refuse(self) -> None:
        """Raise pytest.UsageError for a gate that cannot be trusted."""
        crews = list(self._contestants.by_reviewer.values())
        doubtful = [crew.spec.agent for crew in crews if crew.privileged_agent or crew.simulated]
        agent = next(iter((*doubtful, *self._contestants.agents)), "none")
        sentence = refuse(
            self._options.terms,
            agent=agent,
            privileged=any(crew.privileged_agent for crew in crews if crew.spec.agent == agent),
            simulated=any(crew.simulated for crew in crews if crew.spec.agent == agent),
            defaulted=self._contestants.agent_defaulted,
            runtime_named=self._options.runtime != "auto",
            contested=any(crew.spec.variant is None for crew in crews),
            baseline=bool(self._options.baselines),
            sharded=self._options.shard is not None,
            explained=self._options.gate_on == RATE or self._options.explain == Explain.ALL.value,
        )
        if sentence:
            raise pytest.UsageError(sentence)


def _absent_oracles(summary: Summary, planned: Sequence[Planned]) -> dict[str, int]:
    """Return by reviewer how many oracles were planned and have no verdict on record, not even an unknown one."""
    known = {row.reviewer: {oracle.key for oracle in row.oracles} for row in summary.reviewers}
    wanted: dict[str, set[tuple[str, str]]] = {}
    for one in planned:
        keys = ((one.instance.id, comment.id) for comment in one.instance.comments if comment.oracle is not None)
        wanted.setdefault(one.trial_id.reviewer, set()).update(keys)
    return {name: len(keys - known.get(name, set())) for name, keys in wanted.items()}


def _load_references(options: Options) -> Iterator[Reference]:
    """Read the baseline and the anchor. Raises pytest.UsageError if one is none."""
    if options.anchor is not None and not options.baselines:
        raise pytest.UsageError("--crab-anchor needs a baseline: add --crab-baseline")
    anchors = () if options.anchor is None else (options.anchor,)
    for option, paths, role in (("baseline", options.baselines, ""), ("anchor", anchors, ANCHOR)):
        if paths:
            try:
                found = load_reference(paths, allowed=options.terms.allowed, role=role, on=options.gate_on)
            except BadInput as error:
                raise pytest.UsageError(f"--crab-{option}: {error}") from error
            if not found.summary.contestants:
                raise pytest.UsageError(f"--crab-{option}: {paths[0]} has no reviewer to compare with")
            yield found


def _changes_of(who: str, part: str, spec: AdapterSpec, adapter: object, before: ReviewerSummary) -> Iterator[str]:
    """Yield what of an adapter differs from the baseline's record, as far as it is known before the run."""
    identity = getattr(adapter, "identity", None)  # one that is bound to instances has none yet
    try:
        known = identity() if identity is not None else None
    except CrabError:  # its trials report it
        return
    if known is None:
        return
    was = before.versions
    facts = (
        ("client", was.get(part, ()), known.get("version") if "client" in known else None),
        ("model", was.get(f"{part}-model", ()), known.get("model")),
    )
    found = [f"{noun} was {', '.join(old)} and is {new}" for noun, old, new in facts if old and new and new not in old]
    digests = was.get(f"{part}-identity", ())
    if not found and digests and settings_digest(spec.path, known, spec.settings) not in digests:
        found = ["prompt, settings or files are others"]
    if found:
        yield f"{who}: {'; '.join(found)}"
