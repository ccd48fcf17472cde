"""Asks an answerer the probes of one instance (arXiv 2503.16167, section 5.1); the outcome is a record."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator, Sequence

from pytest_crab import serialization
from pytest_crab.benchmarks.codereviewqa.choice_statistics import NO_LETTER, chosen_options, is_invariant
from pytest_crab.benchmarks.codereviewqa.choices.answer_step import AnswerStep
from pytest_crab.benchmarks.codereviewqa.choices.answers import ChosenOption
from pytest_crab.benchmarks.codereviewqa.choices.questions import PROBES, probes_of, questions_of
from pytest_crab.benchmarks.codereviewqa.choices.templates import templates_of
from pytest_crab.benchmarks.codereviewqa.context import NamedAnswerer, ProbeContext
from pytest_crab.benchmarks.codereviewqa.records import ProbeReason, ProbeRecord, ProbeResult
from pytest_crab.errors import Cancelled, ContestantError, CrabError, LimitSpent, SourceUnreachable
from pytest_crab.trial.run_context import RunContext
from pytest_crab.types import Instance, total_usage
from pytest_crab.waiting import Waited, waits_counted

#: The name under which the context books the answers.
_BOOKED = "answers"


def ask_probes(
    instance: Instance,
    named: NamedAnswerer,
    run_context: RunContext,
    *,
    probes: Sequence[str] = PROBES,
    repeat: int = 1,
    notice: Callable[[str], None] = lambda _step: None,
) -> ProbeRecord:
    """Ask an answerer these probes, of those that the instance has, each in every order of its options.

    A probe is caught if the correct option is chosen in every order, and missed if another one is chosen in any.
    Never raises for what the machine, the answerer or its model did: that is on the record, with a reason for each
    probe that has no verdict. Raises Cancelled when the run was stopped.
    """
    asking = _Asking(ProbeContext(instance, named, run_context, notice, repeat), named, probes)
    asking.run()
    return asking.record()


def unasked_record(
    instance: Instance, answerer: str, reason: ProbeReason, sentence: str, *, probes: Sequence[str], repeat: int
) -> ProbeRecord:
    """Return the record of probes that were not asked, and why."""
    return ProbeRecord(
        instance=instance.id,
        repo=instance.repo,
        answerer=answerer,
        repeat=repeat,
        labels=labels_of(instance),
        results=tuple(
            ProbeResult(probe=probe, reason=reason, detail=sentence) for probe in chosen_probes(instance, probes)
        ),
        error=sentence,
    )


def chosen_probes(instance: Instance, probes: Sequence[str]) -> tuple[str, ...]:
    """Return those of these probes that an instance has."""
    return tuple(probe for probe in probes_of(instance) if probe in probes)


def labels_of(instance: Instance) -> dict[str, str]:
    """Return the labels of the comment that the probes are about."""
    return dict(instance.comments[0].dimensions)


def steps_of(context: ProbeContext, probe: str) -> Iterator[AnswerStep]:
    """Yield the steps that ask a probe's question in every order: one for all, or one for each.

    An answerer that sends prompts as they are is given the release's, where the set keeps its templates.
    """
    answerer = context.answerer
    templates = templates_of(context.instance) if answerer.raw else None
    questions = questions_of(context.instance, probe, None if templates is None else templates.fill)
    for some in [(each,) for each in questions] if answerer.singly else [questions]:
        yield AnswerStep(context, probe, some)


class _Asking:
    """The probes of one instance under way."""

    def __init__(self, context: ProbeContext, named: NamedAnswerer, probes: Sequence[str]) -> None:
        self._context = context
        self._named = named
        self._probes = chosen_probes(context.instance, probes)
        self._results: list[ProbeResult] = []
        self._error: str | None = None
        self._status: str | None = None
        self._skipped: str | None = None
        self._measure: str | None = None
        self._wording: str | None = None
        self._started = datetime.datetime.now(datetime.timezone.utc)
        self._clock = time.monotonic()
        self._waited = Waited(lambda _begins: None)

    def run(self) -> None:
        """Ask each probe; every failure becomes the reason of the probes that have no result yet. Raises Cancelled."""
        context = self._context
        try:
            with waits_counted() as self._waited:
                self._ask()
        except SourceUnreachable as error:
            self._skipped = str(error)
            self._assign(ProbeReason.NOT_RUN, str(error))
        except Cancelled:
            raise
        except ContestantError as error:
            self._status = error.status
            if isinstance(error, LimitSpent):
                self._fail(ProbeReason.LIMIT, f"{context.step}: {error}")
            else:
                self._fail(ProbeReason.ANSWERER_ERROR, f"answerer {self._named.name}: {error}")
        except CrabError as error:
            self._fail(ProbeReason.BROKEN, f"{context.step} broke: {error}")
        except OSError as error:  # wherever it is met
            self._fail(ProbeReason.BROKEN, context.machine_failure(error))

    def record(self) -> ProbeRecord:
        """Return what is known of it."""
        context, instance = self._context, self._context.instance
        booked = context.scoring.get(_BOOKED)
        return ProbeRecord(
            instance=instance.id,
            repo=instance.repo,
            answerer=self._named.name,
            repeat=context.repeat,
            labels=labels_of(instance),
            measure=self._measure,
            wording=self._wording,
            results=tuple(self._results),
            error=self._error,
            status=self._status,
            skipped=self._skipped,
            steps=tuple(context.records),
            seconds=round(time.monotonic() - self._clock - self._waited.seconds, 3),
            started=self._started.isoformat(timespec="seconds"),
            answers=0 if booked is None else booked.answers,
            usage=None if booked is None else booked.usage,
            paid_usd=None if booked is None else booked.paid_usd,
            failed=total_usage(context.wasted) if context.wasted else None,
            versions={**context.run_context.versions, **context.facts},
            transcripts=tuple(dict.fromkeys(context.transcripts)),
        )

    def _ask(self) -> None:
        """Ask the probes. Two of a row may have the same questions, which are asked and paid for once."""
        context = self._context
        if self._named.is_agent and context.run_context.unconfined:
            context.require_sandbox()
        context.facts["instance"] = serialization.digest(context.contents)[:16]
        paid: set[str] = set()
        for probe in self._probes:
            answers: list[ChosenOption] = []
            for step in steps_of(context, probe):
                results = context.perform(step)
                found = results[probe]
                used = [found.usage] if paid.isdisjoint(step.keys().values()) else []
                paid.update(step.keys().values())
                context.book(_BOOKED, used, asked=[] if results.reused else used, judge=False)
                answers.extend(found.answers)
                self._wording = step.wording
            self._measure = context.answerer.measure
            self._results.append(result_of(probe, answers))

    def _fail(self, reason: ProbeReason, sentence: str) -> None:
        self._error = sentence = self._context.with_attempts(sentence)
        self._assign(reason, sentence)

    def _assign(self, reason: ProbeReason, sentence: str) -> None:
        rest = self._probes[len(self._results) :]
        self._results += [ProbeResult(probe=probe, reason=reason, detail=sentence) for probe in rest]


def result_of(probe: str, answers: Sequence[ChosenOption]) -> ProbeResult:
    """Return a probe's result from the answers in the order of its questions."""
    letters = "".join(answer.letter or NO_LETTER for answer in answers)
    missing = [answer.reason for answer in answers if answer.letter is None]
    invariant = is_invariant(chosen_options(letters))
    if invariant is None:
        reason, detail = ProbeReason.NO_ANSWER, f"{len(missing)} of {len(letters)} orders have no answer: {missing[0]}"
        return ProbeResult(probe=probe, reason=reason, detail=detail, letters=letters)
    if invariant:
        return ProbeResult(probe=probe, reason=ProbeReason.CORRECT, letters=letters)
    right = chosen_options(letters).count(0)
    detail = f"correct in {right} of {len(letters)} orders"
    return ProbeResult(probe=probe, reason=ProbeReason.INCORRECT, detail=detail, letters=letters)
