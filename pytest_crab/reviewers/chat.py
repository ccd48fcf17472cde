"""The shared part of the reviewers that ask a model directly."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Collection, Mapping, Sequence

from pytest_crab.clients.chat import Chat
from pytest_crab.clients.status_table import Status
from pytest_crab.errors import MalformedAnswer
from pytest_crab.parsing.findings_in_text import read_findings
from pytest_crab.side_by_side import side_by_side
from pytest_crab.types import Review


def ask_for_findings(
    chat: Chat, messages: Sequence[Mapping[str, str]], *, path: str | None = None, files: Collection[str] = ()
) -> tuple[str, Review]:
    """Return the answer and the findings in it, all on ``path`` if given; ``files`` are those of the diff.

    Where it cannot be read it is asked for once more. Raises ModelError where that is no review either.
    """
    try:
        return _ask_once(chat, messages, path, files)
    except MalformedAnswer as error:
        if error.status != Status.BAD_OUTPUT:
            raise
    chat.asked_again += 1
    return _ask_once(chat, messages, path, files)


def _ask_once(
    chat: Chat, messages: Sequence[Mapping[str, str]], path: str | None, files: Collection[str]
) -> tuple[str, Review]:
    text = chat.ask(messages)
    problems: list[str] = []
    review = read_findings(text, problems, path=path, files=files)
    if review is None:
        raise chat.error(Status.BAD_OUTPUT, f"its findings cannot be read: {problems[0]}")
    return text, review


def ask_side_by_side(chat: Chat, questions: Sequence[str], paths: Sequence[str], jobs: int) -> list[Review]:
    """Return the review in the answer to each question, all on its path, in their order; ``jobs`` are asked at a time.

    Once one has failed no other is asked. Raises ModelError, GatewayError, Cancelled.
    """
    failed = threading.Event()

    def ask(branch: Chat, question: str, path: str) -> Review:
        if failed.is_set():
            return Review()  # which is not seen, since the failure is raised
        try:
            return ask_for_findings(branch, [{"role": "user", "content": question}], path=path)[1]
        except BaseException:
            failed.set()
            raise

    branches = [chat.branch() for _ in questions]
    with side_by_side(jobs, failed.set) as pool:
        reviews = list(pool.map(ask, branches, questions, paths))
    chat.asked_again += sum(branch.asked_again for branch in branches)
    return reviews


def joined(reviews: Sequence[Review]) -> Review:
    """Return one review with all that those of the parts of a pull request hold."""
    return Review(
        findings=tuple(one for review in reviews for one in review.findings),
        set_aside=tuple(one for review in reviews for one in review.set_aside),
        unplaced=tuple(one for review in reviews for one in review.unplaced),
    )


def with_usage(review: Review, chat: Chat, model: str) -> Review:
    """Return the review with the usage that the gateway metered, the model, and the transcript's key."""
    again = chat.asked_again or None
    return dataclasses.replace(review, usage=chat.usage(), version=model, transcript=chat.keep(), asked_again=again)
