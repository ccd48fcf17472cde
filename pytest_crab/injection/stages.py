"""The last stages of injection: an oracle of the tests that see the fault, its proof, its audit, and the instance."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from pytest_crab.curation import code_parts
from pytest_crab.curation.certify import Certificate, certify
from pytest_crab.curation.near_misses import ChangedTree, OracleAnswer, OracleAnswerStep, mutated_references
from pytest_crab.curation.oracle_mending import with_checks
from pytest_crab.curation.publish import to_instance
from pytest_crab.curation.stages import CurationContext, Rejection, Stage
from pytest_crab.formats import format_percent
from pytest_crab.injection import witnesses
from pytest_crab.injection.proposals import FIXED_ON, WITNESSES, witnesses_of
from pytest_crab.injection.unreadable import rejects_unreadable
from pytest_crab.instances.files import write_files
from pytest_crab.scoring.oracles.proof import ProvedComment, prove
from pytest_crab.scratch import scratch
from pytest_crab.statistics.shares import Share
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import ChangeKind, Instance, JudgedChange, PullCandidate, Verdict

#: The tags of an instance with where its oracle runs, how often it was proved, beside how many changes it held, and how
#: many near misses it refuses.
ORACLE, PROOF, COMPANY, REFUSED = "oracle", "proof", "company", "refused"
ALONE, IN_TREE = "alone", "in the tree"

#: The label of an oracle that was judged by few near misses, and its value; so many are enough.
NEAR_MISSES, FEW = "near-misses", "few"
_ENOUGH = 3

#: Of each near miss that was asked for at most so many are drawn until it is run.
_TIMES = 3

#: A near miss with which the tests run for so many seconds never ends, which says nothing of how much they see.
_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharpness(Stage):
    """Keeps an oracle that refuses enough near misses, which are made of the reference.

    Those are the reference without one of its places, and mutants of its lines. A mutant may do the same as the
    reference, so that not all have to be refused. Those that are refused become the oracle's checks, which its proof
    has to bear out. What sees too little is left out before the many runs of a proof.
    """

    #: The most near misses.
    most: int = 10
    #: The least share of them that it refuses.
    least: float = 0.7
    name: str = "near misses"

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"version": 12, "most": self.most, "least": self.least}

    @override
    @rejects_unreadable
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        crew, run_context = context.proving()
        once = dataclasses.replace(run_context, proof_runs=1)
        fault = ""
        for form in _forms(candidate):
            with scratch("inject") as place:
                instance = _written(form, place)
                (proved,) = prove(TrialContext(instance, crew, once, context.notice))
                if proved.proof is not None:
                    given = instance.required_environment
                    quick = dataclasses.replace(given, timeout=min(given.timeout, _SECONDS))
                    trial = TrialContext(dataclasses.replace(instance, environment=quick), crew, once, context.notice)
                    return self._judged(form, *self._judge(trial, proved))
                fault = proved.problem or ""
        return Rejection(reason="its oracle is not proved", detail=fault)

    def _judged(
        self, candidate: PullCandidate, judged: tuple[JudgedChange, ...], checks: Sequence[JudgedChange]
    ) -> PullCandidate | Rejection:
        """Return a candidate with the near misses that judged its oracle, if it refuses enough of them."""
        loose = looseness(judged, self.least)
        if loose is not None:
            return loose
        (one,) = candidate.comments
        comment, files = with_checks(one.comment, checks)
        if Share.of(change.held for change in judged).known < _ENOUGH:
            comment = dataclasses.replace(comment, labels={**comment.labels, NEAR_MISSES: FEW})
        return dataclasses.replace(
            candidate,
            comments=(dataclasses.replace(one, comment=comment, changes=judged),),
            files={**candidate.files, **files},
            tags={**candidate.tags, REFUSED: _refused(judged)},
        )

    def _judge(self, trial: TrialContext, proved: ProvedComment) -> tuple[tuple[JudgedChange, ...], list[JudgedChange]]:
        """Return near misses with whether the oracle refuses each, and those of them with which a test of it is red.

        Of one with which no test comes to its end, since it does not build or never ends, nothing is known: others are
        drawn for these.

        Raises EngineError, StoreError, Cancelled.
        """
        changes: list[ChangedTree] = []
        known: dict[str, OracleAnswer] = {}
        while len(known) < self.most and len(changes) < _TIMES * self.most:
            drawn = mutated_references(trial, proved.comment, self.most - len(known), changes)
            if not drawn:
                break
            answers = trial.perform(OracleAnswerStep(trial, proved, drawn))
            known |= {name: one for name, one in answers.items() if one.ran}
            changes += drawn
        judged = tuple(
            JudgedChange(
                kind=ChangeKind.MUTANT,
                name=one.name,
                why=one.told,
                diff=trial.snapshot.diff(one.tree),
                held=known[one.name].verdict is Verdict.MISSED if one.name in known else None,
                fresh=False,
            )
            for one in changes
        )
        return judged, [one for one in judged if one.held and known[one.name].red]


def looseness(judged: Sequence[JudgedChange], least: float) -> Rejection | None:
    """Return why an oracle that was judged by near misses sees too little; None: it refuses this share of them.

    Those of which nothing is known do not count.
    """
    share = Share.of(one.held for one in judged)
    if share.rate is None or share.rate >= least:
        return None
    accepted = "; ".join(one.why for one in judged if one.held is False)
    return Rejection(
        reason="its oracle accepts near misses", detail=f"it refuses {_refused(judged)}, and accepts {accepted}"
    )


def _refused(judged: Sequence[JudgedChange]) -> str:
    share = Share.of(one.held for one in judged)
    return f"{share.part} of {share.known}"


def _written(candidate: PullCandidate, place: Path) -> Instance:
    """Return a candidate as an instance whose files lie below ``place``."""
    folder = place / candidate.id
    write_files(folder, candidate.files)
    return to_instance(candidate, folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proving(Stage):
    """Proves the oracle: in the form that was chosen before, else as one file that stands alone, or else in the tree.

    It is audited with its company: it has to be green on the fix beside each of these changes, and red on each alone.
    One that refuses a fix so is refused itself. It is audited on its checks too, and loses them where that does not
    hold.
    """

    #: How many times it runs on each state.
    runs: int = 3
    #: Gives the changes that it is audited with, by their names.
    company: Callable[[PullCandidate], Mapping[str, str]] = lambda _candidate: {}
    name: str = "oracles"

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"version": 5, "runs": self.runs}

    @override
    @rejects_unreadable
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        fault = "no form of it could be run"
        beside = self.company(candidate)
        candidate = dataclasses.replace(candidate, files={**candidate.files, **beside}, company=tuple(beside))
        for form in (one for chosen in _forms(candidate) for one in _with_and_without_checks(chosen)):
            with scratch("inject") as place:
                certificate = _certify(form, place, self.runs, context)
            if certificate.proved:
                (one,) = form.comments
                proof = certificate.proven[0].proof
                assert proof is not None
                comment = dataclasses.replace(one, comment=certificate.proven[0].comment, audited=proof.runs)
                told = f"{proof.runs} runs, flake bound {format_percent(proof.flake_bound)}%"
                tags = {**form.tags, PROOF: told, COMPANY: f"{certificate.proven[0].company}"}
                return dataclasses.replace(form, comments=(comment,), tags=tags)
            fault = "; ".join(certificate.problems.values()) or fault
        return Rejection(reason="its oracle is not proved", detail=fault)


def _forms(candidate: PullCandidate) -> Iterator[PullCandidate]:
    """Yield a candidate with each form that its oracle may have, the cheapest first, or with the one chosen."""
    if ORACLE in candidate.tags:
        yield candidate
        return
    texts = {path: text for path, text in witnesses_of(candidate).items() if not witnesses.is_conftest(path)}
    (one,) = candidate.comments
    ((path, text), *others) = texts.items()
    if not others and code_parts.of(path).stands_alone(text):
        files = {**candidate.files, one.comment.required_oracle.file: text}
        yield dataclasses.replace(candidate, files=files, tags={**candidate.tags, ORACLE: ALONE})
    yield dataclasses.replace(candidate, tags={**candidate.tags, ORACLE: IN_TREE})


def _with_and_without_checks(candidate: PullCandidate) -> Iterator[PullCandidate]:
    """Yield a candidate, then without the checks of its oracle: what is proved is not run again."""
    yield candidate
    if candidate.comments[0].comment.rejects:
        yield _without_checks(candidate)


def _without_checks(candidate: PullCandidate) -> PullCandidate:
    (one,) = candidate.comments
    bare = dataclasses.replace(one, comment=dataclasses.replace(one.comment, rejects=()))
    files = {name: text for name, text in candidate.files.items() if name not in one.comment.rejects}
    return dataclasses.replace(candidate, comments=(bare,), files=files)


def _certify(candidate: PullCandidate, place: Path, runs: int, context: CurationContext) -> Certificate:
    """Return the certificate of a candidate's oracle, whose instance lies below ``place``.

    Raises SourceUnreachable, EngineError.
    """
    crew, run_context = context.proving()
    repeated = dataclasses.replace(run_context, proof_runs=runs)
    return certify(_written(candidate, place), crew, repeated, context.notice).require_look()


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishing(Stage):
    """Leaves what is the instance's own of a candidate: its title and its code are the repository's own.

    It is as old as what it came of: a model may know a fix that is older than the change which it is taken back in.
    """

    name: str = "publish"

    @override
    def identity(self) -> Mapping[str, Any]:
        return {"version": 2}

    @override
    def run(self, candidate: PullCandidate, context: CurationContext) -> PullCandidate | Rejection:
        days = [day for day in (candidate.pull_request.merged_at, candidate.tags.get(FIXED_ON)) if day]
        facts = dataclasses.replace(candidate.pull_request, merged_at=min(days, default=None))
        files = {name: text for name, text in candidate.files.items() if not name.startswith(WITNESSES)}
        return dataclasses.replace(candidate, pull_request=facts, files=files)
