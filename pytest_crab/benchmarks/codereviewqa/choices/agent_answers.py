"""An agent as an answerer: the mediator of a run is given a question as its task, in its own sandbox."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from pytest_crab.benchmarks.codereviewqa.choices.answers import (
    Answerer,
    AnswererError,
    Answers,
    ChosenOption,
    NoteAnswer,
    note_nothing,
)
from pytest_crab.benchmarks.codereviewqa.choices.letters import read_letter
from pytest_crab.benchmarks.codereviewqa.choices.questions import Question, option_lines
from pytest_crab.clients.status_table import Status
from pytest_crab.errors import AgentError, BudgetSpent, DiffRejected, ModelError
from pytest_crab.model_access import Services
from pytest_crab.protocols import Agent, Checkout, Snapshot
from pytest_crab.types import Finding, PullRequest, Revision, Usage, total_usage

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


#: The file that an agent writes its letter into.
ANSWER_FILE = "answer.txt"

#: The ends of an agent that are no answer and its own doing; any other one is a failure, after which it is asked again.
_NO_ANSWER = frozenset({Status.REFUSED, Status.BAD_OUTPUT, Status.LIMIT})


class AgentAnswerer(Answerer):
    """Gives a coding agent each question as the one finding on the instance's pull request, in a sandbox of its own.

    The letter is the content of ANSWER_FILE in the tree that it leaves, else its last message. An agent with a
    setting ``prompt`` gets instructions for questions in its place; any other finds them in the finding.
    """

    measure = "agent"
    singly = True
    raw = False

    def __init__(
        self,
        agent: Agent,
        pull_request: Callable[[], PullRequest],
        snapshot: Callable[[], Snapshot],
        checkout: Callable[[], Checkout],
    ) -> None:
        self._has_prompt = any(field.name == "prompt" for field in _fields(agent))
        self._agent = _with_instructions(agent) if self._has_prompt else agent
        self._pull_request = pull_request
        self._snapshot = snapshot
        self._checkout = checkout

    @override
    def identity(self) -> Mapping[str, Any] | None:
        """The agent's own, with its instructions for questions in it."""
        return self._agent.identity()

    @override
    def answer(self, questions: Sequence[Question], services: Services, note: NoteAnswer = note_nothing) -> Answers:
        """``services`` are those of the checkout. Raises AnswererError too."""
        answers: list[ChosenOption] = []
        used: list[Usage | None] = []
        for question in questions:
            checkout = self._checkout()
            try:
                with _failures():
                    revision = self._agent.revise(self._pull_request(), [self._finding(question)], checkout)
            except _NoAnswer as error:
                answers.append(ChosenOption(letter=None, reason=str(error)))
                used.append(checkout.services.total_used())
            else:
                answers.append(self._read(revision, question.letters))
                used.append(revision.usage)
        return Answers(answers=tuple(answers), usage=total_usage(used))

    def _finding(self, question: Question) -> Finding:
        asked = "\n".join([question.context, "", "Question:", question.text, "", option_lines(question)])
        return Finding(body=asked if self._has_prompt else f"{_instructions()}\n\n{asked}")

    def _read(self, revision: Revision, letters: str) -> ChosenOption:
        snapshot = self._snapshot()
        try:
            written = snapshot.read(snapshot.apply(revision.diff), ANSWER_FILE) if revision.diff else None
        except DiffRejected as error:
            return ChosenOption(letter=None, reason=f"what the agent left is no revision: {error}")
        said = revision.notes or "" if written is None else written.decode("utf-8", "replace")
        return read_letter(said, letters)


class _NoAnswer(Exception):
    """The agent ended without an answer, by its own doing."""


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Raise _NoAnswer where an agent ends without an answer, and AnswererError for its other failures."""
    try:
        yield
    except BudgetSpent:
        raise
    except (AgentError, ModelError) as error:
        if error.status in _NO_ANSWER:
            raise _NoAnswer(str(error)) from error
        if isinstance(error, ModelError):
            raise
        raise AnswererError(str(error), error.status) from error


def _fields(agent: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(agent) if dataclasses.is_dataclass(agent) else ()


def _with_instructions(agent: Agent) -> Agent:
    prepared: DataclassInstance = agent  # type: ignore[assignment]  # it has fields
    return dataclasses.replace(prepared, prompt=str(_file()))  # type: ignore[return-value]


def _file() -> Any:
    return resources.files("pytest_crab") / "clients" / "prompts" / "answer.md"


def _instructions() -> str:
    return str(_file().read_text("utf-8")).strip()
