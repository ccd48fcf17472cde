"""The steps in which a trial asks its reviewer and its agent."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from typing_extensions import override

from pytest_crab import serialization
from pytest_crab.errors import AgentError, CrabError, DiffRejected, ReviewerError, model_errors_as
from pytest_crab.protocols import Agent, Checkout, Reviewer
from pytest_crab.redaction import Redactor
from pytest_crab.scoring.steps import Step
from pytest_crab.trial.context import TrialContext
from pytest_crab.types import Finding, Review, Revision
from pytest_crab.types.reviews import FREE

R = TypeVar("R", Review, Revision)


class _AdapterStep(Step[R]):
    """A step with one result, whose subject is "".

    All that a contestant gives comes through here, and no key leaves it: not in any field of a result, which is looked
    through as a whole, nor in a sentence on a failure. All records, tables and pages are made of these.
    """

    paid = True

    def __init__(self, context: TrialContext, adapter: object, repeat: int) -> None:
        self._context = context
        self._adapter = adapter
        self._repeat = repeat

    @property
    @override
    def deadline(self) -> float | None:
        seconds = getattr(self._adapter, "seconds", getattr(self._adapter, "timeout", None))
        return float(seconds) if isinstance(seconds, (int, float)) else None

    def finish(self, result: R) -> R:
        """The result, with the usage of nothing where its maker asks no model and did not report any."""
        return dataclasses.replace(result, usage=FREE) if result.usage is None and self._is_free else result

    @property
    def _is_free(self) -> bool:
        """Return True if the adapter says that it asks no model where it reports no usage."""
        return bool(getattr(self._adapter, "free", False))

    @property
    def _passed(self) -> tuple[str, ...]:
        """The names of the environment variables of the run that the contestant is given."""
        return tuple(getattr(self._adapter, "pass_env", ()))

    @property
    def _redactor(self) -> Redactor:
        return Redactor.of_variables((*self._context.run_context.secrets, *self._passed), os.environ)

    @contextlib.contextmanager
    def _attempt(self, failure: type[ReviewerError | AgentError]) -> Iterator[Checkout]:
        """A checkout for one attempt at the step; what a failed one has used is kept for the record."""
        checkout = self._context.checkout(failure, self._passed)
        try:
            with model_errors_as(failure):
                yield checkout
        except (CrabError, OSError) as error:
            if isinstance(error, CrabError) and self._redactor.find(str(error)) is not None:
                error.args = (self._redactor.text(str(error)),)
            self._context.wasted.append(checkout.services.total_used() or (FREE if self._is_free else None))
            raise


class ReviewStep(_AdapterStep[Review]):
    """Ask the reviewer for its review."""

    name = "review"
    record = Review

    def __init__(self, context: TrialContext, reviewer: Reviewer, repeat: int) -> None:
        super().__init__(context, reviewer, repeat)
        self._reviewer = reviewer

    def keys(self) -> Mapping[str, str]:
        """The key: pull request, reviewer with its settings and version, repeat."""
        spec = self._context.crew.spec.reviewer_spec
        identity = self._context.contestant_identity("reviewer", self._reviewer.identity(), spec)
        inputs = {"pull_request": self._context.pull_request, "reviewer": spec.path, "identity": identity}
        return {"": serialization.digest({**inputs, "repeat": self._repeat})}

    @override
    def run(self, subjects: Sequence[str]) -> Mapping[str, Review]:
        """Raises ReviewerError."""
        context = self._context
        with self._attempt(ReviewerError) as checkout:
            review = self._redactor.record(self._reviewer.review(context.pull_request, checkout))
        return {"": dataclasses.replace(review, failed=context.take_wasted())}


class RevisionStep(_AdapterStep[Revision]):
    """Let the agent act on the findings."""

    name = "revision"
    record = Revision

    def __init__(self, context: TrialContext, agent: Agent, findings: Sequence[Finding], repeat: int) -> None:
        super().__init__(context, agent, repeat)
        self._agent = agent
        self._findings = findings

    def keys(self) -> Mapping[str, str]:
        """The key: pull request, findings, agent with its settings and version, repeat."""
        spec = self._context.crew.spec.agent_spec
        identity = self._context.contestant_identity("agent", self._agent.identity(), spec)
        inputs = {"pull_request": self._context.pull_request, "findings": self._findings, "agent": spec.path}
        return {"": serialization.digest({**inputs, "identity": identity, "repeat": self._repeat})}

    @override
    def run(self, subjects: Sequence[str]) -> Mapping[str, Revision]:
        """Raises AgentError."""
        context = self._context
        try:
            with self._attempt(AgentError) as checkout:
                revision = self._agent.revise(context.pull_request, self._findings, checkout)
                leaked = self._redactor.find(revision.diff)
                if leaked is not None:
                    sentence = f"the agent wrote the value of {leaked.strip('[]')} into the code; no secret is kept, "
                    raise AgentError(sentence + "so put it under env instead of pass_env if it is none")
                revision = self._redactor.record(revision)
        except DiffRejected as error:  # the agent's own doing, and so not to be made again
            return {"": Revision(rejected=str(error), usage=context.take_wasted())}
        return {"": dataclasses.replace(revision, failed=context.take_wasted())}
