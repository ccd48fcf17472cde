"""Proposals of a model that deterministic code verifies: a fault goes back to the model, at most so many times."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pytest_crab.clients.chat import ChatSettings
from pytest_crab.clients.prompting import as_data
from pytest_crab.curation.stages import CurationContext
from pytest_crab.model_access import Services
from pytest_crab.scoring.steps import ModelAnswerStep
from pytest_crab.types import Usage

T = TypeVar("T")

_BLOCK = re.compile(r"```json\s*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def last_json(answer: str) -> Any:
    """Return the value of the last block of JSON in an answer. Raises ValueError, in words for the model."""
    blocks = _BLOCK.findall(answer)
    if not blocks:
        raise ValueError("the answer has no block that begins with ```json")
    try:
        return json.loads(blocks[-1])
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the block is no JSON ({error})") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One answer of the model, with what it used."""

    answer: str
    usage: Usage | None = None
    transcript: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposing(ChatSettings):
    """The settings of a stage that asks a model for proposals."""

    #: The most proposals for each subject.
    attempts: int = 3

    def __post_init__(self) -> None:
        ChatSettings.__post_init__(self)
        if self.attempts < 1:
            raise ValueError("attempts should be at least 1")

    def writer_identity(self) -> Mapping[str, Any]:
        """Return what decides the answers of the model; nothing where none is named, whose endpoint is not asked."""
        return ChatSettings.identity(self) if self.model else {}

    def propose(
        self,
        question: str,
        verify: Callable[[str, int], T | str],
        services: Callable[[int], Services],
        context: CurationContext,
        *,
        after: Sequence[Mapping[str, str]] = (),
    ) -> T | str:
        """Return what ``verify`` makes of the first answer that it takes, else the fault of the last one.

        ``verify`` gets an answer and its number, from 1, and returns a text where it does not take it: the fault, in
        words for the model. ``services`` is the way to the model for one attempt, ``after`` are messages that
        follow the question. Raises ModelError, GatewayError.
        """
        messages = [{"role": "user", "content": question}, *after]
        found: T | str = "nothing was asked"
        for number in range(1, self.attempts + 1):
            answer = context.cache.results(self._step(messages, number, services(number), context))[""].answer
            found = verify(answer, number)
            if not isinstance(found, str):
                break
            fault = as_data("This was not taken, for the reason below. Propose another one.", found)
            messages = [*messages, {"role": "assistant", "content": answer}, {"role": "user", "content": fault}]
        return found

    def _step(
        self, messages: Sequence[Mapping[str, str]], number: int, services: Services, context: CurationContext
    ) -> ModelAnswerStep[Proposal]:
        """Return the step of one attempt; how many may follow it does not decide its answer."""
        identity = dict(ChatSettings.identity(self))
        settings = {name: value for name, value in identity["settings"].items() if name not in ("attempts", "timeout")}

        def ask() -> Proposal:
            with self.chat(services) as chat:
                answer = chat.ask(messages)
                proposal = Proposal(answer=answer, usage=chat.usage(), transcript=chat.keep())
            context.note_use(self.role, "proposal", proposal.usage)
            return proposal

        known = {"writer": {**identity, "settings": settings}, "messages": messages, "attempt": number}
        return ModelAnswerStep(name="proposal", record=Proposal, known=known, ask=ask)
